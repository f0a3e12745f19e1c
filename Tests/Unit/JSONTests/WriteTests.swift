import Base
import JSON
import SeededRandom
import Testing

@Suite struct WriteTests {
  private func text(_ value: JSONValue) -> String {
    String(decoding: value.encoded(), as: UTF8.self)
  }

  @Test func `members are written in the order given`() {
    #expect(
      text(["z": 1, "a": [true, nil, "x"], "m": [:]]) == #"{"z":1,"a":[true,null,"x"],"m":{}}"#)
  }

  @Test func `the extreme integers are exact`() {
    #expect(
      text([.integer(.max), .integer(.min)]) == "[9223372036854775807,-9223372036854775808]")
  }

  @Test func `what would break a text is escaped`() {
    #expect(text("\"\\\n\t\u{0}\u{1F}/é😀") == #""\"\\\n\t\u0000\u001F/é😀""#)
  }

  @Test func `a null character in a name cuts nothing off`() {
    #expect(text(.object([.init("a\u{0}b", 1)])) == #"{"a\u0000b":1}"#)
  }

  @Test func `scalars are texts of their own`() {
    #expect(text(true) == "true")
    #expect(text(nil) == "null")
    #expect(text("") == #""""#)
  }

  @Test(arguments: 1...30)
  func `what was written is read back`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let value = randomValue(&random, depth: 5)
    #expect(JSONValue(try JSON.parse(value.encoded())) == value, "seed \(seed)")
  }

  @Test func `four threads read one document`() throws {
    let numbers = JSONValue.array((0..<200).map { .object([.init("n", .integer($0))]) })
    let json = try JSON.parse(numbers.encoded())
    let sum = Locked<Int64>(0)
    let threads = (0..<4).map { _ in
      Thread {
        for index in 0..<200 { sum.withLock { $0 += json[index]["n"].integer ?? 0 } }
      }
    }
    for thread in threads { thread.join() }
    #expect(sum.withLock { $0 } == 4 * 199 * 100)
  }

  @Test(arguments: 1...30)
  func `an altered document is read or refused, never fatal`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let bytes = randomValue(&random, depth: 4).encoded()
    for _ in 0..<200 {
      var altered = bytes
      altered[altered.indices.randomElement(using: &random)!] = .random(in: 0...255, using: &random)
      if let json = try? JSON.parse(altered) { _ = JSONValue(json) }
    }
  }

  private func randomValue(_ random: inout SeededGenerator, depth: Int) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &random) {
    case 0: return nil
    case 1: return .bool(.random(using: &random))
    case 2: return .integer(.random(in: .min ... .max, using: &random))
    case 3: return .string(randomString(&random))
    case 4:
      return .array(
        (0..<Int.random(in: 0...5, using: &random)).map { _ in
          randomValue(&random, depth: depth - 1)
        })
    default:
      let names = Set(
        (0..<Int.random(in: 0...5, using: &random)).map { _ in randomString(&random) })
      return .object(names.map { .init($0, randomValue(&random, depth: depth - 1)) })
    }
  }

  private func randomString(_ random: inout SeededGenerator) -> String {
    let scalars: [Unicode.Scalar] = ["a", "\"", "\\", "\n", "\u{1}", "é", "\u{2028}", "😀", " "]
    var text = ""
    for _ in 0..<Int.random(in: 0...12, using: &random) {
      text.unicodeScalars.append(scalars.randomElement(using: &random)!)
    }
    return text
  }
}
