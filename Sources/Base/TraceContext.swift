/// The trace of a request or a job, as in `traceparent` (https://www.w3.org/TR/trace-context/). Log lines have its id.
package struct TraceContext: Equatable, Sendable {
  /// 32 hexadecimal digits.
  package let id: String
  /// Whether the trace's originator wants its parts recorded.
  package let isSampled: Bool

  /// The trace of the current work. Requests to other servers carry it on.
  @TaskLocal package static var current: TraceContext?

  private static let byteCount = 55

  /// Nil unless the text is a `traceparent` of version 00, or of a later version that begins the same way.
  package init?(_ traceparent: String) {
    let bytes = Array(traceparent.utf8)
    let dash = UInt8(ascii: "-")
    guard bytes.count >= Self.byteCount, [2, 35, 52].allSatisfy({ bytes[$0] == dash }),
      let version = Self.digits(bytes[0..<2]), version != "ff",
      let id = Self.digits(bytes[3..<35]), id.contains(where: { $0 != "0" }),
      let parent = Self.digits(bytes[36..<52]), parent.contains(where: { $0 != "0" }),
      let flags = Self.digits(bytes[53..<55]).flatMap({ UInt8($0, radix: 16) }),
      bytes.count == Self.byteCount || version != "00" && bytes[Self.byteCount] == dash
    else { return nil }
    self.id = id
    isSampled = flags & 1 == 1
  }

  private init(id: String, isSampled: Bool) {
    self.id = id
    self.isSampled = isSampled
  }

  /// Begins a new trace.
  package static func begin() -> TraceContext {
    TraceContext(id: number() + number(), isSampled: true)
  }

  /// The header field for a request made as a part of this trace, with a new number for that part.
  package var traceparent: String { "00-\(id)-\(Self.number())-\(isSampled ? "01" : "00")" }

  private static func number() -> String {
    let digits = String(UInt64.random(in: 1...UInt64.max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// The digits as text; nil unless all of them are hexadecimal digits, letters in lower case.
  private static func digits(_ bytes: ArraySlice<UInt8>) -> String? {
    let isDigit = { (byte: UInt8) in
      UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
    }
    return bytes.allSatisfy(isDigit) ? String(decoding: bytes, as: UTF8.self) : nil
  }
}
