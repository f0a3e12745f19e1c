import JSON
import Testing

@Suite struct ParseTests {
  private func parse(_ text: String) throws(JSONError) -> JSON {
    try JSON.parse(Array(text.utf8))
  }

  private func refusal(_ bytes: [UInt8], limits: JSONLimits = .standard) -> JSONError.Code? {
    do {
      _ = try JSON.parse(bytes, limits: limits)
      return nil
    } catch { return error.code }
  }

  private func refusal(_ text: String) -> JSONError.Code? { refusal(Array(text.utf8)) }

  @Test func `a name that stands twice in an object is refused`() {
    #expect(refusal(#"{"a": {"id": 1, "id": 1}}"#) == .duplicateName)
  }

  @Test func `a name that stands twice in different spelling is refused`() {
    #expect(refusal(#"{"id": 1, "\u0069d": 2}"#) == .duplicateName)
  }

  @Test func `sixty-four levels are read and sixty-five are refused`() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(refusal(nested(64)) == nil)
    #expect(refusal(nested(65)) == .tooDeep)
  }

  @Test(arguments: ["[", #"{"a":"#])
  func `ten thousand levels are refused`(open: String) {
    #expect(refusal(String(repeating: open, count: 10_000)) == .tooDeep)
  }

  @Test func `brackets inside a string are no levels`() {
    #expect(refusal("\"" + String(repeating: "[", count: 500) + #"\"[""#) == nil)
  }

  @Test func `the extreme 64-bit integers are exact`() throws {
    let json = try parse("[9223372036854775807, -9223372036854775808]")
    #expect(json[0].integer == .max)
    #expect(json[1].integer == .min)
  }

  @Test(arguments: [
    "9223372036854775808", "-9223372036854775809", "[1e400]", "-1e999",
    "123456789012345678901234567890",
  ])
  func `a number out of range is refused`(text: String) {
    #expect(refusal(text) == .numberRange)
  }

  @Test(arguments: ["1.0", "1e3", "0.5", "-0.0"])
  func `a real is no integer`(text: String) throws {
    let json = try parse(text)
    #expect(json.integer == nil)
  }

  @Test(arguments: [
    [0x80], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82],
  ])
  func `bytes that are no UTF-8 are refused`(bytes: [UInt8]) {
    #expect(refusal([0x22] + bytes + [0x22]) == .invalidUTF8)
  }

  @Test(arguments: [#""a\u0000b""#, #"{"a\u0000": 1}"#])
  func `an escaped null character is refused`(text: String) {
    #expect(refusal(text) == .nullCharacter)
  }

  @Test(arguments: ["\"a\u{0}b\"", "1\u{0}", "\u{0}", "\"a\\\u{0}\""])
  func `a raw null byte is refused`(text: String) {
    #expect(refusal(text) != nil)
  }

  @Test(arguments: ["", " ", "\n\t"])
  func `an empty text is refused`(text: String) {
    #expect(refusal(text) == .syntax)
  }

  @Test(arguments: ["{} x", "{}{}", "1,", "[1]]", "null null"])
  func `something after the end is refused`(text: String) {
    #expect(refusal(text) == .syntax)
  }

  @Test(arguments: [
    "{", "[1,]", "{\"a\":}", "{a:1}", "'a'", "01", "+1", ".5", "1.", "0x10", "NaN", "Infinity",
    "tru", "\"\\x41\"", "\"\\ud800\"", "\"\t\"", "\u{FEFF}{}", "// c\n1",
  ])
  func `what the grammar does not know is refused`(text: String) {
    #expect(refusal(text) == .syntax)
  }

  @Test func `a text over the size limit is refused`() {
    let limits = JSONLimits(byteCountMax: 10)
    #expect(refusal(Array("12345678901".utf8), limits: limits) == .tooLarge)
    #expect(refusal(Array("1234567890".utf8), limits: limits) == nil)
  }

  @Test func `more values than the limit are refused`() {
    let limits = JSONLimits(valueCountMax: 3)
    #expect(refusal(Array("[1,2]".utf8), limits: limits) == nil)
    #expect(refusal(Array("[1,2,3]".utf8), limits: limits) == .tooLarge)
  }

  @Test(arguments: [
    #"{"card": "4242 4242", x}"#, #"{"mail@example.org": 1, "mail@example.org": 2}"#,
  ])
  func `a refusal quotes nothing of the text`(text: String) {
    #expect {
      try parse(text)
    } throws: { error in
      !"\(error)".contains("4242") && !"\(error)".contains("mail")
    }
  }

  @Test func `every prefix of a document is refused`() {
    let bytes = Array(#"{"a": [1, -2.5e3, true, null, "xé\n"], "b": {"c": {}}}"#.utf8)
    #expect(refusal(bytes) == nil)
    for count in 0..<bytes.count {
      #expect(refusal(Array(bytes[..<count])) != nil, "\(count) bytes")
    }
  }
}
