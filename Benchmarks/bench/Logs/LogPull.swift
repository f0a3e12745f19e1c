import Base

/// A first pull of a whole log through the door of Actual, which has no pages, and its effect on the server's memory.
struct LogPull {
  private static let memoryLimit = 8

  private let store: TreeStore

  init(_ store: TreeStore) { self.store = store }

  /// The server starts anew, and a pull of the small log warms it up.
  func measure(
    small: BenchLog, large: BenchLog, _ report: inout Report
  ) throws(BenchError) {
    store.stop()
    try store.start()
    _ = try pull(small)
    let before = store.server.peakKilobytes()
    let nanoseconds = try pull(large)
    let growth = store.server.peakKilobytes() - before
    let (name, count) = (store.engine.name, FoldBench.grouped(large.messageCount))
    report.figures += [
      .rate(
        "\(store.engine)_pull_messages",
        Double(large.messageCount) / max(0.001, Double(nanoseconds) / 1e9),
        "messages of a first pull of \(count) by a client of Actual, \(name),"),
      .cost(
        "\(store.engine)_pull_memory_growth_mebibytes", Double(growth) / 1024, "MiB",
        "more server memory at the peak, \(name), from \(before / 1024) MiB",
        limit: Self.memoryLimit),
    ]
  }

  private func pull(_ log: BenchLog) throws(BenchError) -> UInt64 {
    let start = MonotonicTime.now()
    let (head, text) = try ContentConnection(port: store.server.port).send(log.firstPull())
    guard head.status == 200, head.byteCount > log.messageCount * BenchLog.envelopeByteCount else {
      throw .server("no answer of \(log.messageCount) messages:\n\(text.prefix(300))")
    }
    return MonotonicTime.now().nanoseconds - start.nanoseconds
  }
}
