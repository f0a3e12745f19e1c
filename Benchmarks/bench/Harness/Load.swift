import Base
import Glibc

/// A load on one server, and its outcome.
struct Load: Sendable {
  let connectionCount: Int
  let threadCount: Int
  let warmUpSeconds: Int
  let milliseconds: Int64

  /// `parts` is the number of loads that together take the configured time.
  init(_ options: Options, parts: Int = 1) {
    connectionCount = options.connectionCount
    threadCount = options.threadCount
    warmUpSeconds = options.warmUpSeconds
    milliseconds = Int64(options.seconds * 1000 / parts)
  }

  struct Outcome: Sendable {
    var succeeded = 0
    var refused: [Int: Int] = [:]
    var firstRefusal: String?
    /// The number of answers in the timed part, and its length.
    let timedCount: Int
    let timedSeconds: Double
    /// Ascending.
    let nanoseconds: [UInt32]
    /// Processor time in the timed part.
    let serverSeconds: Double
    let generatorSeconds: Double
    /// Whether the prepared requests ran out before the time did.
    let ranOut: Bool
    /// The first request that was not sent.
    let next: Int

    var perSecond: Double { timedSeconds > 0 ? Double(timedCount) / timedSeconds : 0 }
    var refusedCount: Int { refused.values.reduce(0, +) }
    var serverMicrosecondsEach: Double { serverSeconds * 1e6 / Double(max(1, timedCount)) }
    var generatorMicrosecondsEach: Double { generatorSeconds * 1e6 / Double(max(1, timedCount)) }

    /// The sum of this outcome and another of the same server.
    func adding(_ other: Outcome) -> Outcome {
      var sum = Outcome(
        timedCount: timedCount + other.timedCount, timedSeconds: timedSeconds + other.timedSeconds,
        nanoseconds: (nanoseconds + other.nanoseconds).sorted(),
        serverSeconds: serverSeconds + other.serverSeconds,
        generatorSeconds: generatorSeconds + other.generatorSeconds,
        ranOut: ranOut || other.ranOut, next: other.next)
      sum.succeeded = succeeded + other.succeeded
      sum.refused = refused.merging(other.refused, uniquingKeysWith: +)
      sum.firstRefusal = firstRefusal ?? other.firstRefusal
      return sum
    }

    /// The latency that `share` of the answers did not exceed.
    func microseconds(share: Double) -> Int {
      guard !nanoseconds.isEmpty else { return 0 }
      let index = min(nanoseconds.count - 1, Int(Double(nanoseconds.count) * share))
      return Int(nanoseconds[index]) / 1000
    }
  }

  /// Sends requests for the configured time, beginning with number `start`, and waits for every answer.
  func run(
    _ requests: Requests, from start: Int = 0, to server: ServerProcess, repeats: Bool
  ) throws(BenchError) -> Outcome {
    let from = MonotonicTime.now() + .seconds(Int64(warmUpSeconds))
    let until = from + .milliseconds(milliseconds)
    let tallies = Locked<[LoadWorker.Tally]>([])
    let threads = (0..<threadCount).map { index in
      let share = connectionCount / threadCount
      let worker = LoadWorker(
        port: server.port, requests: requests,
        connectionCount: index == 0 ? connectionCount - share * (threadCount - 1) : share,
        first: start + index, step: threadCount, repeats: repeats, from: from, until: until)
      return Thread {
        let tally = worker.run()
        tallies.withLock { $0.append(tally) }
      }
    }
    Self.sleep(until: from)
    let serverBefore = server.processorSeconds()
    let generatorBefore = Self.processorSeconds()
    Self.sleep(until: until) { tallies.withLock { $0.count } == threadCount }
    let serverSeconds = server.processorSeconds() - serverBefore
    let generatorSeconds = Self.processorSeconds() - generatorBefore
    for thread in threads { thread.join() }
    return try outcome(
      tallies.withLock { $0 }, from, until, serverSeconds: serverSeconds,
      generatorSeconds: generatorSeconds)
  }

  /// Sends every request once, untimed, to create what a measurement needs.
  @discardableResult
  func deliver(_ requests: Requests, to server: ServerProcess) throws(BenchError) -> Int {
    let tally = LoadWorker(
      port: server.port, requests: requests, connectionCount: connectionCount, first: 0, step: 1,
      repeats: false, from: .now(), until: .now() + .seconds(600)
    ).run()
    if let failure = tally.failure { throw failure }
    if let refusal = tally.firstRefusal {
      throw .server("a preparing request failed:\n\(refusal)\n\(server.lastWords)")
    }
    return tally.succeeded
  }

  private func outcome(
    _ tallies: [LoadWorker.Tally], _ from: MonotonicTime, _ until: MonotonicTime,
    serverSeconds: Double, generatorSeconds: Double
  ) throws(BenchError) -> Outcome {
    for tally in tallies { if let failure = tally.failure { throw failure } }
    let timed = tallies.flatMap(\.nanoseconds).sorted()
    let last = tallies.compactMap(\.lastTimed).max() ?? from
    let ranOut = tallies.contains { $0.ranOut }
    var outcome = Outcome(
      timedCount: timed.count, timedSeconds: (ranOut ? last : until).seconds(since: from),
      nanoseconds: timed, serverSeconds: serverSeconds, generatorSeconds: generatorSeconds,
      ranOut: ranOut, next: tallies.map(\.next).max() ?? 0)
    for tally in tallies {
      outcome.succeeded += tally.succeeded
      outcome.refused.merge(tally.refused, uniquingKeysWith: +)
      outcome.firstRefusal = outcome.firstRefusal ?? tally.firstRefusal
    }
    return outcome
  }

  private static func sleep(until time: MonotonicTime, unless done: () -> Bool = { false }) {
    while MonotonicTime.now() < time, !done() { usleep(2000) }
  }

  private static func processorSeconds() -> Double {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  private static func seconds(_ time: timeval) -> Double {
    Double(time.tv_sec) + Double(time.tv_usec) / 1e6
  }
}
