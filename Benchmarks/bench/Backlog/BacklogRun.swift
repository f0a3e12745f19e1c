import Base
import Glibc

/// The sent deliveries, the clients in the meantime, and the measurements of both.
struct BacklogRun {
  /// How long the clients write before the deliveries come, for comparison.
  private static let calmSeconds: Int64 = 5
  /// Stores send again what is not answered within some seconds.
  private static let answerMillisecondsMax = 2000
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
  private let begin: MonotonicTime
  private let taken: MonotonicTime
  /// Nil if the schedules did not become correct.
  private let right: MonotonicTime?

  init(
    _ plan: BacklogPlan, _ requests: Requests, _ servers: Servers, _ clients: SyncClients,
    _ check: BacklogCheck, _ google: BacklogGoogle, _ options: Options, progress: Progress
  ) throws(BenchError) {
    let syncing = BacklogClients(clients, count: options.clientCount, port: servers.sync.port)
    progress.note("clients write for \(Self.calmSeconds) s by themselves")
    sleep(UInt32(Self.calmSeconds))
    progress.note("sending the deliveries")
    begin = .now()
    sent = try BacklogSender(
      port: servers.billing.port, requests: requests, connectionCount: options.connectionCount
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
    let (calm, busy) = (
      Self.timing("sync writes before", writes.filter { $0.begin < begin.nanoseconds }),
      Self.timing(
        "sync writes meanwhile",
        writes.filter { $0.begin >= begin.nanoseconds && $0.begin < end.nanoseconds })
    )
    let webhooks = Timing("webhooks' answers", sent.nanoseconds)
    report.timings = [webhooks, calm, busy]
    report.figures = [
      Self.seconds("backlog_taken", taken.seconds(since: begin), "until all was taken in"),
      .rate(
        "backlog_deliveries", Double(sent.taken) / max(0.001, taken.seconds(since: begin)),
        "deliveries taken in"),
      Self.seconds("backlog_right", end.seconds(since: begin), "until every schedule was right"),
      .cost(
        "webhooks_p99_milliseconds", webhooks.microseconds(share: 0.99) / 1000, "ms",
        "for 99 % of the webhooks' answers", limit: Self.answerMillisecondsMax),
      Self.milliseconds("sync_p99_before", calm, "for 99 % of the sync writes before"),
      Self.milliseconds("sync_p99", busy, "for 99 % of the sync writes meanwhile"),
      .growth(
        "sync_p99_growth", busy.microseconds(share: 0.99) / max(1, calm.microseconds(share: 0.99)),
        "of that before", limit: Self.syncGrowthMax),
      Self.memory("billing", servers.billing, "coffer-billing"),
      Self.memory("sync", servers.sync, "coffer-sync"),
    ]
    let refused = sent.refused.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
    report.facts.append(
      ("refused and sent again", refused.isEmpty ? "none" : refused.joined(separator: ", ")))
    let failed = writes.filter { !(200...299 ~= $0.status) }.count
    if right == nil { report.failures.append("the schedules did not become right") }
    if sent.lost > 0 { report.failures.append("\(sent.lost) deliveries were refused for good") }
    if failed > 0 { report.failures.append("\(failed) sync writes were refused") }
    if let refusal = sent.firstRefusal { report.notes.append("the first refusal: \(refusal)") }
  }

  private static func timing(_ what: String, _ writes: [BacklogClients.Write]) -> Timing {
    Timing(what, writes.map(\.nanoseconds))
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
