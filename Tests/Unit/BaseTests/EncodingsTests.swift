import Base
import SeededRandom
import Testing

@Suite struct EncodingsTests {
  /// RFC 4648, section 10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
  ])
  func `base64 gives RFC 4648's texts`(plain: String, text: String) {
    #expect(Base64.standard.encode(Array(plain.utf8)) == text)
    #expect(Base64.standard.decode(text) == Array(plain.utf8))
    let unpadded = text.filter { $0 != "=" }
    #expect(Base64.url.encode(Array(plain.utf8)) == unpadded)
    #expect(Base64.url.decode(unpadded) == Array(plain.utf8))
  }

  @Test func `the two alphabets differ in two characters`() {
    #expect(Base64.standard.encode([0xFB, 0xFF]) == "+/8=")
    #expect(Base64.url.encode([0xFB, 0xFF]) == "-_8")
    #expect(Base64.standard.decode("-_8=") == nil)
    #expect(Base64.url.decode("+/8") == nil)
  }

  @Test(arguments: [
    "Zg", "Zg=", "Zg===", "Z===", "====", "=", "Zm9v=", "Zm9vYg==Zg==", "Zh==", "Zm9=", "Zm 9v",
    "Zm9v\n", "Zm9é", "A",
  ])
  func `base64 that is not canonical is refused`(text: String) {
    #expect(Base64.standard.decode(text) == nil)
  }

  @Test(arguments: ["Zg==", "Zh", "Zm9", "A", "AAAAA"])
  func `unpadded base64 that is not canonical is refused`(text: String) {
    #expect(Base64.url.decode(text) == nil)
  }

  @Test(arguments: 1...10)
  func `what was encoded decodes again`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      let bytes = random.bytes(count: .random(in: 0...100, using: &random))
      #expect(Base64.standard.decode(Base64.standard.encode(bytes)) == bytes, "seed \(seed)")
      #expect(Base64.url.decode(Base64.url.encode(bytes)) == bytes, "seed \(seed)")
      #expect(Hex.decode(Hex.encode(bytes)) == bytes, "seed \(seed)")
      #expect(Hex.decode(Hex.encode(bytes).uppercased()) == bytes, "seed \(seed)")
    }
  }

  @Test(arguments: 1...10)
  func `no two texts decode to the same bytes`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let alphabet = Array("ABZaz059+/=-_ ".utf8)
    for _ in 0..<500 {
      let text = (0..<Int.random(in: 0...8, using: &random))
        .map { _ in alphabet.randomElement(using: &random)! }
      for base64 in [Base64.standard, .url] {
        if let bytes = base64.decode(text) {
          #expect(Array(base64.encode(bytes).utf8) == text, "seed \(seed)")
        }
      }
    }
  }

  @Test(arguments: ["0", "0g", "g0", " 00", "0x00", "é", "00 "])
  func `what is not hexadecimal is refused`(text: String) {
    #expect(Hex.decode(text) == nil)
  }

  @Test func `hexadecimal digits are in lower case`() {
    #expect(Hex.encode([0x00, 0x9A, 0xFF]) == "009aff")
  }
}
