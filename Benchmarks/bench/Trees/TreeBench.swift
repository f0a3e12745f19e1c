import Base
import SeededRandom
import Storage

/// The cost of file trees: one change, one pull, a first pull, large batches and a large deletion.
struct TreeBench {
  static let smallCount = 1000
  private static let writerFileCount = 100

  let options: Options
  let workspace: Workspace

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .tree, facts: try Machine(workspace, options).facts)
    report.facts.append(
      (
        "trees",
        "\(FoldBench.grouped(Self.smallCount)) and \(FoldBench.grouped(options.fileCount)) "
          + "files, a hundred in a folder; \(options.roundCount) rounds of ten changes to both"
      ))
    try report.measureEngines(options, measure)
    return report
  }

  private func measure(
    _ engine: TreeStore.Engine, _ report: inout Report
  ) throws(BenchError) {
    let store = try TreeStore(engine, options, workspace)
    let accounts = try Accounts(store, options)
    store.stop()
    store.progress.note("filling \(FoldBench.grouped(options.fileCount)) files")
    try accounts.fill(store, &report)
    try store.start()
    store.progress.note("counting them")
    try store.requireRightUsage()
    store.progress.note("pulling them")
    let cursors = try TreePull(store).measure(
      small: accounts.small, large: accounts.large, &report)
    store.progress.note("changing one file at a time")
    try TreeCost(
      store, [(accounts.small, cursors.small), (accounts.large, cursors.large)], options
    ).measure(&report)
    store.progress.note("sending large batches")
    try TreeBatches(store, accounts.batching, options).measure(&report)
    store.progress.note("deleting beside others' writes")
    try TreeDeletion(
      store, deleting: accounts.large, beside: accounts.writing, options
    ).measure(&report)
    try store.requireRightUsage()
    store.stop()
  }

  /// All accounts that take part on one engine.
  private struct Accounts {
    let small: TreeAccount
    let large: TreeAccount
    var batching: [TreeAccount] = []
    var writing: [TreeAccount] = []

    init(_ store: TreeStore, _ options: Options) throws(BenchError) {
      var random = SeededGenerator(seed: options.seed)
      let client = try TreeClient(port: store.server.port)
      small = try TreeAccount(client, fileCount: smallCount, random: &random)
      large = try TreeAccount(client, fileCount: options.fileCount, random: &random)
      for _ in 0..<TreeBatches.accountCount {
        batching.append(try TreeAccount(client, fileCount: 0, random: &random))
      }
      for _ in 0..<TreeDeletion.writerCount {
        writing.append(try TreeAccount(client, fileCount: writerFileCount, random: &random))
      }
    }

    /// Gives trees to the accounts that begin with one, and paid room to all.
    func fill(_ store: TreeStore, _ report: inout Report) throws(BenchError) {
      let start = MonotonicTime.now()
      for account in [small, large] + writing { try TreeFill(account: account).run(in: store) }
      let seconds = MonotonicTime.now().seconds(since: start)
      report.facts.append(
        ("filled \(store.engine.name)", "in \(Int(seconds)) s, by SQL, before the server started"))
      let all = [small, large] + batching + writing
      try store.setCap(1_000_000_000_000, of: all, from: 0)
    }
  }
}
