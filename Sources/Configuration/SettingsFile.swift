/// The configuration file's grammar: `KEY=value` lines, `#` comment lines, blank lines.
///
/// A value may be in single or double quotes, which are removed. There are no escapes and no comments after a
/// value, so that every character of a secret means itself. `Surroundings` refuses whatever still surrounds a
/// value. A byte order mark at the beginning, as Windows editors write it, is skipped.
enum SettingsFile {
  struct Line: Equatable {
    enum Content: Equatable {
      case setting(name: String, text: String)
      /// The line itself is not repeated: it may hold a secret.
      case malformed(String)
    }

    let number: Int
    let content: Content
  }

  static func lines(of bytes: [UInt8]) -> [Line] {
    var lines: [Line] = []
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let bytes = bytes.starts(with: mark) ? bytes[3...] : bytes[...]
    for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
    {
      if let content = content(of: line) { lines.append(Line(number: index + 1, content: content)) }
    }
    return lines
  }

  private static func content(of line: ArraySlice<UInt8>) -> Line.Content? {
    guard let text = String(validating: line, as: UTF8.self) else {
      return .malformed("is not UTF-8")
    }
    let trimmed = trim(text)
    if trimmed.isEmpty || trimmed.hasPrefix("#") { return nil }
    guard let equals = trimmed.firstIndex(of: "=") else { return .malformed("is not KEY=value") }
    let name = trim(trimmed[..<equals])
    let value = trim(trimmed[trimmed.index(after: equals)...])
    for quote in ["\"", "'"] where value.hasPrefix(quote) {
      guard value.count >= 2, value.hasSuffix(quote) else {
        return .malformed(
          value.dropFirst().contains(quote)
            ? "has text after the closing quote; put comments on their own lines"
            : "has a quote that does not end")
      }
      return .setting(name: String(name), text: String(value.dropFirst().dropLast()))
    }
    return .setting(name: String(name), text: String(value))
  }

  static func trim(_ text: some StringProtocol) -> Substring {
    var rest = Substring(text)
    while let first = rest.unicodeScalars.first, isSpace(first) {
      rest.unicodeScalars.removeFirst()
    }
    while let last = rest.unicodeScalars.last, isSpace(last) { rest.unicodeScalars.removeLast() }
    return rest
  }

  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    scalar == " " || scalar == "\t" || scalar == "\r"
  }
}
