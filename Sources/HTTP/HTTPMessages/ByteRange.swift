/// Which part of a representation a Range field asks for (RFC 9110, section 14).
package enum ByteRange: Equatable, Sendable {
  /// No range, or one that may be ignored: another unit, several ranges, a malformed field.
  case whole
  /// Never empty, inside the representation.
  case part(Range<Int64>)
  case unsatisfiable

  package init(_ field: String?, byteCount: Int64) {
    guard let field, field.lowercased().hasPrefix("bytes=") else {
      self = .whole
      return
    }
    let parts = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
      .map { text in text.filter { $0 != " " && $0 != "\t" } }
    guard parts.count == 2, parts.allSatisfy({ $0.utf8.allSatisfy(Self.isDigit) }) else {
      self = .whole
      return
    }
    // Digits beyond Int64 mean "further than any file reaches".
    let first = parts[0].isEmpty ? nil : Int64(parts[0]) ?? .max
    let last = parts[1].isEmpty ? nil : Int64(parts[1]) ?? .max
    switch (first, last) {
    case (nil, nil): self = .whole
    case (nil, .some(let suffix)):
      self =
        suffix == 0 || byteCount == 0
        ? .unsatisfiable : .part(max(0, byteCount - suffix)..<byteCount)
    case (.some(let first), let last):
      if let last, last < first {
        self = .whole
      } else if first >= byteCount {
        self = .unsatisfiable
      } else {
        self = .part(first..<min(byteCount - 1, last ?? .max) + 1)
      }
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
