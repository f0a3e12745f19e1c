import HTTPMessages
import Testing

@Suite struct ByteRangeTests {
  private let tag = EntityTag(version: 3)

  private func range(
    _ field: String?, byteCount: Int64 = 1000, ifRange: String? = nil
  ) -> ByteRange {
    let fields = [("Range", field), ("If-Range", ifRange)].compactMap { name, value in
      value.map { (name, $0) }
    }
    let head = RequestHead(
      method: "GET", target: "/", headers: Headers(fields), authority: "test")
    return ByteRange(head, byteCount: byteCount, tag: tag)
  }

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
    #expect(range(field) == expected)
  }

  @Test func `nothing of an empty content can be asked for`() {
    #expect(range("bytes=0-", byteCount: 0) == .unsatisfiable)
    #expect(range("bytes=-1", byteCount: 0) == .unsatisfiable)
    #expect(range(nil, byteCount: 0) == .whole)
  }

  @Test func `a range meant for another version gets the whole`() {
    #expect(range("bytes=0-9", ifRange: "\"3\"") == .part(0..<10))
    #expect(range("bytes=0-9", ifRange: "\"2\"") == .whole)
    #expect(range("bytes=0-9", ifRange: "W/\"3\"") == .whole)
  }
}
