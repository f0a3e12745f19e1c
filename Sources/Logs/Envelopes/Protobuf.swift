/// Reads the fields of a Protocol Buffers message in order (https://protobuf.dev/programming-guides/encoding/).
///
/// It copies nothing, and checks lengths first. Groups, which version 3 of the language lacks, are malformed.
struct ProtobufReader {
  enum Value {
    case number(UInt64)
    /// Text, bytes or a message: its place.
    case bytes(Range<Int>)
    /// A number of fixed length, which no message here has.
    case fixed
  }

  private let bytes: [UInt8]
  private let end: Int
  private var position: Int

  /// Reads the message that stands in `range`.
  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
  }

  /// Nil at the end.
  mutating func next() throws(ProtobufError) -> (field: UInt64, value: Value)? {
    guard position < end else { return nil }
    let tag = try number()
    guard tag >> 3 > 0, tag >> 3 < 1 << 29 else { throw ProtobufError() }
    switch tag & 7 {
    case 0: return (tag >> 3, .number(try number()))
    case 1:
      _ = try skipped(8)
      return (tag >> 3, .fixed)
    case 2: return (tag >> 3, .bytes(try skipped(try number())))
    case 5:
      _ = try skipped(4)
      return (tag >> 3, .fixed)
    default: throw ProtobufError()
    }
  }

  private mutating func skipped(_ count: UInt64) throws(ProtobufError) -> Range<Int> {
    guard count <= UInt64(end - position) else { throw ProtobufError() }
    defer { position += Int(count) }
    return position..<(position + Int(count))
  }

  /// Seven bits a byte, the lowest first; a number of 64 bits has at most ten bytes.
  private mutating func number() throws(ProtobufError) -> UInt64 {
    var number: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard position < end else { throw ProtobufError() }
      let byte = bytes[position]
      position += 1
      guard shift < 63 || byte < 2 else { throw ProtobufError() }
      number |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return number }
    }
    throw ProtobufError()
  }
}

struct ProtobufError: Error {}

enum ProtobufWriter {
  static func write(field: UInt8, number: UInt64, to bytes: inout [UInt8]) {
    bytes.append(field << 3)
    write(number, to: &bytes)
  }

  static func write(field: UInt8, _ content: some Collection<UInt8>, to bytes: inout [UInt8]) {
    begin(field: field, byteCount: content.count, in: &bytes)
    bytes += content
  }

  /// Writes what stands before the content of a field.
  static func begin(field: UInt8, byteCount: Int, in bytes: inout [UInt8]) {
    bytes.append(field << 3 | 2)
    write(UInt64(byteCount), to: &bytes)
  }

  private static func write(_ number: UInt64, to bytes: inout [UInt8]) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}
