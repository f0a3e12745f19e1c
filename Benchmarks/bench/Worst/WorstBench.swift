import SeededRandom

/// The cost of the most expensive requests that a stranger or a free account can choose, and their effect on
/// others. Each attack runs next to one ordinary client.
struct WorstBench {
  /// Processor time for one request of a client without an account.
  private static let processorLimitMicroseconds = 1000
  /// The time that one request of a free account may take under the writer's lock.
  private static let lockLimitMilliseconds = 50
  private static let p99GrowthLimit = 3.0
  private static let memoryLimitMegabytes = 100

  let options: Options
  let workspace: Workspace

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .worst, facts: try Machine(workspace, options).facts)
    report.facts.append(
      ("attacks", "\(Attacker.connectionCount) connections of one other address, closed loop"))
    try report.measureEngines(options, measure)
    return report
  }

  private func measure(_ engine: TreeStore.Engine, _ report: inout Report) throws(BenchError) {
    // The limits are an operator's standard ones, because they are measured here.
    let store = try TreeStore(engine, options, workspace, limits: .standard, behind: Attacker.proxy)
    var random = SeededGenerator(seed: options.seed)
    let client = try TreeClient(port: store.server.port)
    let victim = try Victim(client, random: &random)
    for attack in try WorstAttack.all(store, random: &random) {
      store.progress.note(attack.name)
      let start = try Reading(store)
      let alone = try victim.latencies(store, seconds: options.seconds)
      let before = try Reading(store)
      let attacker = Attacker(attack, port: store.server.port)
      let beside: [UInt64]
      do throws(BenchError) {
        beside = try victim.latencies(store, seconds: options.seconds)
      } catch {
        _ = attacker.stop()
        throw error
      }
      let after = try Reading(store)
      let outcome = attacker.stop()
      // The time of the client's own requests, whatever others send.
      let own = before.since(start).processorSeconds
      try add(attack, engine, alone, beside, after.since(before), own, outcome, &report)
    }
    store.stop()
  }

  private func add(
    _ attack: WorstAttack, _ engine: TreeStore.Engine, _ alone: [UInt64], _ beside: [UInt64],
    _ spent: Reading, _ own: Double, _ outcome: Attacker.Outcome, _ report: inout Report
  ) throws(BenchError) {
    let name = "\(engine)_\(attack.id)"
    let before = Timing("\(engine.name): an ordinary client, alone", alone)
    let during = Timing("… beside \(attack.name)", beside)
    report.timings += [before, during]
    report.notes.append("\(engine.name), \(attack.name): \(outcome.text)")
    let growth = during.microseconds(share: 0.99) / max(1, before.microseconds(share: 0.99))
    report.figures.append(
      .growth(
        "\(name)_p99", growth, "times the client's own p99 beside \(attack.name), \(engine.name)",
        limit: Self.p99GrowthLimit))
    let count = Double(max(1, outcome.count))
    switch attack.bound {
    case .processor:
      let each = max(0, spent.processorSeconds - own) * 1e6 / count
      report.figures.append(
        .cost(
          "\(name)_processor_microseconds", each, "µs",
          "of processor time each, \(attack.name), \(engine.name)",
          limit: Self.processorLimitMicroseconds))
    case .lock:
      report.figures.append(
        .cost(
          "\(name)_lock_milliseconds", spent.longestWriteSeconds * 1000, "ms",
          "or less under the writer's lock, \(attack.name), \(engine.name)",
          limit: Self.lockLimitMilliseconds))
    case .memory:
      report.figures.append(
        .cost(
          "\(name)_memory_megabytes", Double(spent.residentKilobytes) / 1024, "MiB",
          "more memory, \(attack.name), \(engine.name)", limit: Self.memoryLimitMegabytes))
    }
  }
}

/// The server's resource use so far.
struct Reading {
  private(set) var processorSeconds: Double
  private(set) var residentKilobytes: Int
  /// The number of writes up to each bound, in seconds.
  private var writes: [(bound: Double, count: Double)]

  init(_ store: TreeStore) throws(BenchError) {
    processorSeconds = store.server.processorSeconds()
    residentKilobytes = store.server.residentKilobytes()
    writes = try Scrape(port: store.metricsPort).buckets(of: "coffer_storage_write_seconds")
  }

  func since(_ before: Reading) -> Reading {
    var spent = self
    spent.processorSeconds -= before.processorSeconds
    spent.residentKilobytes -= before.residentKilobytes
    spent.writes = zip(writes, before.writes).map { ($0.bound, $0.count - $1.count) }
    return spent
  }

  /// The bound that no write exceeded.
  var longestWriteSeconds: Double {
    guard let total = writes.last?.count, total > 0 else { return 0 }
    return writes.first { $0.count == total }?.bound ?? 0
  }
}
