import Base
import JSON
import SeededRandom
import Testing

@Suite struct CanonicalTests {
  private func canonical(_ text: String) throws -> String {
    let value = try #require(JSONValue(try JSON.parse(Array(text.utf8))))
    return String(decoding: value.canonical(), as: UTF8.self)
  }

  /// RFC 8785, 3.2.2 and 3.2.3, without the fractions, because no statement contains any.
  @Test func `literals, strings and member order are those of the RFC's example`() throws {
    let text = #"""
      {
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
      }
      """#
    #expect(
      try canonical(text)
        == #"{"literals":[null,true,false],"string":"€$\u000f\nA'B\"\\\\\"/"}"#)
  }

  /// RFC 8785, 3.2.4.
  @Test func `the bytes are those of the RFC's example`() throws {
    let text = #"{"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/"}"#
    let tail = try canonical(text).utf8.dropFirst(10)
    #expect(
      Hex.encode(Array(tail))
        == "22e282ac245c75303030665c6e412742" + "5c225c5c5c5c5c222f22" + "7d")
  }

  /// RFC 8785, 3.2.3: an emoji is two code units from U+D800 on, so it sorts before U+FB33.
  @Test func `members are sorted by UTF-16 code units`() throws {
    let text = #"""
      {
        "\u20ac": "Euro Sign", "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
      }
      """#
    let sorted = try JSON.parse(Array(try canonical(text).utf8)).members?.map(\.value.string)
    #expect(
      sorted == [
        "Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign",
        "Emoji: Grinning Face", "Hebrew Letter Dalet With Dagesh",
      ])
  }

  @Test func `inner objects are sorted and the order of arrays is kept`() throws {
    #expect(
      try canonical(#"{"b":[{"f":"x","F":5},2,1],"10":{},"":"e","a":{"\n":56},"1":[],"A":{}}"#)
        == #"{"":"e","1":[],"10":{},"A":{},"a":{"\n":56},"b":[{"F":5,"f":"x"},2,1]}"#)
  }

  @Test func `only what must be escaped is, in lower case`() throws {
    let value: JSONValue = "\u{8}\t\n\u{C}\r\u{0}\u{1F}\u{7F}\u{80}\u{2028}/é"
    #expect(
      String(decoding: value.canonical(), as: UTF8.self)
        == #""\b\t\n\f\r\u0000\u001f"# + "\u{7F}\u{80}\u{2028}/é\"")
  }

  @Test func `the extreme integers are exact`() throws {
    #expect(
      try canonical("[9007199254740991,-9007199254740991,0,-0]")
        == "[9007199254740991,-9007199254740991,0,0]")
  }

  @Test(arguments: 1...20)
  func `the order in which members were given changes nothing`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let names = ["a", "B", "aa", "", "é", "e\u{301}", "😀", "\u{FB33}", "\u{FFFF}", "1", "10"]
    let members = names.map { JSONValue.Member($0, .string($0)) }
    let shuffled = JSONValue.object(members.shuffled(using: &random))
    #expect(shuffled.canonical() == JSONValue.object(members).canonical(), "seed \(seed)")
  }

  @Test(arguments: 1...20)
  func `the canonical form of what was read from it is itself`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var text = ""
    for _ in 0..<40 {
      text.unicodeScalars.append(
        Unicode.Scalar(UInt32.random(in: 0..<0xD800, using: &random)) ?? "x")
    }
    let value = JSONValue.object([.init(text, .string(text)), .init("a", [nil, true, -7])])
    let canonical = value.canonical()
    let read = try #require(JSONValue(try JSON.parse(canonical)))
    #expect(read.canonical() == canonical, "seed \(seed)")
  }
}
