import Base
import Glibc

/// One run, from the command that requests it to its end, and the measurements in the meantime.
struct ReconcileRun {
  private static let pauseMicroseconds: UInt32 = 500_000
  private static let callsMax = 1.05
  private static let memoryMaxMebibytes = 64

  private let name: String
  private let plan: ReconcilePlan
  private let seconds: Double
  /// The calls of each store in turn.
  private let calls: [Int]
  private let counts: [String]
  private let kibibytesBefore: Int
  private let kibibytesMax: Int

  init(
    _ name: String, isWhole: Bool, _ plan: ReconcilePlan, _ stores: ReconcileStores,
    _ billing: ServerProcess, _ database: String, _ workspace: Workspace,
    _ environment: [String: String], patience: Instant.Span
  ) throws(BenchError) {
    self.name = name
    self.plan = plan
    for store in plan.stores { _ = stores.takeRequestCount(of: store) }
    kibibytesBefore = billing.ownKilobytes()
    var most = kibibytesBefore
    let begin = MonotonicTime.now()
    for store in plan.stores {
      _ = try Command.output(
        [workspace.program("coffer"), "reconcile", store.rawValue, "--no-wait"]
          + (isWhole ? ["--whole"] : []),
        environment: environment, scratch: workspace.file("output"))
    }
    var isOpen = true
    while isOpen {
      guard MonotonicTime.now() < begin + patience else {
        throw .server("the run does not end:\n\(billing.lastWords)")
      }
      Self.pause()
      most = max(most, billing.ownKilobytes())
      isOpen =
        try workspace.number(
          database, "SELECT count(*) FROM reconciliations WHERE ended_ms IS NULL") > 0
    }
    seconds = MonotonicTime.now().seconds(since: begin)
    kibibytesMax = most
    calls = plan.stores.map { stores.takeRequestCount(of: $0) }
    counts = try plan.stores.map { store throws(BenchError) in
      try workspace.output(
        "sqlite3", "-readonly", database,
        """
        SELECT examined || ' examined, ' || agreed || ' agreed, ' || repaired || ' repaired, '
          || disputed || ' disputed, ' || unreachable || ' unreachable'
        FROM reconciliations WHERE provider = '\(store.rawValue)' ORDER BY number DESC LIMIT 1
        """
      ).filter { $0 != "\n" }
    }
  }

  static func pause() { usleep(pauseMicroseconds) }

  func add(to report: inout Report) {
    let key = name.replacing(" ", with: "_")
    for (index, store) in plan.stores.enumerated() {
      report.facts.append(("\(store.rawValue), \(name)", counts[index]))
      report.figures.append(
        .growth(
          "\(store.rawValue)_calls_\(key)",
          Double(calls[index]) / Double(max(1, plan.indices(of: store).count)),
          "calls of \(store.rawValue) for each of its subscriptions, \(name)",
          limit: Self.callsMax))
    }
    report.figures += [
      .growth(
        "calls_\(key)", Double(calls.reduce(0, +)) / Double(plan.count),
        "calls for each subscription of both stores, \(name)", limit: Self.callsMax),
      Figure(
        name: "seconds_\(key)_milliseconds", value: Int(seconds * 1000),
        text: "\(Figure.decimal(seconds, places: 1)) s for the run, \(name)"),
      .cost(
        "memory_growth_\(key)_mebibytes", Double(kibibytesMax - kibibytesBefore) / 1024, "MiB",
        "that coffer-billing grew by, \(name), from \(kibibytesBefore / 1024) MiB",
        limit: Self.memoryMaxMebibytes),
    ]
  }
}
