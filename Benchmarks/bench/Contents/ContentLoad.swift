import Base
import Glibc

/// A kept connection that sends a request of any size and reads an answer of any size, which it drops.
final class ContentConnection {
  private let socket: Socket
  private var buffer = [UInt8](repeating: 0, count: 1 << 18)

  private static let patienceSeconds = 120

  init(port: UInt16) throws(BenchError) {
    socket = try Socket(port: port)
    var wait = timeval(tv_sec: Self.patienceSeconds, tv_usec: 0)
    unsafe setsockopt(
      socket.descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Returns what is known of the answer, and its head as text, for a refusal with the beginning of the body.
  func send(_ request: ContentRequest) throws(BenchError) -> (head: ResponseHead, text: String) {
    try send(request.head[...])
    try send(request.body[...])
    return try receive()
  }

  func send(_ bytes: ArraySlice<UInt8>) throws(BenchError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.send(
          socket.descriptor, bytes.baseAddress, min(bytes.count, 1 << 20), Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw .system("write to the server", errno: errno) }
      rest = rest.dropFirst(count)
    }
  }

  func receive() throws(BenchError) -> (head: ResponseHead, text: String) {
    var (count, head) = (0, ResponseHead?.none)
    while head == nil {
      count += try receive(at: count)
      head = try ResponseHead.parse(buffer, count: count)
    }
    guard let head else { throw .server("no answer") }
    // Content is no text. To repair it as such takes long, and only what came together with the head would be.
    let isContent = (200..<300).contains(head.status)
    let shownCount = min(count, isContent ? head.headByteCount : 4096)
    let text = String(decoding: buffer[..<shownCount], as: UTF8.self)
    var rest = head.byteCount - count
    while rest > 0 { rest -= try receive(at: 0) }
    guard rest == 0 else { throw .server("bytes after an answer") }
    return (head, text)
  }

  private func receive(at offset: Int) throws(BenchError) -> Int {
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      unsafe recv(socket.descriptor, bytes.baseAddress! + offset, bytes.count - offset, 0)
    }
    guard count > 0 else { throw .server("the server closed a connection, or was silent") }
    return count
  }
}

/// Requests of large bodies or with large answers: one thread for each connection, which sends the same again and again.
struct ContentLoad {
  /// A server, and the requests that are sent to it, each on its own connection.
  struct Target {
    let server: ServerProcess
    let requests: [ContentRequest]
  }

  private static let turnCount = 5

  private let milliseconds: Int64
  private let warmUpMilliseconds: Int64

  init(_ options: Options) {
    milliseconds = Int64(options.seconds * 1000) / Int64(Self.turnCount)
    warmUpMilliseconds = Int64(options.warmUpSeconds * 1000) / Int64(Self.turnCount)
  }

  /// Loads both by turns, so that a machine whose speed changes is the same for both.
  func run(
    _ ours: Target, _ theirs: Target?
  ) throws(BenchError) -> (ours: Load.Outcome, theirs: Load.Outcome?) {
    var sums: (ours: Load.Outcome?, theirs: Load.Outcome?)
    for _ in 0..<Self.turnCount {
      let one = try run(ours.requests, to: ours.server)
      sums.ours = sums.ours?.adding(one) ?? one
      guard let theirs else { continue }
      let other = try run(theirs.requests, to: theirs.server)
      sums.theirs = sums.theirs?.adding(other) ?? other
    }
    guard let sum = sums.ours else { throw .server("nothing was sent") }
    return (sum, sums.theirs)
  }

  private func run(_ requests: [ContentRequest], to server: ServerProcess) throws(BenchError)
    -> Load.Outcome
  {
    let from = MonotonicTime.now() + .milliseconds(warmUpMilliseconds)
    let until = from + .milliseconds(milliseconds)
    let times = Locked<[UInt32]>([])
    let failure = Locked<BenchError?>(nil)
    let port = server.port
    let threads = requests.map { request in
      Thread {
        do throws(BenchError) {
          let own = try Self.times(of: request, to: port, from, until)
          times.withLock { $0 += own }
        } catch {
          failure.withLock { $0 = error }
        }
      }
    }
    while MonotonicTime.now() < from { usleep(2000) }
    let before = server.processorSeconds()
    while MonotonicTime.now() < until { usleep(2000) }
    let processorSeconds = server.processorSeconds() - before
    for thread in threads { thread.join() }
    if let failure = failure.withLock({ $0 }) { throw failure }
    let timed = times.withLock { $0 }.sorted()
    var outcome = Load.Outcome(
      timedCount: timed.count, timedSeconds: Double(milliseconds) / 1000, nanoseconds: timed,
      serverSeconds: processorSeconds, generatorSeconds: 0, ranOut: false, next: 0)
    outcome.succeeded = timed.count
    return outcome
  }

  /// The times of the answers that ended in the timed part.
  private static func times(
    of request: ContentRequest, to port: UInt16, _ from: MonotonicTime, _ until: MonotonicTime
  ) throws(BenchError) -> [UInt32] {
    let connection = try ContentConnection(port: port)
    var times: [UInt32] = []
    var now = MonotonicTime.now()
    while now < until {
      let start = now
      let (head, text) = try connection.send(request)
      guard (200..<300).contains(head.status) else { throw .server("refused:\n\(text)") }
      now = .now()
      if from <= now, now < until {
        times.append(UInt32(clamping: now.nanoseconds - start.nanoseconds))
      }
    }
    return times
  }

  /// Sends each request once, all at the same time. Returns the seconds until the last answer.
  static func together(
    _ requests: [ContentRequest], to server: ServerProcess, connections: Int? = nil
  ) throws(BenchError) -> Double {
    let next = Locked(0)
    let failure = Locked<BenchError?>(nil)
    let port = server.port
    let start = MonotonicTime.now()
    let threads = (0..<(connections ?? requests.count)).map { _ in
      Thread {
        do throws(BenchError) {
          let connection = try ContentConnection(port: port)
          while true {
            let index = next.withLock { index in
              defer { index += 1 }
              return index
            }
            guard index < requests.count else { return }
            let (head, text) = try connection.send(requests[index])
            guard (200..<300).contains(head.status) else { throw .server("refused:\n\(text)") }
          }
        } catch {
          failure.withLock { $0 = error }
        }
      }
    }
    for thread in threads { thread.join() }
    if let failure = failure.withLock({ $0 }) { throw failure }
    return MonotonicTime.now().seconds(since: start)
  }
}
