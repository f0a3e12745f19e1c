import Base
import SeededRandom
import Testing

@Suite struct ShortIdentifierTests {
  @Test func `every beginning and every end of an id stand for it`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "short ids"))
    for _ in 0..<200 {
      let id = Identifier(high: random.next(), low: random.next())
      let text = id.description
      let (head, tail) = (
        Int.random(in: 7...20, using: &random), Int.random(in: 0...12, using: &random)
      )
      for short in [
        "\(text.prefix(head))", "\(text.prefix(head).uppercased())…\(text.suffix(tail))",
      ] {
        let found = try #require(ShortIdentifier(short), "\(short)")
        #expect(found.standsFor(id), "\(short)")
      }
    }
  }

  @Test func `another end or another beginning stands for another id`() throws {
    let id = try #require(Identifier("0b5c0a2e-0000-4000-8000-000000000001"))
    #expect(try !#require(ShortIdentifier("0b5c0a2f")).standsFor(id))
    #expect(try !#require(ShortIdentifier("0b5c0a2e…2")).standsFor(id))
  }

  @Test(arguments: [
    "", "0b5c0", "0b5c0x", "0b5-c0a2e", "0b5c0a2e…1…1", "…0001", "premium",
    "0b5c0a2e-0000-4000-8000-000000000001",
  ])
  func `what is no part of an id, or too short, is none`(text: String) {
    #expect(ShortIdentifier(text) == nil)
  }
}
