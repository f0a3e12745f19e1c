internal import Base
internal import Configuration
internal import Ledger

/// How a text of the command line becomes a value, and what a shell offers for it.
struct Form<Value: Sendable>: Sendable {
  let completion: Completion
  /// Gets the text and the name of the parameter, for messages.
  let read: @Sendable (_ text: String, _ name: String) throws(CommandFailure) -> Value

  init(
    completion: Completion = .nothing,
    _ read: @escaping @Sendable (_ text: String, _ name: String) throws(CommandFailure) -> Value
  ) {
    self.completion = completion
    self.read = read
  }
}

extension Form where Value == String {
  static var text: Form { Form { (text, _) throws(CommandFailure) in text } }

  /// Names a file, which a shell can complete.
  static var path: Form {
    Form(completion: .file) { (text, name) throws(CommandFailure) in
      guard !text.isEmpty else { throw CommandFailure(.usage, "the path for \(name) is empty") }
      try refuseBlanks(around: text, name)
      return text
    }
  }

  /// A path or an address with a blank at its end is a mistake that would make something new.
  static func refuseBlanks(around text: String, _ name: String) throws(CommandFailure) {
    if let refusal = Surroundings.blank(around: text) {
      throw CommandFailure(.usage, "\(name): \(quoted(text)) \(refusal)")
    }
  }

  /// An amount of money, without its currency.
  static var amount: Form {
    Form { (text, name) throws(CommandFailure) in
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard (1...2).contains(parts.count), text.utf8.count <= 18,
        parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } }),
        text.contains(where: { "123456789".contains($0) })
      else { throw CommandFailure(.usage, "\(name) takes an amount like 4.99") }
      return text
    }
  }

  /// What is kept for people to read.
  static var reason: Form {
    Form { (text, name) throws(CommandFailure) in
      let isSaid = text.unicodeScalars.contains {
        !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint
      }
      guard isSaid else {
        throw CommandFailure(.usage, "\(name) is blank: say why")
      }
      guard text.utf8.count <= Decision.noteByteCountMax else {
        throw CommandFailure(.usage, "\(name) is longer than \(Decision.noteByteCountMax) bytes")
      }
      return text
    }
  }
}

extension Form where Value: FixedWidthInteger {
  static func number(in range: ClosedRange<Value>) -> Form {
    Form { (text, name) throws(CommandFailure) in
      guard let number = Value(text), range.contains(number) else {
        throw CommandFailure(
          .usage, "\(name) takes a number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
  }
}

extension Form where Value == StatedTime {
  /// A moment; a span alone is one that has passed.
  static var time: Form { stated { StatedTime($0) } }

  /// An end; a span alone is one to come.
  static var end: Form { stated { StatedTime($0, spanIsToCome: true) } }

  private static func stated(_ read: @escaping @Sendable (String) -> StatedTime?) -> Form {
    Form { (text, name) throws(CommandFailure) in
      if let time = read(text) { return time }
      throw CommandFailure(
        .usage,
        "\(name) takes a time in UTC like 2026-01-05T10:00:00Z, a day like 2026-01-05, seconds, "
          + "or a span from now like 2h or 3d")
    }
  }
}

extension Form where Value == Instant.Span {
  static var span: Form {
    Form { (text, name) throws(CommandFailure) in
      if case .fromNow(let span)? = StatedTime(text, spanIsToCome: true) { return span }
      throw CommandFailure(.usage, "\(name) takes a length of time, e.g. 90min, 26h or 2d")
    }
  }
}

extension Form where Value == Identifier {
  static var uuid: Form {
    Form { (text, name) throws(CommandFailure) in
      if let id = Identifier(text) { return id }
      throw CommandFailure(.usage, "\(name) takes a UUID")
    }
  }

  /// The id of something that has no other name.
  static func uuid(of what: String) -> Form {
    Form { (text, _) throws(CommandFailure) in
      if let id = Identifier(text) { return id }
      throw CommandFailure(.usage, "\(what) is named by its id, a UUID")
    }
  }
}

extension Parameter where Value == Int {
  /// How much of a list is shown.
  static func limit(of what: String = "", otherwise count: Int = 100) -> Parameter {
    .optional(
      "--limit", "count", text: { "maximum number of rows\(what) (default: \($0))" },
      .number(in: 1...10_000), otherwise: count)
  }
}
