import Base
import Compression
import SeededRandom
import Testing

@Suite struct UnfoldedTextTests {
  private func json(_ content: String) -> String { #"{"aud":"\#(content)"}"# }

  private func encoded(_ text: String) -> String { Base64.url.encode(Array(text.utf8)) }

  private func isSame(_ text: [UInt8]) throws -> Bool {
    try UnfoldedText.fold(UnfoldedText.unfold(text), byteCountMax: text.count) == text
  }

  @Test func `a text without base64 stands as it is`() throws {
    for text in ["", "J", "eyJ", "{\"a\":1}", "eyJhIjoxfQ and eyJ- are too short"] {
      #expect(UnfoldedText.unfold(Array(text.utf8)) == Array(text.utf8))
    }
  }

  @Test func `a token within a token is in clear, and comes back to the letter`() throws {
    let inner = "x." + encoded(json(String(repeating: "the innermost ", count: 9))) + ".s"
    let text = "{\"signedPayload\":\"h." + encoded(json("a \(inner) b")) + ".s\"}"
    let unfolded = UnfoldedText.unfold(Array(text.utf8))
    #expect(String(decoding: unfolded, as: UTF8.self).contains("the innermost the innermost"))
    #expect(unfolded.count < text.utf8.count * 7 / 10)
    #expect(try isSame(Array(text.utf8)))
  }

  @Test func `the same certificates are the same text, wherever they stand`() {
    let chain = json(String(repeating: "certificate", count: 30))
    let text = "." + encoded(chain) + ".a" + encoded(chain) + ".ab" + encoded(chain + " ")
    let parts = String(decoding: UnfoldedText.unfold(Array(text.utf8)), as: UTF8.self)
      .split(separator: String(repeating: "certificate", count: 29))
    #expect(parts.count == 4)
  }

  @Test(arguments: 60...72)
  func `whatever its length, its padding and its alphabet`(count: Int) throws {
    let text = json(String(repeating: "?~>", count: count).prefix(count).description)
    for base64 in [Base64.url, .standard] {
      let token = base64.encode(Array(text.utf8))
      #expect(try isSame(Array(token.utf8)))
      #expect(try isSame(Array("\(token).\(token)=\(token)".utf8)))
    }
  }

  @Test func `bytes of any kind come back`() throws {
    let seed = SeededGenerator.seed(of: "unfolded bytes")
    var random = SeededGenerator(seed: seed)
    let pieces = ["eyJ", "\u{0}", "eyJleUo", ".", "=", "A", encoded(json(encoded(json("x"))))]
      .map { Array($0.utf8) }
    for _ in 0..<3000 {
      var text: [UInt8] = random.next() % 3 == 0 ? [0] : []
      for _ in 0..<(random.next() % 12) {
        let piece = pieces.randomElement(using: &random) ?? []
        for _ in 0...(random.next() % 40) { text += piece }
      }
      if random.next() % 4 == 0 { text += random.bytes(count: 20) }
      let isSame = try isSame(text)
      #expect(isSame, "seed \(seed)")
    }
  }

  @Test func `what nobody unfolded is refused or is something else, and ends`() {
    let seed = SeededGenerator.seed(of: "folded bytes")
    var random = SeededGenerator(seed: seed)
    var refused = 0
    for _ in 0..<20_000 {
      let count = Int(random.next() % 30)
      let bytes = [0] + (0..<count).map { _ in UInt8(random.next() % 9) }
      if let text = try? UnfoldedText.fold(bytes, byteCountMax: 25) {
        #expect(text.count <= 25, "seed \(seed)")
      } else {
        refused += 1
      }
    }
    #expect(refused > 1000, "seed \(seed)")
  }

  @Test func `lengths that no text has, and parts too deep, are refused`() {
    let endless = [0] + [UInt8](repeating: 0xFF, count: 20)
    var deep: [UInt8] = Array("abc".utf8)
    for _ in 0..<9 { deep = [0, 0, UInt8(deep.count)] + deep + [0] }
    for bytes in [endless, deep, [0], [0, 1], [0, 0, 0], [0, 0, 2, 65, 65, 0]] {
      #expect(throws: CompressionError.malformed) {
        try UnfoldedText.fold(bytes, byteCountMax: 1000)
      }
    }
  }

  @Test func `a megabyte of beginnings without an end comes back`() throws {
    let short = String(repeating: "eyJ" + String(repeating: "J", count: 60) + ".", count: 1 << 14)
    #expect(UnfoldedText.unfold(Array(short.utf8)) == Array(short.utf8))
    #expect(try isSame(Array(short.utf8)))
  }
}
