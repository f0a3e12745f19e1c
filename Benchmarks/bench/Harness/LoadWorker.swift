import Base
import Glibc

/// One thread of the generator, which keeps a request under way on each of its connections.
///
/// Closed loop: a connection sends its next request when its answer is complete. So latency is what a client
/// waits, and throughput follows from it.
struct LoadWorker: Sendable {
  let port: UInt16
  let requests: Requests
  let connectionCount: Int
  /// The requests that this worker sends: first, first + step, …
  let first: Int
  let step: Int
  /// Whether it starts over at the end of the requests instead of stopping.
  let repeats: Bool
  let from: MonotonicTime
  let until: MonotonicTime

  struct Tally: Sendable {
    var succeeded = 0
    var refused: [Int: Int] = [:]
    var firstRefusal: String?
    /// The latencies of answers in the timed part.
    var nanoseconds: [UInt32] = []
    var lastTimed: MonotonicTime?
    /// Whether the prepared requests ran out before the time did.
    var ranOut = false
    /// The first request that was not sent.
    var next = 0
    var failure: BenchError?
  }

  func run() -> Tally {
    var tally = Tally()
    tally.nanoseconds.reserveCapacity(repeats ? 1 << 21 : requests.count / step + 1)
    do throws(BenchError) { try run(&tally) } catch { tally.failure = error }
    return tally
  }

  private func run(_ tally: inout Tally) throws(BenchError) {
    var next = first
    defer { tally.next = next }
    var sockets: [Socket] = []
    var waits: [pollfd] = []
    var sentAt = [MonotonicTime](repeating: .now(), count: connectionCount)
    let remaining = max(0, requests.count - first)
    if remaining < step { tally.ranOut = true }
    for index in 0..<min(connectionCount, remaining / step) {
      let socket = try Socket(port: port)
      sockets.append(socket)
      waits.append(pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0))
      sentAt[index] = .now()
      try socket.send(requests, next)
      next += step
    }
    var underWay = sockets.count
    while underWay > 0 {
      let count = unsafe poll(&waits, nfds_t(waits.count), Self.patienceMilliseconds)
      guard count > 0 else {
        if count < 0, errno == EINTR { continue }
        throw .server("no answer to \(underWay) requests for 10 seconds")
      }
      for index in sockets.indices where waits[index].revents != 0 {
        let socket = sockets[index]
        guard let status = try socket.receive() else { continue }
        let now = MonotonicTime.now()
        tally.count(status, socket)
        if from <= now, now < until {
          tally.nanoseconds.append(UInt32(clamping: now.nanoseconds - sentAt[index].nanoseconds))
          tally.lastTimed = now
        }
        if next >= requests.count, repeats { next = first }
        guard now < until, next < requests.count else {
          if now < until { tally.ranOut = true }
          // A negative descriptor is ignored.
          waits[index].fd = -1
          underWay -= 1
          continue
        }
        sentAt[index] = now
        try socket.send(requests, next)
        next += step
      }
    }
  }

  private static let patienceMilliseconds: Int32 = 10_000
}

extension LoadWorker.Tally {
  fileprivate mutating func count(_ status: Int, _ socket: Socket) {
    if 200...299 ~= status {
      succeeded += 1
    } else {
      refused[status, default: 0] += 1
      if firstRefusal == nil { firstRefusal = socket.lastAnswer }
    }
  }
}
