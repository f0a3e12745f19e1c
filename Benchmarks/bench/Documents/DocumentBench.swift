import Base
import Crypto
import SeededRandom

/// The cost of documents of versions: pushing them beside what their signatures alone cost, pulling what is new of a
/// thousand and of many, and the first pull of a new device.
struct DocumentBench {
  static let smallCount = 1000
  /// The documents of a round: an afternoon without a network.
  static let newCount = 20
  /// How often each document of the edited account was replaced.
  private static let editCount = 10
  /// Rounds that do not count, because they bring both accounts' pages into memory.
  static let warmUpCount = 5

  private let options: Options
  private let workspace: Workspace

  init(_ options: Options, _ workspace: Workspace) {
    self.options = options
    self.workspace = workspace
  }

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .documents, facts: try Machine(workspace, options).facts)
    report.facts.append(
      (
        "documents",
        "\(FoldBench.grouped(Self.smallCount)) and \(FoldBench.grouped(options.fileCount)) with "
          + "\(BenchDocuments.bodyByteCount) bytes each; \(options.roundCount) rounds of "
          + "\(Self.newCount) more to both"
      ))
    try report.measureEngines(options, measure)
    return report
  }

  private func measure(
    _ engine: TreeStore.Engine, _ report: inout Report
  ) throws(BenchError) {
    let store = try TreeStore(
      engine, options, workspace,
      settings: ["COFFER_PLANS": "\(WebhookBench.files)/keeping.json"])
    var random = SeededGenerator(seed: options.seed)
    let client = try TreeClient(port: store.server.port)
    let small = try BenchDocuments(client, random: &random)
    let edited = try BenchDocuments(client, random: &random)
    let large = try BenchDocuments(client, random: &random)
    store.progress.note("editing \(FoldBench.grouped(Self.smallCount)) documents")
    for documents in [small, edited] { _ = try fill(documents, Self.smallCount, client) }
    for _ in 0..<Self.editCount { try edited.editAll(client) }
    store.progress.note("pushing \(FoldBench.grouped(options.fileCount)) documents")
    let check = try secondsPerCheck()
    let batches = try fill(large, options.fileCount, client)
    try add(batches, check, engine, &report)
    store.progress.note("pushing and pulling")
    let pull = DocumentPull(store, options)
    try pull.measureNew([small, large], client, &report)
    try pull.measureFirst(plain: small, edited: edited, large: large, client, &report)
    try store.requireRightUsage()
    store.stop()
  }

  /// Pushes new documents in the largest batches. Returns the time of each.
  private func fill(
    _ documents: BenchDocuments, _ count: Int, _ client: TreeClient
  ) throws(BenchError) -> [UInt64] {
    var times: [UInt64] = []
    while documents.documentCount < count {
      let rest = count - documents.documentCount
      times.append(try documents.create(min(BenchDocuments.batchCount, rest), client))
    }
    return times
  }

  private func add(
    _ batches: [UInt64], _ check: Double, _ engine: TreeStore.Engine, _ report: inout Report
  ) throws(BenchError) {
    let seconds = Double(batches.reduce(0, +)) / 1e9
    let rate = Double(options.fileCount) / max(0.001, seconds)
    report.timings.append(
      Timing("\(engine.name): push \(BenchDocuments.batchCount) versions", batches))
    report.figures += [
      .rate("\(engine)_checks", 1 / check, "Ed25519 checks of such a version on one core"),
      .rate(
        "\(engine)_push_versions", rate, "versions pushed one batch after another, \(engine.name),"),
      .ratio(
        "\(engine)_push_ratio_to_checks", rate * check,
        "of Ed25519's own rate, \(engine.name)", aim: 0.3),
    ]
  }

  /// The time of one check of a statement as long as a version's, with its key parsed each time.
  private func secondsPerCheck() throws(BenchError) -> Double {
    let key = Ed25519PrivateKey()
    let message = Random.bytes(390)
    let signature = key.signature(for: message)
    let start = MonotonicTime.now()
    var count = 0
    while MonotonicTime.now().seconds(since: start) < 2 {
      guard key.publicKey.isValid(signature: signature, for: message) else {
        throw .command("a signature does not hold")
      }
      count += 1
    }
    return MonotonicTime.now().seconds(since: start) / Double(count)
  }
}
