/// The characters around a value that are not part of it: blanks, quotes, a comment after it.
///
/// A program that took `sqlite:///x/db ` as it is would make a database next to the real one. The
/// configuration file removes what its grammar allows. Everything else is refused, for every
/// setting and every part of a list alike.
package enum Surroundings {
  /// The reason why a value is refused, as a sentence without its subject that does not repeat the
  /// value; nil if nothing surrounds it.
  package static func refusal(of text: some StringProtocol) -> String? {
    if let refusal = blank(around: text) { return refusal }
    for (end, scalar) in ends(of: text) where quotes.contains(scalar) {
      return "\(end) with the quote \(scalar); write the value without it"
    }
    var isBehindBlank = false
    for scalar in text.unicodeScalars {
      if scalar == "#", isBehindBlank {
        return "has a comment after the value; put comments on their own lines"
      }
      isBehindBlank = scalar.properties.isWhitespace
    }
    return nil
  }

  /// The reason why a value is refused whose quotes a shell has removed.
  package static func blank(around text: some StringProtocol) -> String? {
    for (end, scalar) in ends(of: text) where isBlank(scalar) {
      return "\(end) with \(name(scalar)); remove it"
    }
    return nil
  }

  private static let quotes: Set<Unicode.Scalar> = [
    "\"", "'", "`", "\u{2018}", "\u{2019}", "\u{201C}", "\u{201D}",
  ]

  private static func ends(of text: some StringProtocol) -> [(String, Unicode.Scalar)] {
    [("begins", text.unicodeScalars.first), ("ends", text.unicodeScalars.last)]
      .compactMap { end, scalar in scalar.map { (end, $0) } }
  }

  static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator: true
    default: scalar.properties.isDefaultIgnorableCodePoint
    }
  }

  private static func name(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case " ": "a space"
    case "\t": "a tab"
    case "\r": "a carriage return (of a Windows line end)"
    case "\n": "a line end"
    case "\u{A0}": "a non-breaking space (U+00A0)"
    default: "an invisible character (\(codePoint(scalar)))"
    }
  }

  private static func codePoint(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

/// A value as a message shows it: in quotes, with each invisible character as its number.
package func quoted(_ text: some StringProtocol) -> String {
  var shown = "\""
  for scalar in text.unicodeScalars {
    if scalar != " ", Surroundings.isBlank(scalar) {
      shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
    } else {
      shown.unicodeScalars.append(scalar)
    }
  }
  return shown + "\""
}
