import HTTPSignatures
import SeededRandom
import Testing

@Suite struct StructuredFieldTests {
  private func item(_ text: String) throws(StructuredFieldError) -> StructuredField.BareItem {
    try StructuredFieldParser.item(Array(text.utf8)).value
  }

  private func serializedDictionary(_ text: String) throws -> String {
    let entries = try StructuredFieldParser.dictionary(Array(text.utf8))
    return String(decoding: StructuredField.serialize(dictionary: entries), as: UTF8.self)
  }

  @Test(
    arguments: [
      ("42", .integer(42)), ("-7", .integer(-7)), ("0", .integer(0)), ("007", .integer(7)),
      ("999999999999999", .integer(999_999_999_999_999)),
      ("-999999999999999", .integer(-999_999_999_999_999)), ("4.5", .decimal(thousandths: 4500)),
      ("-0.125", .decimal(thousandths: -125)),
      ("123456789012.1", .decimal(thousandths: 123_456_789_012_100)),
      ("\"a \\\"q\\\" \\\\\"", .string("a \"q\" \\")), ("\"\"", .string("")),
      ("tok", .token("tok")),
      ("*a/b:c", .token("*a/b:c")), (":aGVsbG8=:", .bytes(Array("hello".utf8))), ("::", .bytes([])),
      ("?1", .boolean(true)), ("?0", .boolean(false)), ("  1  ", .integer(1)),
    ] as [(String, StructuredField.BareItem)])
  func `a bare item is read`(text: String, value: StructuredField.BareItem) throws {
    #expect(try item(text) == value)
  }

  @Test(arguments: [
    "", "-", "--1", "1000000000000000", "1.", ".5", "1.2345", "1234567890123.1", "1e5", "\"a",
    "\"a\\n\"", "\"\u{7F}\"", "\"é\"", "?2", "?", ":a:", ":aGVsbG8:", ":aGVsbG8=", "1 2", "a,b",
    "@1", "\t1", "'a'", "a b",
  ])
  func `what is no item is refused`(text: String) {
    #expect(throws: StructuredFieldError.self) { try item(text) }
  }

  @Test(arguments: [
    ("a=1,b=2", "a=1, b=2"), ("a , b;x", "a, b;x"), ("a=?1;x=1", "a;x=1"), ("a=?0", "a=?0"),
    ("a=(1 \"x\";y  tok)\t,\tb=:AAAA:", "a=(1 \"x\";y tok), b=:AAAA:"), ("a=()", "a=()"),
    ("a=1.500;b=0.0", "a=1.5;b=0.0"), ("", ""), ("*k_-.9=1", "*k_-.9=1"), ("a=-0.5", "a=-0.5"),
    ("a;  x=1;y", "a;x=1;y"),
  ])
  func `a dictionary has one spelling`(text: String, canonical: String) throws {
    #expect(try serializedDictionary(text) == canonical)
    #expect(try serializedDictionary(canonical) == canonical)
  }

  @Test(arguments: [
    "a=1,", "a=1,,b=2", ",a=1", "a=1 b=2", "A=1", "1=1", "a==1", "a=(1", "a=(1,2)", "a=1;X=2",
    "a=1;", "a=1;x=", "a=1, a=2", "a;x;x", "a=((1))", "a=(1\t2)",
  ])
  func `what is no dictionary is refused`(text: String) {
    #expect(throws: StructuredFieldError.self) { try serializedDictionary(text) }
  }

  @Test func `a field longer than the limit is refused`() {
    let text = "a=\"" + String(repeating: "x", count: StructuredFieldParser.byteCountMax) + "\""
    #expect(throws: StructuredFieldError.self) { try serializedDictionary(text) }
  }

  @Test func `more members than the limit are refused`() throws {
    let fits = (0..<64).map { "a\($0)" }.joined(separator: ",")
    _ = try serializedDictionary(fits)
    #expect(throws: StructuredFieldError.self) { try serializedDictionary(fits + ",b") }
  }

  @Test func `an error tells its place`() {
    #expect {
      try serializedDictionary("a=1,b=?2")
    } throws: { error in
      (error as? StructuredFieldError)?.byteOffset == 7
    }
  }

  @Test(arguments: 1...20)
  func `random bytes never trap, and what is read is written back`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let alphabet = Array("ab1.-\"\\:?=;,() \t*/_%\u{7F}é0".utf8)
    for _ in 0..<500 {
      let text = (0..<Int.random(in: 0...30, using: &random))
        .map { _ in alphabet.randomElement(using: &random)! }
      if let entries = try? StructuredFieldParser.dictionary(text) {
        let canonical = StructuredField.serialize(dictionary: entries)
        #expect(try StructuredFieldParser.dictionary(canonical) == entries, "seed \(seed)")
      }
      _ = try? StructuredFieldParser.list(text)
      _ = try? StructuredFieldParser.item(text)
    }
  }
}
