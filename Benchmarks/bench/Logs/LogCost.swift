/// The time of appending and reading 300 messages in a small and in a large log, by turns in one run, and on SQLite
/// beside what else writes such rows.
struct LogCost {
  private static let appending = "append \(LogBench.batchCount) messages"
  private static let reading = "read them, with the trie"

  private let store: TreeStore
  /// The small one first.
  private let logs: [BenchLog]
  private let options: Options
  private let workspace: Workspace

  init(
    _ store: TreeStore, _ logs: [BenchLog], _ options: Options, _ workspace: Workspace
  ) {
    (self.store, self.logs, self.options, self.workspace) = (store, logs, options, workspace)
  }

  func measure(_ client: TreeClient, _ report: inout Report) throws(BenchError) {
    let isCompared = store.engine == .sqlite
    let raw = isCompared ? try RawInserts(workspace) : nil
    let names = logs.map { FoldBench.grouped($0.messageCount) }
    var appends = [[UInt64]](repeating: [], count: logs.count)
    var reads = appends
    var inserts: [UInt64] = []
    for round in 0..<(LogBench.warmUpCount + options.roundCount) {
      if round == LogBench.warmUpCount {
        appends = appends.map { _ in [] }
        (reads, inserts) = (appends, [])
      }
      // The first log meets what the other left behind, so they also take turns in that.
      let order = round.isMultiple(of: 2) ? Array(logs.indices) : logs.indices.reversed()
      for index in order {
        appends[index].append(try logs[index].append(LogBench.batchCount, client))
        reads[index].append(try logs[index].readLast(LogBench.batchCount, client))
      }
      if let raw { inserts.append(try raw.insert(LogBench.batchCount)) }
    }
    var medians: [Double] = []
    for (what, name, times) in [
      (Self.appending, "append", appends), (Self.reading, "read", reads),
    ] {
      let timings = zip(names, times).map { count, times in
        Timing("\(store.engine.name): \(what), after \(count)", times)
      }
      report.timings += timings
      medians.append(timings[0].median)
      report.figures.append(
        .growth(
          "\(store.engine)_\(name)_ratio", timings[1].median / max(0.001, timings[0].median),
          "times as long for: \(what), \(store.engine.name)", limit: 1.2))
    }
    guard isCompared else { return }
    try compare(medians[0], inserts, &report)
  }

  private func compare(
    _ ours: Double, _ inserts: [UInt64], _ report: inout Report
  ) throws(BenchError) {
    let raw = Timing("SQLite alone: insert \(LogBench.batchCount) such rows", inserts)
    report.timings.append(raw)
    report.figures.append(
      .ratio(
        "append_ratio_to_raw", raw.median / max(0.001, ours),
        "of raw inserts of the same rows by SQLite", aim: 0.5))
    guard !options.measuresOursOnly else { return }
    store.progress.note("Actual's algorithm")
    let actual = Timing(
      "Actual's algorithm in Python: \(LogBench.batchCount) messages",
      try ActualPeer(workspace).times(roundCount: options.roundCount))
    report.timings.append(actual)
    report.figures.append(
      .share(
        "append_ratio_to_actual", actual.median / max(0.001, ours),
        "times as fast as Actual's algorithm in Python"))
  }
}
