/// Writes ASN.1 values (X.690, DER), as far as certificates need them.
enum DER {
  static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    var length: [UInt8] = []
    if content.count < 128 {
      length = [UInt8(content.count)]
    } else {
      var rest = content.count
      while rest > 0 {
        length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
        rest >>= 8
      }
      length.insert(0x80 | UInt8(length.count), at: 0)
    }
    return [tag] + length + content
  }

  static func sequence(_ values: [UInt8]...) -> [UInt8] { value(0x30, values.flatMap { $0 }) }
  static func octets(_ bytes: [UInt8]) -> [UInt8] { value(0x04, bytes) }
  static func bits(_ bytes: [UInt8], unused: UInt8 = 0) -> [UInt8] { value(0x03, [unused] + bytes) }
  static func text(_ text: String) -> [UInt8] { value(0x0C, Array(text.utf8)) }
  static let yes: [UInt8] = [0x01, 0x01, 0xFF]

  /// A non-negative number, from its big-endian bytes.
  static func integer(_ bytes: [UInt8]) -> [UInt8] {
    var digits = Array(bytes.drop { $0 == 0 })
    if (digits.first ?? 0x80) >= 0x80 { digits.insert(0, at: 0) }
    return value(0x02, digits)
  }

  /// An object identifier, from its dotted name.
  static func object(_ name: String) -> [UInt8] {
    let arcs = name.split(separator: ".").map { Int($0)! }
    var bytes = [UInt8(arcs[0] * 40 + arcs[1])]
    for arc in arcs.dropFirst(2) {
      var groups = [UInt8(arc & 0x7F)]
      var rest = arc >> 7
      while rest > 0 {
        groups.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
        rest >>= 7
      }
      bytes += groups
    }
    return value(0x06, bytes)
  }
}
