import Base
import Glibc

/// Sends one attack's requests as fast as a few connections allow, until stopped.
///
/// They come from behind a proxy, as one stranger's address, because this machine's own addresses have no
/// limits.
final class Attacker: Sendable {
  static let connectionCount = 4
  private static let address: UInt32 = 0x7F00_0002
  /// The proxy whose client addresses the server believes.
  static let proxy = "127.0.0.2"
  private static let client = "198.51.100.7"
  private static let niceness: Int32 = 19
  private static let pauseMicroseconds: UInt32 = 1000

  struct Outcome: Sendable {
    var answered: [Int: Int] = [:]
    var seconds = 0.0
    var firstRefusal: String?

    var count: Int { answered.values.reduce(0, +) }

    var text: String {
      let parts = answered.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
      let answers = parts.isEmpty ? "no answer" : parts.joined(separator: ", ")
      return "\(Int(Double(count) / max(1, seconds))) requests a second: \(answers)"
        + (firstRefusal.map { "; first refusal \($0)" } ?? "")
    }
  }

  private let start = MonotonicTime.now()
  private let isStopped = Locked(false)
  private let outcome = Locked(Outcome())
  private let threads = Locked<[Thread]>([])

  init(_ attack: WorstAttack, port: UInt16) {
    let threads = (0..<Self.connectionCount).map { index in
      Thread { [isStopped, outcome] in
        // Its own work would be on another machine. Here it uses only the time that the server leaves.
        setpriority(Int32(PRIO_PROCESS.rawValue), 0, Self.niceness)
        var socket: Socket?
        var held: [Socket] = []
        var next = index
        while !isStopped.withLock({ $0 }) {
          do throws(BenchError) {
            if socket == nil {
              socket = try Socket(port: port, from: Self.address, answerByteCountMax: 4 << 20)
            }
            guard let open = socket else { continue }
            try open.send(attack.request(next).forwarded(for: Self.client), 0)
            next += Self.connectionCount
            if attack.hangs {
              held.append(open)
              socket = nil
              continue
            }
            var status = try open.receive()
            while status == nil { status = try open.receive() }
            outcome.withLock { outcome in
              outcome.answered[status ?? 0, default: 0] += 1
              if status ?? 0 >= 400, outcome.firstRefusal == nil {
                outcome.firstRefusal = Self.code(open.lastAnswer)
              }
            }
          } catch {
            // A refusal may close the connection; the attack continues over another.
            socket = nil
            usleep(Self.pauseMicroseconds)
          }
        }
        withExtendedLifetime(held) {}
      }
    }
    self.threads.withLock { $0 = threads }
  }

  func stop() -> Outcome {
    isStopped.withLock { $0 = true }
    for thread in threads.withLock({ $0 }) { thread.join() }
    var outcome = outcome.withLock { $0 }
    outcome.seconds = MonotonicTime.now().seconds(since: start)
    return outcome
  }

  /// The problem's code in an answer.
  private static func code(_ answer: String) -> String? {
    guard let start = answer.firstRange(of: "urn:coffer:problem:") else { return nil }
    return String(answer[start.upperBound...].prefix { $0 != "\"" })
  }
}
