import Base
import Crypto
import Testing

@Suite struct SealingTests {
  private let old = Secret([UInt8](repeating: 1, count: 32))
  private let new = Secret([UInt8](repeating: 2, count: 32))
  private let plain = Array("a delivery with a mail address".utf8)

  private func refusal(_ body: () throws -> Void) -> CryptoError? {
    do {
      try body()
      return nil
    } catch { return error as? CryptoError }
  }

  @Test(arguments: [0, 1, 15, 16, 17, 4096, 100_000])
  func `what was sealed opens again`(count: Int) throws {
    let keys = try SealingKeys([old])
    let plain = Random.bytes(count)
    let sealed = keys.seal(plain, context: [7])
    #expect(sealed.count == count + SealingKeys.overheadByteCount)
    #expect(try keys.open(sealed, context: [7]) == plain)
  }

  @Test func `every altered byte keeps it closed`() throws {
    let keys = try SealingKeys([old, new])
    let sealed = keys.seal(plain, context: [7])
    for index in sealed.indices {
      var altered = sealed
      altered[index] ^= 0x10
      #expect(throws: CryptoError.self, "byte \(index)") {
        try keys.open(altered, context: [7])
      }
    }
  }

  @Test func `every shorter or longer form keeps it closed`() throws {
    let keys = try SealingKeys([old])
    let sealed = keys.seal(plain, context: [7])
    for count in 0..<sealed.count {
      #expect(throws: CryptoError.self, "\(count) bytes") {
        try keys.open(Array(sealed[..<count]), context: [7])
      }
    }
    #expect(throws: CryptoError.self) { try keys.open(sealed + [0], context: [7]) }
  }

  @Test(arguments: [[], [8], [7, 0]])
  func `another context keeps it closed`(context: [UInt8]) throws {
    let keys = try SealingKeys([old])
    let sealed = keys.seal(plain, context: [7])
    #expect(refusal { _ = try keys.open(sealed, context: context) } == .notAuthentic)
  }

  @Test
  func `behind first, then in front, then alone: instances restarted one by one open each other's`()
    throws
  {
    // Data is sealed again between the last two stages, so the last one needs no old key.
    let stages = [[old], [old, new], [new, old], [new]]
    for (before, after) in zip(stages, stages.dropFirst()) {
      let (earlier, later) = (try SealingKeys(before), try SealingKeys(after))
      #expect(try earlier.open(later.seal(plain, context: []), context: []) == plain)
      guard after.contains(where: { $0.exposed == before[0].exposed }) else { continue }
      #expect(try later.open(earlier.seal(plain, context: []), context: []) == plain)
    }
    // The new key is put in front at once: an instance that was not restarted yet cannot open the result.
    let sealed = try SealingKeys([new, old]).seal(plain, context: [])
    #expect(refusal { _ = try SealingKeys([old]).open(sealed, context: []) } == .unknownKey)
  }

  @Test func `after a rotation the old key still opens`() throws {
    let sealed = try SealingKeys([old]).seal(plain, context: [])
    #expect(try SealingKeys([new, old]).open(sealed, context: []) == plain)
  }

  @Test func `the first key seals`() throws {
    let sealed = try SealingKeys([new, old]).seal(plain, context: [])
    #expect(try SealingKeys([new]).open(sealed, context: []) == plain)
  }

  @Test func `a dropped key is named as the reason`() throws {
    let sealed = try SealingKeys([old]).seal(plain, context: [])
    let keys = try SealingKeys([new])
    #expect(refusal { _ = try keys.open(sealed, context: []) } == .unknownKey)
  }

  @Test func `another version is malformed`() throws {
    let keys = try SealingKeys([old])
    var sealed = keys.seal(plain, context: [])
    sealed[0] = 2
    #expect(refusal { _ = try keys.open(sealed, context: []) } == .malformed)
  }

  @Test func `the same text is sealed differently every time`() throws {
    let keys = try SealingKeys([old])
    #expect(keys.seal(plain, context: []) != keys.seal(plain, context: []))
  }

  @Test func `sealed bytes do not show the text`() throws {
    let sealed = try SealingKeys([old]).seal(plain, context: [])
    #expect(!Hex.encode(sealed).contains(Hex.encode(plain[..<4])))
  }

  @Test func `no key and a key of another length are refused`() {
    #expect(refusal { _ = try SealingKeys([]) } == .keyMissing)
    #expect(refusal { _ = try SealingKeys([old, Secret("short")]) } == .keyLength)
  }

  @Test func `identifiers are UUIDs of version 4`() {
    for _ in 0..<200 {
      let bytes = Random.identifier().bytes
      #expect(bytes[6] >> 4 == 4)
      #expect(bytes[8] >> 6 == 2)
    }
  }

  @Test func `no bytes and many bytes are given as asked`() {
    #expect(Random.bytes(0).isEmpty)
    #expect(Set((0..<100).map { _ in Random.bytes(16) }).count == 100)
  }
}
