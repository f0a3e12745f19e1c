import Base
import Crypto
import Glibc

/// Clients that each write once a second until stopped, whatever the result of the write before.
///
/// The time of a write that had to wait for the one before it includes the wait.
final class BacklogClients: Sendable {
  private static let contentByteCount = 4096
  private static let period: UInt64 = 1_000_000_000

  struct Write {
    /// When it was sent, or should have been.
    let begin: UInt64
    let nanoseconds: UInt64
    let status: Int
  }

  private struct Tally: Sendable {
    var writes: [Write] = []
    var failure: BenchError?
  }

  private let isStopped = Locked(false)
  private let tally = Locked(Tally())
  private let thread: Locked<Thread?>

  init(_ clients: SyncClients, count: Int, port: UInt16) {
    thread = Locked(nil)
    let thread = Thread { [isStopped, tally] in
      do throws(BenchError) {
        let writes = try Self.run(clients, count, port) { isStopped.withLock { $0 } }
        tally.withLock { $0.writes = writes }
      } catch {
        tally.withLock { $0.failure = error }
      }
    }
    self.thread.withLock { $0 = thread }
  }

  func stop() throws(BenchError) -> [Write] {
    isStopped.withLock { $0 = true }
    thread.withLock { $0 }?.join()
    let tally = tally.withLock { $0 }
    if let failure = tally.failure { throw failure }
    return tally.writes
  }

  private static func run(
    _ clients: SyncClients, _ count: Int, _ port: UInt16, isStopped: () -> Bool
  ) throws(BenchError) -> [Write] {
    var writes: [Write] = []
    var sockets: [Socket] = []
    for _ in 0..<count { sockets.append(try Socket(port: port)) }
    var waits = sockets.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    let start = MonotonicTime.now().nanoseconds
    // Spread evenly over a second.
    var due = (0..<count).map { start + period * UInt64($0) / UInt64(count) }
    var turns = [Int](repeating: 0, count: count)
    var underWay = [UInt64?](repeating: nil, count: count)
    var freeSince = [UInt64](repeating: start, count: count)
    while true {
      let isOver = isStopped()
      if isOver, underWay.allSatisfy({ $0 == nil }) { return writes }
      let now = MonotonicTime.now().nanoseconds
      for place in 0..<count where !isOver && underWay[place] == nil && due[place] <= now {
        let request = clients.write(
          Random.bytes(contentByteCount), by: place, turn: turns[place], now: .now)
        turns[place] += 1
        underWay[place] = freeSince[place] <= due[place] ? now : due[place]
        due[place] += period
        try sockets[place].send(request, 0)
      }
      let next = due.indices.filter { underWay[$0] == nil }.map { due[$0] }.min() ?? .max
      let wait = next > now ? min(10, (next - now + 999_999) / 1_000_000) : 0
      guard unsafe poll(&waits, nfds_t(waits.count), Int32(wait)) > 0 else { continue }
      for place in sockets.indices where waits[place].revents != 0 {
        guard let status = try sockets[place].receive(), let begin = underWay[place] else {
          continue
        }
        let end = MonotonicTime.now().nanoseconds
        underWay[place] = nil
        freeSince[place] = end
        writes.append(Write(begin: begin, nanoseconds: end - begin, status: status))
      }
    }
  }
}
