import Base
import Glibc

/// The sent deliveries, the clients in the meantime, and the measurements of both.
struct BacklogRun {
  /// How long the clients write before anything counts: first writes are slower, and would make those that follow look
  /// good.
  private static let warmUpSeconds: UInt32 = 5
  /// How long they write then before the deliveries come, for comparison: with 200 clients the slowest 100th are 30.
  private static let calmSeconds: UInt32 = 15
  /// Stores send again what is not answered within some seconds. A delivery waits for those before it, so this fails
  /// below 256 deliveries a second.
  private static let answerMillisecondsMax = 2000
  /// The deliveries that stores send at once. Each waits for its answer on a connection of its own.
  private static let deliveriesAtOnce = 512
  /// How many times longer the slowest 100th of the clients' writes may take meanwhile.
  private static let syncGrowthMax = 10.0
  private static let patience = Instant.Span.minutes(15)
  private static let pollMicroseconds: UInt32 = 200_000

  struct Servers {
    let billing: ServerProcess
    let sync: ServerProcess
  }

  private let sent: BacklogSender.Outcome
  private let writes: [BacklogClients.Write]
  private let calm: MonotonicTime
  private let begin: MonotonicTime
  private let taken: MonotonicTime
  /// Nil if the schedules did not become correct.
  private let right: MonotonicTime?

  init(
    _ plan: BacklogPlan, _ requests: Requests, _ servers: Servers, _ clients: SyncClients,
    _ check: BacklogCheck, _ google: BacklogGoogle, _ options: Options, progress: Progress
  ) throws(BenchError) {
    let syncing = BacklogClients(clients, count: options.clientCount, port: servers.sync.port)
    progress.note("clients write for \(Self.warmUpSeconds + Self.calmSeconds) s by themselves")
    sleep(Self.warmUpSeconds)
    calm = .now()
    sleep(Self.calmSeconds)
    progress.note("sending the deliveries")
    begin = .now()
    sent = try BacklogSender(
      port: servers.billing.port, requests: requests, connectionCount: Self.deliveriesAtOnce
    ).run()
    taken = .now()
    progress.note("waiting for the schedules")
    let purchases = (0..<plan.renewedCount).count { BacklogPlan.store($0) == .google }
    right = try Self.wait(until: begin + Self.patience) { () throws(BenchError) -> Bool in
      guard google.readCount == purchases else { return false }
      return try check.wrongCount(ofFirst: plan.renewedCount) == 0
    }
    writes = try syncing.stop()
  }

  private static func wait(
    until end: MonotonicTime, _ isDone: () throws(BenchError) -> Bool
  ) throws(BenchError) -> MonotonicTime? {
    while MonotonicTime.now() < end {
      let moment = MonotonicTime.now()
      if try isDone() { return moment }
      usleep(pollMicroseconds)
    }
    return nil
  }

  func add(to report: inout Report, _ servers: Servers) {
    let end = right ?? .now()
    let (before, busy, after) = (
      timing("sync writes before", calm, begin),
      timing("sync writes while deliveries come", begin, taken),
      timing("sync writes until every schedule is right", taken, end)
    )
    let webhooks = Timing("webhooks' answers", sent.nanoseconds)
    report.timings = [webhooks, before, busy, after]
    let refusedCount = sent.refused.values.reduce(0, +)
    report.figures = [
      Self.seconds("backlog_taken", taken.seconds(since: begin), "until all was taken in"),
      .rate(
        "backlog_deliveries", Double(sent.taken) / max(0.001, taken.seconds(since: begin)),
        "deliveries taken in"),
      Self.seconds("backlog_right", end.seconds(since: begin), "until every schedule was right"),
      .cost(
        "webhooks_p99_milliseconds", webhooks.microseconds(share: 0.99) / 1000, "ms",
        "for 99 % of the webhooks' answers", limit: Self.answerMillisecondsMax),
      Figure(
        name: "webhooks_refused", value: refusedCount,
        text: "\(refusedCount) webhooks refused and sent again (aim: none)", aim: 0, isCost: true),
      Self.milliseconds("sync_p99_before", before, "for 99 % of the sync writes before"),
      Self.milliseconds("sync_p99", busy, "for 99 % of the sync writes while deliveries come"),
      Self.growth("sync_p99_growth", busy, before, "while deliveries come"),
      Self.growth("sync_p99_growth_after", after, before, "from then on until all is right"),
      Self.memory("billing", servers.billing, "coffer-billing"),
      Self.memory("sync", servers.sync, "coffer-sync"),
    ]
    let refused = sent.refused.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
    report.facts.append(
      ("refused and sent again", refused.isEmpty ? "none" : refused.joined(separator: ", ")))
    let failed = writes.filter { !(200...299 ~= $0.status) }.count
    if right == nil { report.failures.append("the schedules did not become right") }
    if sent.lost > 0 { report.failures.append("\(sent.lost) deliveries were refused for good") }
    if before.nanoseconds.isEmpty { report.failures.append("no sync writes to compare with") }
    if failed > 0 { report.failures.append("\(failed) sync writes were refused") }
    if let refusal = sent.firstRefusal { report.notes.append("the first refusal: \(refusal)") }
  }

  /// The writes that were due from one moment up to another.
  private func timing(_ what: String, _ from: MonotonicTime, _ to: MonotonicTime) -> Timing {
    Timing(
      what,
      writes.filter { from.nanoseconds..<max(from.nanoseconds, to.nanoseconds) ~= $0.begin }
        .map(\.nanoseconds))
  }

  private static func growth(
    _ name: String, _ busy: Timing, _ before: Timing, _ what: String
  ) -> Figure {
    .growth(
      name, busy.microseconds(share: 0.99) / max(1, before.microseconds(share: 0.99)),
      "times as long for 99 % of the sync writes \(what), as before", limit: syncGrowthMax)
  }

  private static func seconds(_ name: String, _ value: Double, _ what: String) -> Figure {
    Figure(
      name: "\(name)_milliseconds", value: Int(value * 1000),
      text: "\(Figure.decimal(value, places: 1)) s \(what)")
  }

  private static func milliseconds(_ name: String, _ timing: Timing, _ what: String) -> Figure {
    let value = timing.microseconds(share: 0.99)
    return Figure(
      name: "\(name)_microseconds", value: Int(value),
      text: "\(Figure.decimal(value / 1000, places: 1)) ms \(what)")
  }

  private static func memory(_ name: String, _ server: ServerProcess, _ who: String) -> Figure {
    let (peak, present) = (server.peakKilobytes(), server.residentKilobytes())
    return Figure(
      name: "\(name)_memory_peak_kibibytes", value: peak,
      text: "\(peak / 1024) MiB the most memory of \(who), \(present / 1024) at the end")
  }
}
