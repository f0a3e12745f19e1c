import Base
import Glibc

/// Sends forged deliveries as fast as a few connections allow, until stopped.
final class Flood: Sendable {
  /// The number of different forgeries, which are sent again and again.
  static let requestCount = 512
  private static let threadCount = 8

  struct Outcome: Sendable {
    var answered: [Int: Int] = [:]
    var seconds = 0.0

    var description: String {
      let total = answered.values.reduce(0, +)
      let parts = answered.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
      return "\(Int(Double(total) / max(1, seconds))) forged deliveries a second from one address "
        + "over \(threadCount) connections: " + parts.joined(separator: ", ")
    }
  }

  private let start = MonotonicTime.now()
  private let isStopped = Locked(false)
  private let tallies = Locked<[Int: Int]>([:])
  private let threads: Locked<[Thread]>

  init(_ requests: Requests, port: UInt16) {
    threads = Locked([])
    let threads = (0..<Self.threadCount).map { index in
      Thread { [isStopped, tallies] in
        var connection: Socket?
        var next = index
        while !isStopped.withLock({ $0 }) {
          do throws(BenchError) {
            if connection == nil { connection = try Socket(port: port) }
            guard let socket = connection else { continue }
            try socket.send(requests, next % requests.count)
            next += Self.threadCount
            var status = try socket.receive()
            while status == nil { status = try socket.receive() }
            tallies.withLock { $0[status ?? 0, default: 0] += 1 }
          } catch {
            // A refusal may close the connection; the flood continues over another.
            connection = nil
          }
        }
      }
    }
    self.threads.withLock { $0 = threads }
  }

  func stop() -> Outcome {
    isStopped.withLock { $0 = true }
    for thread in threads.withLock({ $0 }) { thread.join() }
    return Outcome(
      answered: tallies.withLock { $0 }, seconds: MonotonicTime.now().seconds(since: start))
  }
}
