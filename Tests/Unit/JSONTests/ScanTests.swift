import JSON
import SeededRandom
import Testing

/// A text is shortened before it is parsed, which must not change what is read.
struct ScanTests {
  @Test func `a long string is read as it stands`() throws {
    let text = String(repeating: "eyJhbGciOiJFUzI1NiJ9.", count: 200)
    let json = try JSON.parse(Array(#"{"a":"\#(text)", "b" : [ "\#(text)x", "short" ]}"#.utf8))
    #expect(json["a"].string == text)
    #expect(json["a"].utf8 == Array(text.utf8))
    #expect(json["b"][0].string == text + "x")
    #expect(json["b"][1].string == "short")
  }

  @Test func `a long name is a name`() throws {
    let name = String(repeating: "n", count: 300)
    let json = try JSON.parse(Array(#"{"\#(name)" : 1}"#.utf8))
    #expect(json[name].integer == 1)
    #expect(throws: JSONError.self) {
      try JSON.parse(Array(#"{"\#(name)":1,"\#(name)":2}"#.utf8))
    }
  }

  /// The 45th string once ended in a backslash, which escaped its closing quote. The rest was read as another
  /// text, or stopped the program. The fuzzer found it.
  @Test(arguments: [44, 45, 46, 65, 2817, 2900])
  func `a long string may be followed by a comma alone, however many there are`(count: Int) throws {
    let strings = (0..<count).map { "a string that is long enough \($0)" }
    let list = strings.map { #""\#($0)""# }.joined(separator: ",")
    let json = try JSON.parse(Array("[\(list)]".utf8))
    #expect(try json.requireArray().map(\.string) == strings)
    for rest in [#""""#, #""x""#, #","#, #"",""#, #":1"#, #"","x""#] {
      #expect(throws: JSONError.self) {
        try JSON.parse(Array("[\(list)\(rest)]".utf8)).requireArray().map(\.string)
      }
    }
  }

  @Test(arguments: ["\u{FFFC}0000", "\u{FFFC}000", "\u{FFFC}00", "\u{FFFC}"])
  func `a string that looks like a stand-in is itself`(text: String) throws {
    let long = String(repeating: "a", count: 100)
    let json = try JSON.parse(Array(#"["\#(text)", "\#(long)"]"#.utf8))
    #expect(json[0].string == text)
    #expect(json[1].string == long)
  }

  @Test func `a string that looks like one when unescaped is itself`() throws {
    let long = String(repeating: "a", count: 100)
    let json = try JSON.parse(Array(#"["\ufffc000", "\#(long)"]"#.utf8))
    #expect(json[0].string == "\u{FFFC}000")
  }

  @Test(arguments: [
    "[1 2]", "[true false]", "1 2", "- 1", "[1. 5]", "tr ue", #"["a" "b"]"#, "1 \n e3",
  ])
  func `spaces that part two values are not lost`(text: String) {
    #expect(throws: JSONError.self) { try JSON.parse(Array(text.utf8)) }
  }

  @Test func `a fault is told where it lies in the text as it came`() {
    #expect {
      try JSON.parse(Array("{ \"a\" :    1,      }".utf8))
    } throws: { error in
      (error as? JSONError)?.message.contains("byte 20") == true
    }
  }

  /// Parses each value twice: with spaces wherever they are allowed, and without.
  @Test func `spaces and long strings change nothing of what is read`() throws {
    let seed = SeededGenerator.seed(of: "spaces and long strings")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let value = Self.value(depth: 0, &random)
      let plain = value.encoded()
      let spaced = Self.spaced(plain, &random)
      let read = try #require(JSONValue(try JSON.parse(plain)), "seed \(seed)")
      #expect(read == value, "seed \(seed)")
      #expect(JSONValue(try JSON.parse(spaced)) == value, "seed \(seed)")
    }
  }

  /// A text with a stray byte is refused, or read in the only way that it can be.
  @Test func `a text with a byte changed is read as it is written, or refused`() throws {
    let seed = SeededGenerator.seed(of: "a byte changed")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      var text = Self.spaced(Self.value(depth: 0, &random).encoded(), &random)
      let index = Int.random(in: 0..<text.count, using: &random)
      text[index] = UInt8.random(in: 0...255, using: &random)
      guard let json = try? JSON.parse(text), let value = JSONValue(json) else { continue }
      #expect(JSONValue(try JSON.parse(value.encoded())) == value, "seed \(seed)")
    }
  }

  private static func value(depth: Int, _ random: inout SeededGenerator) -> JSONValue {
    switch Int.random(in: 0..<(depth < 4 ? 8 : 5), using: &random) {
    case 0: .null
    case 1: .bool(.random(using: &random))
    case 2: .integer(.random(in: .min ... .max, using: &random))
    case 3: .string(string(count: 0...12, &random))
    case 4: .string(string(count: 10...90, &random))
    case 5, 6:
      .array(
        (0..<Int.random(in: 0...4, using: &random)).map { _ in value(depth: depth + 1, &random) })
    default:
      .object(
        (0..<Int.random(in: 0...4, using: &random)).map {
          JSONValue.Member(
            "\($0)" + string(count: 0...30, &random), value(depth: depth + 1, &random))
        })
    }
  }

  /// Mostly plain; sometimes with characters that need escaping or are not ASCII.
  private static func string(
    count: ClosedRange<Int>, _ random: inout SeededGenerator
  ) -> String {
    let isPlain = Int.random(in: 0..<10, using: &random) > 0
    let letters = isPlain ? "abcXYZ012 .-_:,[]{}" : "ab\"\\\n\u{FFFC}ü{}"
    return String(
      (0..<Int.random(in: count, using: &random)).compactMap { _ in
        letters.randomElement(using: &random)
      })
  }

  private static func spaced(_ text: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var result: [UInt8] = []
    var isInString = false
    var isEscaped = false
    for byte in text {
      let isMark = !isInString && "[]{}:,".utf8.contains(byte)
      func space() {
        guard isMark else { return }
        for _ in 0..<Int.random(in: 0...3, using: &random) {
          result.append(" \n\t\r".utf8.randomElement(using: &random) ?? 32)
        }
      }
      space()
      result.append(byte)
      space()
      if isEscaped {
        isEscaped = false
      } else if isInString, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isInString.toggle()
      }
    }
    return result
  }
}
