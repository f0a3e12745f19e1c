import Accounts
import Base
import SeededRandom
package import Simulation
import Sync
package import TestDevices

/// A server that crashes, behind a network that loses, repeats and delays requests. A seed decides when, without
/// changing the story's own choices.
package final class RoughServer<Sent> {
  private let server: TreeServer
  private let log: SimulationLog
  private var random: SeededGenerator
  /// Of a hundred requests, how many get no answer although they arrive, and how many arrive late.
  private let odds: (lostAnswers: Int, late: Int)
  /// Requests that are still under way, and since when.
  private var late: [(sent: Sent, since: Instant)] = []
  /// Nothing goes wrong.
  package var isCalm = false
  package private(set) var crashCount = 0

  /// No client waits so long for an answer.
  private static var lateSpan: Instant.Span { .minutes(1) }
  private static var sliceCountMax: Int { 10_000 }

  package init(
    _ server: TreeServer, seed: UInt64, _ log: SimulationLog,
    odds: (lostAnswers: Int, late: Int) = (5, 3)
  ) {
    // Not the same numbers as the story's.
    random = SeededGenerator(seed: seed ^ 0x5EED_0FBA_DC0F_FEE5)
    (self.server, self.log, self.odds) = (server, log, odds)
  }

  private func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
  private func note(_ what: String) { log.write(server.now, what) }

  /// Brings a request to the server, or not, as the weather is. Nil if its client gets no answer.
  ///
  /// `deliver` has the server answer the request, and checks the answer.
  package func carry(
    _ sent: Sent, _ name: String, _ deliver: (Sent) throws -> Answer
  ) throws -> Answer? {
    guard !isCalm else { return try deliver(sent) }
    let unanswered = 3 + odds.lostAnswers
    let repeated = unanswered + 3
    let delayed = repeated + odds.late
    switch number(1...100) {
    case ...3:
      note("lost: \(name)")
      return nil
    case ...unanswered:
      _ = try deliver(sent)
      note("the answer is lost")
      return nil
    case ...repeated:
      _ = try deliver(sent)
      return try deliver(sent)
    case ...delayed:
      late.append((sent, server.now))
      return nil
    case delayed + 1:
      try crash()
      return nil
    case delayed + 2:
      _ = try deliver(sent)
      try crash()
      return nil
    default: return try deliver(sent)
    }
  }

  /// Brings a request that is late, unless its client has given up.
  package func bringLate(_ deliver: (Sent) throws -> Answer) throws {
    guard !late.isEmpty else { return }
    let (sent, since) = late.remove(at: number(0...late.count - 1))
    guard server.now - since < Self.lateSpan else { return }
    note("late")
    _ = try deliver(sent)
  }

  /// Brings all that are late.
  package func bringAll(_ deliver: (Sent) throws -> Answer) throws {
    while !late.isEmpty { try bringLate(deliver) }
  }

  package func crash() throws {
    crashCount += 1
    note("crash")
    try server.crash()
    try server.sweeper.settleUploads()
  }

  /// Background work, to its end, and a sweep. A crash may come in between.
  package func work() throws {
    var countdown = number(1...100) <= 20 && !isCalm ? number(1...10) : .max
    var index = 0
    while index < server.upkeep.count {
      let work = server.upkeep[index]
      var count = 0
      while try work.slice() {
        count += 1
        countdown -= 1
        guard count < Self.sliceCountMax else { throw Mismatch("\(work.name) never ends") }
        guard countdown == 0 else { continue }
        try crash()
        break
      }
      // What the crash cut off is done again.
      if countdown == 0 { countdown = .max } else { index += 1 }
    }
    try server.sweeper.sweep()
    note("work is done")
  }
}
