import Base
import SeededRandom

/// The cost of message logs: appending to a small and to a large one, beside raw inserts and Actual's own algorithm, and
/// a first pull through the door of Actual.
struct LogBench {
  static let smallCount = 1000
  /// The messages of a request: a bank's statement, or an afternoon without a network.
  static let batchCount = 300
  /// Rounds that do not count, because they bring both logs' pages into memory.
  static let warmUpCount = 5

  private let options: Options
  private let workspace: Workspace

  init(_ options: Options, _ workspace: Workspace) {
    self.options = options
    self.workspace = workspace
  }

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .logs, facts: try Machine(workspace, options).facts)
    report.facts.append(
      (
        "logs",
        "\(FoldBench.grouped(Self.smallCount)) and \(FoldBench.grouped(options.messageCount)) "
          + "messages of \(BenchLog.contentByteCount) bytes; \(options.roundCount) rounds of "
          + "\(Self.batchCount) more to both"
      ))
    try report.measureEngines(options, measure)
    report.notes.append(
      "raw inserts and Actual's algorithm begin with \(FoldBench.grouped(Self.smallCount)) "
        + "messages, without HTTP, signatures and charges, and commit with synchronous = FULL")
    return report
  }

  private func measure(
    _ engine: TreeStore.Engine, _ report: inout Report
  ) throws(BenchError) {
    let store = try TreeStore(
      engine, options, workspace, settings: ["COFFER_ACTUAL_AUTHORITIES": BenchLog.host])
    var random = SeededGenerator(seed: options.seed)
    let client = try TreeClient(port: store.server.port)
    let appendedCount = Self.batchCount * (options.roundCount + Self.warmUpCount)
    let small = try BenchLog(
      store, client, messageCount: Self.smallCount, appending: appendedCount, random: &random)
    // Exactly as many as are measured, in the end: an epoch holds a million.
    let large = try BenchLog(
      store, client, messageCount: options.messageCount - appendedCount, appending: appendedCount,
      random: &random)
    for log in [small, large] {
      store.progress.note("filling \(FoldBench.grouped(log.messageCount)) messages")
      try log.fill(client)
    }
    store.progress.note("appending")
    try LogCost(store, [small, large], options, workspace).measure(client, &report)
    store.progress.note("pulling")
    try LogPull(store).measure(small: small, large: large, &report)
    try store.requireRightUsage()
    store.stop()
  }
}
