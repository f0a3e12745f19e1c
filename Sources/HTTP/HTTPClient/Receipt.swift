import HTTPMessages

/// The part of a reply that has arrived.
final class Receipt {
  private static let headerByteCountMax = 64 * 1024

  private(set) var headers = Headers()
  private(set) var body: [UInt8] = []
  private(set) var isTooLarge = false
  private(set) var isEnded = false
  private let bodyByteCountMax: Int
  private let takeEvents: (([UInt8]) -> Bool)?
  private var headerByteCount = 0

  init(bodyByteCountMax: Int, takeEvents: (([UInt8]) -> Bool)?) {
    self.bodyByteCountMax = bodyByteCountMax
    self.takeEvents = takeEvents
  }

  /// Whether the body may be events, which have no end that a timeout could be for.
  var mayBeEvents: Bool { takeEvents != nil }

  /// Takes one line, including status lines; false ends the transfer.
  func takeHeaderLine(_ line: [UInt8]) -> Bool {
    headerByteCount += line.count
    isTooLarge = headerByteCount > Self.headerByteCountMax
    // A status line restarts the section: the lines before it belonged to a 1xx reply.
    if line.starts(with: "HTTP/".utf8) { headers = Headers() }
    if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
      let value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
      let end = value.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? value.startIndex
      headers.append(
        String(decoding: line[..<colon], as: UTF8.self), Array(value[value.startIndex..<end]))
    }
    return !isTooLarge
  }

  func takeBody(_ part: RawSpan) -> Bool {
    if let takeEvents, headers.text("content-type")?.hasPrefix("text/event-stream") == true {
      isEnded = !takeEvents(unsafe part.withUnsafeBytes { unsafe Array($0) })
      return !isEnded
    }
    isTooLarge = body.count + part.byteCount > bodyByteCountMax
    if isTooLarge { return false }
    if body.isEmpty, let count = headers.text("content-length").flatMap({ Int($0) }), count > 0 {
      // Else a large body is copied each time that it outgrows its memory.
      body.reserveCapacity(min(count, bodyByteCountMax))
    }
    unsafe part.withUnsafeBytes { unsafe body.append(contentsOf: $0) }
    return true
  }
}
