import Base
import SeededRandom
import Testing

@Suite struct IdentifierTests {
  private let text = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

  @Test func `an identifier is written as a UUID in lower case`() throws {
    let identifier = try #require(Identifier(text.uppercased()))
    #expect("\(identifier)" == text)
  }

  @Test(arguments: 1...10)
  func `bytes, text and words are one identifier`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let bytes = random.bytes(count: 16)
    let identifier = try #require(Identifier(bytes: bytes))
    #expect(identifier.bytes == bytes, "seed \(seed)")
    #expect(Identifier("\(identifier)") == identifier, "seed \(seed)")
    #expect(Identifier(high: identifier.high, low: identifier.low) == identifier)
  }

  @Test(arguments: [
    "", "f81d4fae7dec11d0a76500a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf",
    "f81d4fae-7dec-11d0-a765-00a0c91e6bf6a", "{81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    "f81d4fae-7dec-11d0-a76500a0-c91e6bf6", "g81d4fae-7dec-11d0-a765-00a0c91e6bf6",
    "f81d4fae-7dec-11d0-a765-00a0c91e6b-6", " f81d4fae-7dec-11d0-a765-00a0c91e6bf",
    "é81d4fae-7dec-11d0-a765-00a0c91e6bf",
  ])
  func `another text is no identifier`(text: String) {
    #expect(Identifier(text) == nil)
  }

  @Test(arguments: [0, 15, 17])
  func `another number of bytes is no identifier`(count: Int) {
    #expect(Identifier(bytes: [UInt8](repeating: 0, count: count)) == nil)
  }

  @Test(arguments: 1...10)
  func `the order is that of the bytes and of the text`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let identifiers = (0..<50).map { _ in Identifier(bytes: random.bytes(count: 16))! }.sorted()
    for (a, b) in zip(identifiers, identifiers.dropFirst()) {
      #expect(a.bytes.lexicographicallyPrecedes(b.bytes), "seed \(seed)")
      #expect("\(a)" < "\(b)", "seed \(seed)")
    }
  }
}
