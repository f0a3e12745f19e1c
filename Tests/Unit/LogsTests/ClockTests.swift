import Base
import Logs
import SeededRandom
import Testing

/// Timestamps of hybrid logical clocks have one text, and their bytes are in the order of the texts.
@Suite struct ClockTests {
  @Test(arguments: TrieVector.all.map(\.text))
  func `a timestamp is read and written as the same text`(text: String) throws {
    let timestamp = try #require(LogTimestamp(text))
    #expect(timestamp.description == text)
    #expect(LogTimestamp(bytes: timestamp.bytes) == timestamp)
    #expect(timestamp.instant == Instant(rfc3339: String(text.prefix(24))))
  }

  @Test(arguments: [
    "2024-05-01T12:00:00Z-0000-0123456789abcdef",
    "2024-05-01T12:00:00.000Z-0-0123456789abcdef",
    "2024-05-01T12:00:00.000Z-00ff-0123456789abcdef",
    "2024-05-01T12:00:00.000Z-0000-abc",
    "2024-05-01-0000-abc",
    "2024-05-01T12:00:00.1234Z-0000-0123456789abcdef",
    "2024-02-30T12:00:00.000Z-0000-0123456789abcdef",
    "2023-02-29T12:00:00.000Z-0000-0123456789abcdef",
    "2100-02-29T12:00:00.000Z-0000-0123456789abcdef",
    "2024-04-31T12:00:00.000Z-0000-0123456789abcdef",
    "2024-00-01T12:00:00.000Z-0000-0123456789abcdef",
    "2024-05-00T12:00:00.000Z-0000-0123456789abcdef",
    "2024-05-01T24:00:00.000Z-0000-0123456789abcdef",
    "2024-05-01T12:60:00.000Z-0000-0123456789abcdef",
    "2024-05-01T12:00:60.000Z-0000-0123456789abcdef",
    "1969-12-31T23:59:59.999Z-0000-0123456789abcdef",
    "2024-05-01t12:00:00.000Z-0000-0123456789abcdef",
    "2024-05-01T12:00:00.000Z-000G-0123456789abcdef",
    "2024-05-01T12:00:00.000Z-0000-0123456789abcde-",
    "2024-05-01T12:00:00.000Z-0000-0123456789abcdé",
    " 2024-05-01T12:00:00.000Z-0000-0123456789abcde",
    "2024-05-01T12:00:00.000Z-0000-0123456789abcdef ",
    "",
  ])
  func `another form is refused`(text: String) {
    #expect(LogTimestamp(text) == nil)
  }

  @Test func `bytes that are no timestamp are refused`() throws {
    let bytes = try #require(LogTimestamp(TrieVector.all[0].text)).bytes
    #expect(LogTimestamp(bytes: bytes + [0x30]) == nil)
    #expect(LogTimestamp(bytes: Array(bytes.dropLast())) == nil)
    #expect(LogTimestamp(bytes: bytes.dropLast() + [UInt8(ascii: "-")]) == nil)
    #expect(LogTimestamp(bytes: [0x80] + bytes.dropFirst()) == nil)
    #expect(LogTimestamp(bytes: [0x7F] + bytes.dropFirst()) == nil)
  }

  @Test func `bytes have the order of texts, and days are those of the calendar`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "ClockTests"))
    var texts = TrieVector.all.map(\.text)
    for _ in 0..<2000 { texts.append(random.timestamp(in: 0..<253_402_300_800_000)) }
    for text in texts {
      let timestamp = try #require(LogTimestamp(text))
      #expect(timestamp.description == text)
      #expect(timestamp.instant == Instant(rfc3339: String(text.prefix(24))))
      let other = try #require(texts.randomElement(using: &random))
      let isBefore = try timestamp < #require(LogTimestamp(other))
      #expect(isBefore == (text < other), "\(text) \(other)")
    }
  }
}

extension SeededGenerator {
  /// A timestamp within milliseconds since 1970, in its text.
  mutating func timestamp(in span: Range<Int64>) -> String {
    let instant = Instant(milliseconds: .random(in: span, using: &self) / 1000 * 1000)
    let milliseconds = String(Int.random(in: 0...999, using: &self))
    let counter = String(UInt16.random(in: .min ... .max, using: &self), radix: 16, uppercase: true)
    func padded(_ text: String, _ count: Int) -> String {
      String(repeating: "0", count: count - text.count) + text
    }
    let node = Hex.encode(bytes(count: 8))
    return "\(instant.description.dropLast()).\(padded(milliseconds, 3))Z-\(padded(counter, 4))-"
      + (Bool.random(using: &self) ? node : node.uppercased())
  }
}
