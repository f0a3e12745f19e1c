/// A first pull of a whole tree, page by page, and its effect on the server's memory.
struct TreePull {
  static let pageCount = 1000
  private static let memoryLimit = 32

  private let store: TreeStore
  private let client: TreeClient

  init(_ store: TreeStore) throws(BenchError) {
    self.store = store
    client = try TreeClient(port: store.server.port)
  }

  /// Pulls the small account as a warm-up, then the large one. Returns the cursor at the end of each pull.
  func measure(
    small: TreeAccount, large: TreeAccount, _ report: inout Report
  ) throws(BenchError) -> (small: String, large: String) {
    let smallCursor = try pull(small) { _ in }
    let before = store.server.residentKilobytes()
    var highest = before
    var pages: [UInt64] = []
    let largeCursor = try pull(large) { nanoseconds in
      pages.append(nanoseconds)
      highest = max(highest, store.server.residentKilobytes())
    }
    let name = store.engine.name
    let tenth = max(1, pages.count / 10)
    report.timings += [
      Timing("\(name): a page of \(Self.pageCount) records", pages),
      Timing("… of the first tenth of the pull", Array(pages.prefix(tenth))),
      Timing("… of the last tenth", Array(pages.suffix(tenth))),
    ]
    let seconds = Double(pages.reduce(0, +)) / 1e9
    let count = large.shape.fileCount + 1
    report.figures += [
      .rate(
        "\(store.engine)_pull_records", Double(count) / max(0.001, seconds),
        "records of a first pull of \(FoldBench.grouped(count)), \(name),"),
      .cost(
        "\(store.engine)_pull_memory_growth_mebibytes", Double(highest - before) / 1024, "MiB",
        "more server memory while it lasts, \(name), from \(before / 1024) MiB",
        limit: Self.memoryLimit),
    ]
    return (smallCursor, largeCursor)
  }

  private func pull(
    _ account: TreeAccount, page seen: (UInt64) -> Void
  ) throws(BenchError) -> String {
    var page = try client.pull(account, since: nil, limit: Self.pageCount)
    var count = page.changeCount
    seen(page.nanoseconds)
    while page.hasMore {
      page = try client.pull(account, since: page.cursor, limit: Self.pageCount)
      count += page.changeCount
      seen(page.nanoseconds)
    }
    guard count == account.shape.fileCount + 1 else {
      throw .server("a first pull had \(count) changes instead of \(account.shape.fileCount + 1)")
    }
    return page.cursor
  }
}
