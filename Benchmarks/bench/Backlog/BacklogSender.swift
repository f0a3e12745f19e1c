import Base
import Glibc

/// Sends every request until it is accepted, as stores do.
///
/// Closed loop over the connections, so the answers' times grow with their number. A refused request waits for the time
/// that the answer names, or for one second.
struct BacklogSender {
  private static let attemptCountMax = 20
  private static let patienceMilliseconds: Int32 = 30_000

  let port: UInt16
  let requests: Requests
  let connectionCount: Int

  struct Outcome {
    var taken = 0
    /// Answers other than 2xx, by status.
    var refused: [Int: Int] = [:]
    /// Requests that were refused at every attempt.
    var lost = 0
    var firstRefusal: String?
    var nanoseconds: [UInt64] = []
  }

  private struct Attempt {
    let index: Int
    var number = 1
    var sent = MonotonicTime.now()
  }

  func run() throws(BenchError) -> Outcome {
    var outcome = Outcome()
    outcome.nanoseconds.reserveCapacity(requests.count)
    var sockets: [Socket] = []
    for _ in 0..<min(connectionCount, requests.count) { sockets.append(try Socket(port: port)) }
    var waits = sockets.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    var attempts = [Attempt?](repeating: nil, count: sockets.count)
    var refused: [(due: MonotonicTime, attempt: Attempt)] = []
    var next = 0
    while true {
      for place in sockets.indices where attempts[place] == nil {
        guard var attempt = Self.due(&refused) ?? fresh(&next) else { break }
        attempt.sent = .now()
        try sockets[place].send(requests, attempt.index)
        attempts[place] = attempt
      }
      let isBusy = attempts.contains { $0 != nil }
      if !isBusy, refused.isEmpty { break }
      let patience = refused.isEmpty ? Self.patienceMilliseconds : 50
      let count = unsafe poll(&waits, nfds_t(waits.count), patience)
      guard count > 0 || !refused.isEmpty || errno == EINTR else {
        throw .server("no answer to a delivery for 30 seconds")
      }
      for place in sockets.indices where waits[place].revents != 0 {
        guard let status = try sockets[place].receive(), let attempt = attempts[place] else {
          continue
        }
        attempts[place] = nil
        outcome.nanoseconds.append(MonotonicTime.now().nanoseconds - attempt.sent.nanoseconds)
        if 200...299 ~= status {
          outcome.taken += 1
        } else {
          Self.refuse(attempt, status, sockets[place], &refused, &outcome)
        }
      }
    }
    return outcome
  }

  private func fresh(_ next: inout Int) -> Attempt? {
    guard next < requests.count else { return nil }
    defer { next += 1 }
    return Attempt(index: next)
  }

  private static func due(_ refused: inout [(due: MonotonicTime, attempt: Attempt)]) -> Attempt? {
    guard let place = refused.firstIndex(where: { $0.due <= .now() }) else { return nil }
    var attempt = refused.remove(at: place).attempt
    attempt.number += 1
    return attempt
  }

  private static func refuse(
    _ attempt: Attempt, _ status: Int, _ socket: Socket,
    _ refused: inout [(due: MonotonicTime, attempt: Attempt)], _ outcome: inout Outcome
  ) {
    outcome.refused[status, default: 0] += 1
    if outcome.firstRefusal == nil { outcome.firstRefusal = socket.lastAnswer }
    guard attempt.number < attemptCountMax else {
      outcome.lost += 1
      return
    }
    refused.append((.now() + .seconds(retryAfter(socket.lastAnswer)), attempt))
  }

  private static func retryAfter(_ answer: String) -> Int64 {
    let name = "retry-after:"
    let line = answer.lowercased().split(separator: "\r\n").first { $0.hasPrefix(name) }
    return line.flatMap { Int64($0.dropFirst(name.count).filter(\.isNumber)) } ?? 1
  }
}
