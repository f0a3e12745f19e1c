import HTTPClient
import HTTPServer

/// Turns a text into a value, or into a sentence that says why it cannot.
package struct Parser<Value>: Sendable {
  package let parse: @Sendable (String) throws(ParseFailure) -> Value

  package init(_ parse: @escaping @Sendable (String) throws(ParseFailure) -> Value) {
    self.parse = parse
  }

  /// A parser of texts that have a value or none; `refusal` is the sentence about a text without one.
  package init(
    _ value: @escaping @Sendable (String) -> Value?, refusal: @escaping @Sendable (String) -> String
  ) {
    self.init { (text) throws(ParseFailure) in
      guard let value = value(text) else { throw ParseFailure(refusal(text)) }
      return value
    }
  }
}

/// The problems of a text: at least one sentence without its subject. None repeats a secret.
package struct ParseFailure: Error, Equatable {
  let sentences: [String]
  /// Whether the setting's example shows what was meant.
  let asksForExample: Bool

  package init(_ sentences: [String], asksForExample: Bool = false) {
    self.sentences = sentences
    self.asksForExample = asksForExample
  }

  package init(_ sentence: String) { self.init([sentence]) }
}

extension Parser where Value == String {
  /// Any text.
  package static var text: Parser {
    Parser { (text) throws(ParseFailure) in text }
  }

  /// An https address; plain http only to this machine.
  package static var url: Parser {
    Parser { (text) throws(ParseFailure) in
      if let address = WebAddress(text), address.isPrivate, !text.hasSuffix("/") { return text }
      // Quoted unless it may hold a password.
      throw ParseFailure(
        (text.contains("@") ? "the address" : quoted(text))
          + " is not https://<host> without a user before it and a slash at the end (http only to "
          + "this machine)")
    }
  }
}

extension Parser where Value == Int64 {
  /// A whole number in decimal digits.
  package static func number(in range: ClosedRange<Int64>) -> Parser {
    Parser { (text) throws(ParseFailure) in
      guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
        let number = Int64(text), range.contains(number)
      else {
        throw ParseFailure(
          "\(quoted(text)) is no number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
  }
}

extension Parser where Value: CaseIterable & RawRepresentable<String> & Sendable {
  /// One of a few words.
  package static var word: Parser {
    let words = Value.allCases.map(\.rawValue)
    return Parser {
      Value(rawValue: $0)
    } refusal: { text in
      let last = words.last.map { " nor \($0)" } ?? ""
      return "\(quoted(text)) is neither \(words.dropLast().joined(separator: ", "))\(last)"
    }
  }
}

extension Parser where Value == SocketAddress {
  static var address: Parser {
    Parser { (text) throws(ParseFailure) in
      if let address = SocketAddress(text) { return address }
      throw ParseFailure(["\(quoted(text)) is not <address>:<port>"], asksForExample: true)
    }
  }
}

extension Parser where Value == [UInt8] {
  /// The bytes of a small file that the text names.
  package static var file: Parser {
    Parser { (path) throws(ParseFailure) in
      do throws(TextFile.Failure) {
        return try TextFile.bytes(at: path)
      } catch {
        throw ParseFailure("\(quoted(path)) \(error.text)")
      }
    }
  }
}

extension Parser {
  /// The parts of a comma-separated list, trimmed; an empty part is refused.
  ///
  /// `part` gets each part with its number, from 1, by which it can name a secret.
  package static func list<Part>(
    of part: @escaping @Sendable (String, Int) throws(ParseFailure) -> Part
  ) -> Parser where Value == [Part] {
    Parser { (text) throws(ParseFailure) in
      let texts = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
        String(SettingsFile.trim(part))
      }
      guard !texts.contains("") else { throw ParseFailure("the list has an empty part") }
      guard Set(texts).count == texts.count else {
        throw ParseFailure("the list names the same thing twice")
      }
      var parts: [Part] = []
      var sentences: [String] = []
      for (index, text) in texts.enumerated() {
        do throws(ParseFailure) {
          // In a list of secrets a part is named by its number alone.
          if let refusal = Surroundings.refusal(of: text) {
            throw ParseFailure("part \(index + 1) of the list \(refusal)")
          }
          parts.append(try part(text, index + 1))
        } catch {
          sentences += error.sentences
        }
      }
      guard sentences.isEmpty else { throw ParseFailure(sentences) }
      return parts
    }
  }
}

/// Whether a text is ASCII without blanks or control characters.
package func isPrintable(_ text: String) -> Bool { text.utf8.allSatisfy { 0x21...0x7E ~= $0 } }
