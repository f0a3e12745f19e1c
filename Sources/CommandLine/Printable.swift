/// Text by others, made safe for a terminal: it cannot move the cursor, begin a line or reverse a
/// line's direction.
package enum Printable {
  /// The text with a question mark for each character that could.
  package static func text(_ text: String) -> String { replacing(text) { _ in "?" } }

  /// The same JSON value, with those characters escaped.
  package static func json(_ text: String) -> String {
    replacing(text) { scalar in
      let digits = String(scalar.value, radix: 16, uppercase: true)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
  }

  /// A word quoted for a shell, if it needs that.
  package static func shell(_ word: String) -> String {
    let isPlain = word.unicodeScalars.allSatisfy { scalar in
      scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
        || "-_./:@%+=".unicodeScalars.contains(scalar)
    }
    return isPlain ? word : "'" + text(word).replacing("'", with: "'\\''") + "'"
  }

  private static func replacing(
    _ text: String, _ replacement: (Unicode.Scalar) -> String
  ) -> String {
    var replaced = ""
    for scalar in text.unicodeScalars {
      if isObeyed(scalar) {
        replaced += replacement(scalar)
      } else {
        replaced.unicodeScalars.append(scalar)
      }
    }
    return replaced
  }

  /// Whether a terminal obeys the character instead of showing it. All of these have at most four digits.
  private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: scalar.properties.isBidiControl
    }
  }
}
