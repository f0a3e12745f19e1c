/// The time of pushing and pulling a few documents in a small and in a large account, by turns in one run, and that of a
/// new device's pull of everything.
struct DocumentPull {
  private static let memoryLimit = 32
  private static let firstCount = 20

  private let store: TreeStore
  private let options: Options

  init(_ store: TreeStore, _ options: Options) {
    (self.store, self.options) = (store, options)
  }

  /// The small account first.
  func measureNew(
    _ accounts: [BenchDocuments], _ client: TreeClient, _ report: inout Report
  ) throws(BenchError) {
    let names = accounts.map { FoldBench.grouped($0.documentCount) }
    var pushes = [[UInt64]](repeating: [], count: accounts.count)
    var (pulls, looks) = (pushes, pushes)
    for round in 0..<(DocumentBench.warmUpCount + options.roundCount) {
      if round == DocumentBench.warmUpCount {
        pushes = pushes.map { _ in [] }
        (pulls, looks) = (pushes, pushes)
      }
      // The first account meets what the other left behind, so they also take turns in that.
      let order = round.isMultiple(of: 2) ? Array(accounts.indices) : accounts.indices.reversed()
      for index in order {
        let before = accounts[index].counter
        pushes[index].append(try accounts[index].create(DocumentBench.newCount, client))
        let count = try accounts[index].pull(after: before, client) { pulls[index].append($0) }
        guard count == DocumentBench.newCount else {
          throw .server("a pull had \(count) versions instead of \(DocumentBench.newCount)")
        }
        _ = try accounts[index].pull(after: accounts[index].counter, client) {
          looks[index].append($0)
        }
      }
    }
    for (what, name, times) in [
      ("push \(DocumentBench.newCount) documents", "push", pushes),
      ("pull them", "pull", pulls), ("pull when nothing is new", "look", looks),
    ] {
      let timings = zip(names, times).map { count, times in
        Timing("\(store.engine.name): \(what), after \(count)", times)
      }
      report.timings += timings
      report.figures.append(
        .growth(
          "\(store.engine)_\(name)_ratio", timings[1].median / max(0.001, timings[0].median),
          "times as long for: \(what), \(store.engine.name)", limit: 1.2))
    }
  }

  /// What was replaced before costs a new device nothing.
  func measureFirst(
    plain: BenchDocuments, edited: BenchDocuments, large: BenchDocuments, _ client: TreeClient,
    _ report: inout Report
  ) throws(BenchError) {
    let name = store.engine.name
    var times: [[UInt64]] = [[], []]
    for _ in 0..<Self.firstCount {
      for (index, documents) in [plain, edited].enumerated() {
        var sum: UInt64 = 0
        let count = try documents.pull(after: 0, client) { sum += $0 }
        times[index].append(sum / UInt64(max(1, count)))
      }
    }
    let timings = zip(["never", "often"], times).map { how, times in
      Timing("\(name): a document of a first pull, \(how) edited", times)
    }
    report.timings += timings
    report.figures.append(
      .growth(
        "\(store.engine)_edited_ratio", timings[1].median / max(0.001, timings[0].median),
        "times as long for a document that was often edited, \(name)", limit: 1.2))
    let before = store.server.residentKilobytes()
    var (highest, sum) = (before, UInt64(0))
    let count = try large.pull(after: 0, client) { nanoseconds in
      sum += nanoseconds
      highest = max(highest, store.server.residentKilobytes())
    }
    guard count == large.documentCount else {
      throw .server("a first pull had \(count) versions instead of \(large.documentCount)")
    }
    report.figures += [
      .rate(
        "\(store.engine)_pull_versions", Double(count) / max(0.001, Double(sum) / 1e9),
        "versions of a first pull of \(FoldBench.grouped(count)), \(name),"),
      .cost(
        "\(store.engine)_pull_memory_growth_mebibytes", Double(highest - before) / 1024, "MiB",
        "more server memory while it lasts, \(name), from \(before / 1024) MiB",
        limit: Self.memoryLimit),
    ]
  }
}
