import Base
import Glibc
import JSON

/// One kept connection with one request at a time, each timed from its first byte to the answer's last.
final class TreeClient {
  /// Enough for a page of a thousand records.
  private static let answerByteCountMax = 4 << 20
  private static let patienceSeconds = 60

  private let socket: Socket

  init(port: UInt16) throws(BenchError) {
    socket = try Socket(port: port, answerByteCountMax: Self.answerByteCountMax)
    var wait = timeval(tv_sec: Self.patienceSeconds, tv_usec: 0)
    unsafe setsockopt(
      socket.descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
  }

  struct Answer {
    let status: Int
    let nanoseconds: UInt64
    let head: String
    let body: [UInt8]

    func json() throws(BenchError) -> JSON {
      do throws(JSONError) {
        return try JSON.parse(body, limits: JSONLimits(byteCountMax: answerByteCountMax))
      } catch {
        throw .server("an answer is no JSON: \(error)")
      }
    }

    /// The text member `name`; nil if there is none.
    func text(_ name: String) -> String? { (try? json())?[name].string }
  }

  /// Sends the only request of `requests`.
  func send(_ requests: Requests) throws(BenchError) -> Answer {
    let start = MonotonicTime.now()
    try socket.send(requests, 0)
    var status = try socket.receive()
    while status == nil { status = try socket.receive() }
    let nanoseconds = MonotonicTime.now().nanoseconds - start.nanoseconds
    let (head, body) = socket.lastParts
    return Answer(
      status: status ?? 0, nanoseconds: nanoseconds, head: String(decoding: head, as: UTF8.self),
      body: Array(body))
  }

  /// Sends a request that must succeed. Returns the time that it took.
  @discardableResult
  func perform(_ requests: Requests) throws(BenchError) -> UInt64 {
    let answer = try send(requests)
    guard answer.status == 200 else {
      throw .server("refused:\n\(answer.head)\(String(decoding: answer.body, as: UTF8.self))")
    }
    return answer.nanoseconds
  }

  struct Page {
    let changeCount: Int
    let cursor: String
    let hasMore: Bool
    let nanoseconds: UInt64
  }

  func pull(_ account: TreeAccount, since cursor: String?, limit: Int) throws(BenchError) -> Page {
    let answer = try send(account.updates(since: cursor, limit: limit))
    let json = try answer.json()
    guard answer.status == 200, let next = json["cursor"].string,
      let count = json["changes"].array?.count, let hasMore = json["more"].bool
    else { throw .server("no updates:\n\(answer.head)") }
    return Page(
      changeCount: count, cursor: next, hasMore: hasMore, nanoseconds: answer.nanoseconds)
  }
}
