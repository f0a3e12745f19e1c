import HTTPMessages
import Testing

@Suite struct ByteRangeTests {
  private static let tag = EntityTag(version: 3)

  private static func range(
    _ fields: [(String, String)], of byteCount: Int64, method: String = "GET"
  ) -> ByteRange {
    let head = RequestHead(
      method: method, target: "/", headers: Headers(fields), authority: "a")
    return ByteRange(head, byteCount: byteCount, tag: tag)
  }

  @Test(arguments: [
    ("bytes=0-0", ByteRange.part(0..<1)), ("bytes=0-", .part(0..<10)), ("bytes=9-", .part(9..<10)),
    ("bytes=2-4", .part(2..<5)), ("bytes=2-9", .part(2..<10)), ("bytes=2-10", .part(2..<10)),
    ("BYTES=2-4", .part(2..<5)), ("bytes=-1", .part(9..<10)), ("bytes=-10", .part(0..<10)),
    ("bytes=-11", .part(0..<10)), ("bytes=0-99999999999999999999", .part(0..<10)),
    ("bytes=10-", .unsatisfiable), ("bytes=10-20", .unsatisfiable), ("bytes=-0", .unsatisfiable),
    ("bytes=99999999999999999999-", .unsatisfiable), ("bytes=4-2", .whole),
    ("bytes=0-1,3-4", .whole), ("bytes=0-1, 3-4", .whole), ("bytes=", .whole), ("bytes=-", .whole),
    ("bytes", .whole), ("bytes 0-1", .whole), ("items=0-1", .whole), ("bytes=a-b", .whole),
    ("bytes=0-b", .whole), ("bytes=+1-2", .whole), ("bytes=1", .whole), ("bytes=1-2-3", .whole),
    ("bytes= 1-2", .whole), ("", .whole),
  ])
  func `a range over ten bytes`(_ text: String, _ expected: ByteRange) {
    #expect(Self.range([("Range", text)], of: 10) == expected)
  }

  @Test(arguments: ["bytes=0-", "bytes=0-0", "bytes=-1", "bytes=-0"])
  func `nothing of an empty content can be had in part`(_ text: String) {
    #expect(Self.range([("Range", text)], of: 0) == .unsatisfiable)
  }

  @Test func `two Range fields are two ranges`() {
    #expect(Self.range([("Range", "bytes=0-1"), ("Range", "bytes=3-4")], of: 10) == .whole)
  }

  @Test func `only GET has ranges`() {
    #expect(Self.range([("Range", "bytes=0-1")], of: 10, method: "HEAD") == .whole)
  }

  @Test(arguments: [
    ("\"3\"", true), ("\"4\"", false), ("W/\"3\"", false), ("Fri, 20 Nov 2026 00:00:00 GMT", false),
    ("3", false), ("", false),
  ])
  func `If-Range lets the range stand only for the same content`(_ text: String, _ stands: Bool) {
    let range = Self.range([("Range", "bytes=0-1"), ("If-Range", text)], of: 10)
    #expect(range == (stands ? .part(0..<2) : .whole))
  }

  @Test func `every range of every small content is the slice that it names`() throws {
    for count in 0...6 as ClosedRange<Int64> {
      for first in 0...7 as ClosedRange<Int64> {
        for last in first...8 {
          let range = Self.range([("Range", "bytes=\(first)-\(last)")], of: count)
          let bytes = (0..<count).filter { (first...last).contains($0) }
          let expected = bytes.first.map { ByteRange.part($0..<$0 + Int64(bytes.count)) }
          #expect(range == expected ?? .unsatisfiable)
        }
      }
    }
  }

  @Test func `content of bytes is cut like a file's`() throws {
    let head = RequestHead(
      method: "GET", target: "/", headers: Headers([("Range", "bytes=1-2")]), authority: "a")
    let response = try Response.content(.bytes([5, 6, 7, 8]), tag: Self.tag, for: head)
    guard case .bytes(let bytes) = response.body else {
      Issue.record("not bytes")
      return
    }
    #expect(bytes == [6, 7])
    #expect(response.status == 206)
    #expect(response.headers.contains { $0 == ("Content-Range", "bytes 1-2/4") })
    #expect(response.headers.contains { $0 == ("ETag", "\"3\"") })
  }
}
