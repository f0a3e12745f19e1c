import HTTPMessages
import Testing

@Suite struct ByteRangeTests {
  @Test(arguments: [
    ("bytes=0-99", ByteRange.part(0..<100)), ("bytes=900-", .part(900..<1000)),
    ("bytes=900-5000", .part(900..<1000)), ("bytes=-1", .part(999..<1000)),
    ("bytes=-5000", .part(0..<1000)), ("bytes=999-999", .part(999..<1000)),
    ("BYTES=1-1", .part(1..<2)), ("bytes=0-99999999999999999999", .part(0..<1000)),
    ("bytes=1000-", .unsatisfiable), ("bytes=-0", .unsatisfiable),
    ("bytes=99999999999999999999-", .unsatisfiable), ("bytes=5-4", .whole), ("bytes=-", .whole),
    ("bytes=0-1,3-4", .whole), ("items=0-1", .whole), ("bytes=a-b", .whole), ("", .whole),
  ])
  func `a range of a thousand bytes is read by the rules`(field: String, expected: ByteRange) {
    #expect(ByteRange(field, byteCount: 1000) == expected)
  }

  @Test func `nothing of an empty content can be asked for`() {
    #expect(ByteRange("bytes=0-", byteCount: 0) == .unsatisfiable)
    #expect(ByteRange("bytes=-1", byteCount: 0) == .unsatisfiable)
    #expect(ByteRange(nil, byteCount: 0) == .whole)
  }
}

@Suite struct EntityTagTests {
  @Test func `a strong comparison needs two strong tags`() {
    let current = EntityTag("3")
    #expect(EntityTag.Condition("\"2\", \"3\"")?.matchesStrongly(current) == true)
    #expect(EntityTag.Condition("W/\"3\"")?.matchesStrongly(current) == false)
    #expect(EntityTag.Condition("*")?.matchesStrongly(current) == true)
  }

  @Test func `a weak comparison looks at the text alone`() {
    #expect(EntityTag.Condition("W/\"3\"")?.matchesWeakly(EntityTag("3")) == true)
    #expect(EntityTag.Condition("\"4\"")?.matchesWeakly(EntityTag("3")) == false)
  }

  @Test(arguments: ["", "3", "\"3", "\"3\" \"4\"", ",\"3\"", "w/\"3\""])
  func `what is no list of tags is no condition`(field: String) {
    #expect(EntityTag.Condition(field) == nil)
  }
}
