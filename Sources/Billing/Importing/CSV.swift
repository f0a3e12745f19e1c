/// Comma-separated values by RFC 4180: fields in quotes may hold commas, lines and doubled quotes; lines end
/// with LF or CRLF. A field has at most 4096 bytes. Blank lines and a byte order mark are skipped.
package enum CSV {
  package struct Record: Sendable {
    /// The line on which the record begins, from 1.
    package let line: Int
    package let fields: [String]
  }

  /// No store's number and no name is longer.
  static let fieldByteCountMax = 4096
  /// No list of ours has more columns.
  static let fieldCountMax = 100

  /// Throws one line about the first place that cannot be read, or if there are too many records.
  package static func records(_ bytes: [UInt8], atMost countMax: Int) throws(ImportProblem)
    -> [Record]
  {
    var reader = Reader(bytes: bytes)
    var records: [Record] = []
    while let record = try reader.next() {
      guard records.count < countMax else {
        throw ImportProblem("it has more than \(countMax) records; divide it")
      }
      records.append(record)
    }
    return records
  }

  /// One line of a file, with its end. A cell that a spreadsheet would run as a formula gets a leading
  /// apostrophe, which `records` removes.
  package static func line(_ fields: [String]) -> String {
    fields.map { field in
      let field = isFormula(field) ? "'" + field : field
      guard field.utf8.contains(where: { special.contains($0) }) else { return field }
      return "\""
        + field.split(separator: "\"", omittingEmptySubsequences: false)
        .joined(separator: "\"\"") + "\""
    }.joined(separator: ",") + "\r\n"
  }

  private static let special = Set(",\"\r\n".utf8)
  private static let apostrophe = UInt8(ascii: "'")

  /// Whether a cell begins like a formula, ignoring apostrophes before it, so that a text with one of its own
  /// stays different from a marked text.
  private static func isFormula(_ field: some StringProtocol) -> Bool {
    guard let first = field.utf8.first(where: { $0 != apostrophe }) else { return false }
    return "=+-@\t\r".utf8.contains(first)
  }

  private struct Reader {
    let bytes: [UInt8]
    private var place = 0
    private var line = 1

    init(bytes: [UInt8]) {
      self.bytes = bytes
      if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { place = 3 }
    }

    private static let (quote, comma) = (UInt8(ascii: "\""), UInt8(ascii: ","))
    private static let (lf, cr) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))

    mutating func next() throws(ImportProblem) -> Record? {
      while takeLineEnd() {}
      guard place < bytes.count else { return nil }
      let start = line
      var fields = [try field()]
      while place < bytes.count, !takeLineEnd() {
        // A field that does not end with its line ends with a comma.
        place += 1
        fields.append(try field())
        guard fields.count <= fieldCountMax else {
          throw failure(start, "it has more than \(fieldCountMax) fields")
        }
      }
      return Record(line: start, fields: fields)
    }

    private mutating func takeLineEnd() -> Bool {
      let count =
        bytes[place...].starts(with: [Self.lf])
        ? 1 : bytes[place...].starts(with: [Self.cr, Self.lf]) ? 2 : 0
      guard count > 0 else { return false }
      place += count
      line += 1
      return true
    }

    private func isAtEnd() -> Bool {
      place == bytes.count || bytes[place] == Self.comma || bytes[place] == Self.lf
        || bytes[place...].starts(with: [Self.cr, Self.lf])
    }

    private mutating func field() throws(ImportProblem) -> String {
      let start = line
      var content: [UInt8] = []
      if place < bytes.count, bytes[place] == Self.quote {
        content = try quoted()
        guard isAtEnd() else { throw failure(line, "something follows a closing quote") }
      } else {
        while !isAtEnd() {
          guard bytes[place] != Self.quote else {
            throw failure(line, "a quote is inside a field that is not quoted")
          }
          content.append(bytes[place])
          place += 1
          try requireShort(content, from: start)
        }
      }
      guard let text = String(validating: content, as: UTF8.self) else {
        throw failure(start, "a field is not UTF-8")
      }
      return text.utf8.first == apostrophe && isFormula(text) ? String(text.dropFirst()) : text
    }

    /// Checks a field while it is read, because an unclosed quote may run to the end of the file.
    private func requireShort(_ content: [UInt8], from line: Int) throws(ImportProblem) {
      guard content.count <= fieldByteCountMax else {
        throw failure(line, "a field is longer than \(fieldByteCountMax) bytes")
      }
    }

    private mutating func quoted() throws(ImportProblem) -> [UInt8] {
      let start = line
      var content: [UInt8] = []
      place += 1
      while place < bytes.count {
        let byte = bytes[place]
        place += 1
        if byte == Self.quote {
          guard place < bytes.count, bytes[place] == Self.quote else { return content }
          place += 1
        }
        if byte == Self.lf { line += 1 }
        content.append(byte)
        try requireShort(content, from: start)
      }
      throw failure(start, "a quote is never closed")
    }

    private func failure(_ line: Int, _ text: String) -> ImportProblem {
      ImportProblem("line \(line): \(text)")
    }
  }
}
