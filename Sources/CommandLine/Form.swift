import Configuration

/// The conversion of a command-line text to a value, and what a shell offers for it.
package struct Form<Value: Sendable>: Sendable {
  package let completion: Completion
  /// Converts the text. It also gets the parameter's name, for messages.
  package let read: @Sendable (_ text: String, _ name: String) throws(CommandFailure) -> Value

  package init(
    completion: Completion = .nothing,
    _ read: @escaping @Sendable (_ text: String, _ name: String) throws(CommandFailure) -> Value
  ) {
    self.completion = completion
    self.read = read
  }

  /// A form whose text has a value or none; `refusal` is the sentence about a text without one.
  package init(
    completion: Completion = .nothing, _ value: @escaping @Sendable (String) -> Value?,
    refusal: @escaping @Sendable (_ text: String, _ name: String) -> String
  ) {
    self.init(completion: completion) { (text, name) throws(CommandFailure) in
      guard let value = value(text) else { throw CommandFailure(.usage, refusal(text, name)) }
      return value
    }
  }
}

extension Form where Value == String {
  package static var text: Form { Form { (text, _) throws(CommandFailure) in text } }

  /// The name of a file, which a shell can complete.
  package static var path: Form {
    Form(completion: .file) { (text, name) throws(CommandFailure) in
      guard !text.isEmpty else { throw CommandFailure(.usage, "the path for \(name) is empty") }
      try refuseBlanks(around: text, name)
      return text
    }
  }

  /// Refuses a blank at either end of a path or an address. It is a mistake that would make something new.
  static func refuseBlanks(around text: String, _ name: String) throws(CommandFailure) {
    if let refusal = Surroundings.blank(around: text) {
      throw CommandFailure(.usage, "\(name): \(quoted(text)) \(refusal)")
    }
  }

  /// An amount of money, without its currency.
  package static var amount: Form {
    Form { text in
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard (1...2).contains(parts.count), text.utf8.count <= 18,
        parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } }),
        text.contains(where: { "123456789".contains($0) })
      else { return nil }
      return text
    } refusal: {
      "\($1) takes an amount like 4.99"
    }
  }
}

extension Form where Value: FixedWidthInteger {
  package static func number(in range: ClosedRange<Value>) -> Form {
    Form { text in
      Value(text).flatMap { range.contains($0) ? $0 : nil }
    } refusal: {
      "\($1) takes a number from \(range.lowerBound) to \(range.upperBound)"
    }
  }
}

extension Parameter where Value == Int {
  /// The maximum number of a list's rows to show.
  package static func limit(of what: String = "", otherwise count: Int = 100) -> Parameter {
    .optional(
      "--limit", "count", text: { "maximum number of rows\(what) (default: \($0))" },
      .number(in: 1...10_000), otherwise: count)
  }
}

extension Parameter where Value == Int64? {
  /// Where the next page of a list begins that is ordered by descending numbers.
  package static func below() -> Parameter {
    .optional(
      "--after", "number", text: "start below this number (see the previous page's last line)",
      .number(in: 1...Int64.max))
  }
}
