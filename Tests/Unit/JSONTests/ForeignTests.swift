import JSON
import SeededRandom
import Testing

/// JSON that stores sign or answer: everything that RFC 8259 allows, of which Coffer needs a few members.
struct ForeignTests {
  private static func parse(_ text: String) throws(JSONError) -> JSON {
    try JSON.parseForeign(Array(text.utf8))
  }

  @Test(arguments: [
    "18446744073709551615", "-9223372036854775809", "1e400", "-1e999", "[1E+400]",
    String(repeating: "9", count: 400), #""Zo\u0000""#, #"{"\u0000":1}"#, #""\\\u0000\u0000""#,
    "0.1", #""Zo\ud83d""#, #""\uDE00\ud83d""#, #""\ud83d\u0041""#, #"{"\ud83d":1}"#,
    #"["\ud83d",1e400]"#,
  ])
  func `what could not be held is passed over where it is not needed`(value: String) throws {
    let json = try Self.parse(#"{"before":1,"odd":\#(value),"after":"x"}"#)
    #expect(json["before"].integer == 1)
    #expect(json["odd"].exists)
    #expect(json["odd"].integer == nil)
    #expect(json["after"].string == "x")
  }

  @Test func `U+0000 becomes the replacement character`() throws {
    #expect(try Self.parse(#"{"name":"Zo\u0000"}"#)["name"].string == "Zo\u{FFFD}")
    #expect(try Self.parse(#"{"name":"Zo\\u0000"}"#)["name"].string == #"Zo\u0000"#)
  }

  @Test(
    arguments: [
      (#"Zo\ud83d"#, "Zo\u{FFFD}"), (#"\uDE00\uD83D"#, "\u{FFFD}\u{FFFD}"),
      (#"\ud83d\ud83d\ude00\ude00"#, "\u{FFFD}\u{1F600}\u{FFFD}"),
      (#"\ud83d\u0041\\ud83d"#, "\u{FFFD}A\\ud83d"),
      (#"\ud83d\\ude00"#, "\u{FFFD}\\ude00"),
    ])
  func `half a surrogate pair becomes the replacement character, and a pair stays`(
    text: String, value: String
  ) throws {
    #expect(try Self.parse(#"{"name":"\#(text)"}"#)["name"].string == value)
  }

  @Test(
    arguments: [
      ("5", 5), ("5.0", 5), ("-7.00", -7), ("5e0", 5), ("1e3", 1000), (#""12""#, 12),
      (#""-12""#, -12), ("9007199254740992.0", 9_007_199_254_740_992),
      ("9223372036854775807", .max), (#""9223372036854775807""#, .max),
    ] as [(String, Int64)])
  func `an integer is read in every form that has one meaning`(text: String, value: Int64) throws {
    #expect(try Self.parse("[\(text)]")[0].requireInteger() == value)
  }

  @Test(arguments: [
    "5.5", "9007199254740994.0", "9223372036854775808", #""012""#, #""+5""#, #""5.0""#, #"" 5""#,
    #""""#, "true", "null",
  ])
  func `what is no integer, or may be several, is none`(text: String) throws {
    #expect(try Self.parse("[\(text)]")[0].integer == nil)
  }

  @Test(arguments: [
    #"{"a":1,"a":2}"#, "{} x", "[01]", "[1.]", "[18446744073709551616 2]", "\u{0}", "[-]",
  ])
  func `what is no JSON, or could be read in two ways, is refused as ever`(text: String) {
    #expect(throws: JSONError.self) { try Self.parse(text) }
  }

  @Test func `texts of our own stay strict`() throws {
    for text in ["[18446744073709551615]", #"["\u0000"]"#, #"["\ud83d"]"#] {
      #expect(throws: JSONError.self) { try JSON.parse(Array(text.utf8)) }
    }
    #expect(try JSON.parse(Array(#"[5.0,"5"]"#.utf8))[0].integer == nil)
    #expect(try JSON.parse(Array(#"[5.0,"5"]"#.utf8))[1].integer == nil)
  }

  @Test func `any bytes are refused or read, and what is read strictly is read the same`() {
    let seed = SeededGenerator.seed(of: "ForeignTests")
    var random = SeededGenerator(seed: seed)
    let pieces = [
      "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0000", "1", "e400", "-", ".",
      "99999999999999999999",
      "a", " ", "\\ud83d", "\\ude00", "\\uD8", "\\\\",
    ]
    for _ in 0..<20_000 {
      let count = Int.random(in: 0..<12, using: &random)
      let text = (0..<count).map { _ in pieces.randomElement(using: &random)! }.joined()
      guard let strict = try? JSON.parse(Array(text.utf8)) else {
        _ = try? Self.parse(text)
        continue
      }
      let foreign = try? Self.parse(text)
      #expect(foreign != nil, "\(text), seed \(seed)")
      #expect(foreign?.string == strict.string, "\(text), seed \(seed)")
    }
  }
}
