/// The 512 bytes before a file in a tar archive: ustar as in POSIX.1-2001, for plain files only.
struct TarHeader: Equatable {
  static let byteCount = 512
  /// The largest value of eleven octal digits: 8 GiB.
  static let fileByteCountMax: Int64 = 1 << 33 - 1
  static let nameByteCountMax = 100

  let name: String
  let fileByteCount: Int64

  /// The number of bytes between the end of the file and the next header.
  static func padding(after byteCount: Int64) -> Int { Int((512 - byteCount % 512) % 512) }

  /// `modified` is in seconds since 1970.
  func encoded(modified: Int64) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    func put(_ text: String, at place: Int) {
      for (index, byte) in text.utf8.enumerated() { bytes[place + index] = byte }
    }
    func octal(_ value: Int64, digits: Int) -> String {
      let text = String(value, radix: 8)
      return String(repeating: "0", count: digits - text.count) + text
    }
    put(name, at: 0)
    put("0000600\0", at: 100)
    put("0000000\0", at: 108)
    put("0000000\0", at: 116)
    put(octal(fileByteCount, digits: 11), at: 124)
    put(octal(max(0, modified), digits: 11), at: 136)
    put("        ", at: 148)
    put("0", at: 156)
    put("ustar\u{0}00", at: 257)
    put(octal(Self.sum(bytes[...]), digits: 6) + "\0 ", at: 148)
    return bytes
  }

  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, bytes[156] == UInt8(ascii: "0"),
      bytes[257..<262].elementsEqual("ustar".utf8),
      let name = Self.text(bytes[0..<Self.nameByteCountMax]), !name.isEmpty,
      let fileByteCount = Self.number(bytes[124..<136]),
      let sum = Self.number(bytes[148..<156])
    else { return nil }
    // The checksum's own field counts as blanks.
    let own = Self.sum(bytes[148..<156])
    guard sum == Self.sum(bytes[...]) - own + 8 * Int64(UInt8(ascii: " ")) else { return nil }
    self.init(name: name, fileByteCount: fileByteCount)
  }

  init(name: String, fileByteCount: Int64) {
    self.name = name
    self.fileByteCount = fileByteCount
  }

  private static func sum(_ bytes: ArraySlice<UInt8>) -> Int64 {
    let bytes = bytes.span
    var sum: Int64 = 0
    for index in bytes.indices { sum += Int64(bytes[index]) }
    return sum
  }

  private static func text(_ field: ArraySlice<UInt8>) -> String? {
    String(validating: field.prefix { $0 != 0 }, as: UTF8.self)
  }

  private static func number(_ field: ArraySlice<UInt8>) -> Int64? {
    var number: Int64?
    for byte in field where byte != UInt8(ascii: " ") {
      if byte == 0 { break }
      guard UInt8(ascii: "0")...UInt8(ascii: "7") ~= byte else { return nil }
      number = (number ?? 0) * 8 + Int64(byte - UInt8(ascii: "0"))
    }
    return number
  }
}
