import Base
import HTTPServer

/// What live streams cost: the memory of one that is idle, the time until a client is told of a commit, and what the
/// streams take from those who write.
struct StreamBench {
  private static let smallCount = 1000
  private static let contentByteCount = 1000
  /// The server's memory for a stream. The trial of the design took 1.4 kB, but knew no accounts.
  private static let byteLimit = 2800
  private static let tellLimitMilliseconds = 100
  private static let costLimit = 1.1

  private let options: Options
  private let workspace: Workspace
  private let load: Load
  private let count: Int

  init(_ options: Options, _ workspace: Workspace) throws(BenchError) {
    self.options = options
    self.workspace = workspace
    load = Load(options)
    count = min(options.streamCount, Self.countMax(of: Descriptors.raiseLimit()))
    guard count > Self.smallCount else {
      throw .usage("streams needs a limit of 4000 open files or more (ulimit -Hn)")
    }
  }

  /// The streams for which the files of a process suffice, at the server and here: besides, the server reserves a part
  /// for connections and for its own files.
  private static func countMax(of descriptorCount: Int) -> Int { descriptorCount / 16 * 15 - 700 }

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .streams, facts: try Machine(workspace, options).facts)
    report.facts.append(
      (
        "streams",
        "\(grouped(Self.smallCount)) and \(grouped(count)), each of an account of its own; "
          + "\(options.accountCount) of the accounts write \(Self.contentByteCount) bytes at a time"
      ))
    if count < options.streamCount {
      report.notes.append(
        "a process may open too few files for \(grouped(options.streamCount)) streams, so there "
          + "were \(grouped(count))")
    }
    try report.measureEngines(options, measure)
    return report
  }

  private func measure(_ engine: TreeStore.Engine, _ report: inout Report) throws(BenchError) {
    let store = try TreeStore(
      engine, options, workspace,
      settings: ["COFFER_STREAMS_MAX": "\(count + StreamClients.probeCount)"])
    store.progress.note("opening \(grouped(count)) accounts")
    let clients = try StreamClients(store, load, options, streams: count)
    let crowd = StreamCrowd(port: store.server.port)
    let before = try write(store, clients, "without streams", &report)
    try open(0..<Self.smallCount, crowd, store, clients)
    let small = try listen(Self.smallCount, crowd, store, clients, &report)
    let memory = store.server.residentKilobytes()
    try open(Self.smallCount..<count, crowd, store, clients)
    let growth = store.server.residentKilobytes() - memory
    report.figures.append(
      .cost(
        "\(engine)_stream_bytes", Double(growth) * 1024 / Double(count - Self.smallCount), "bytes",
        "of the server's memory for an idle stream, \(engine.name)", limit: Self.byteLimit))
    let large = try listen(count, crowd, store, clients, &report)
    if crowd.count < count {
      report.failures.append("\(engine.name): \(count - crowd.count) streams ended by themselves")
    }
    let missed = try Scrape(port: store.metricsPort).value(of: "coffer_stream_missed_news_total")
    report.notes.append(
      "\(engine.name): \(Int(missed ?? 0)) changes were told only by a look at the database")
    crowd.close()
    let after = try write(store, clients, "without streams again", &report)
    // The mean of both, because the machine's speed changes meanwhile.
    let alone = (before.perSecond + after.perSecond) / 2
    for (streams, beside) in [(Self.smallCount, small), (count, large)] {
      report.figures.append(
        .growth(
          "\(engine)_\(streams)_writes_ratio", alone / max(0.001, beside.perSecond),
          "times as many writes without as beside \(grouped(streams)) streams, \(engine.name)",
          limit: Self.costLimit))
    }
    store.stop()
  }

  private func open(
    _ range: Range<Int>, _ crowd: StreamCrowd, _ store: TreeStore, _ clients: StreamClients
  ) throws(BenchError) {
    store.progress.note("opening streams up to \(grouped(range.upperBound))")
    try crowd.open(clients.requests(StreamSocket.target, of: range))
  }

  /// Measures beside so many open streams. Returns the writers' outcome.
  private func listen(
    _ count: Int, _ crowd: StreamCrowd, _ store: TreeStore, _ clients: StreamClients,
    _ report: inout Report
  ) throws(BenchError) -> Load.Outcome {
    let outcome = try write(store, clients, "beside \(grouped(count)) streams", &report)
    let probes = StreamProbes(
      clients.probes, count: StreamClients.probeCount, port: store.server.port,
      seed: options.seed &+ UInt64(count))
    let others: Load.Outcome
    do throws(BenchError) {
      others = try write(store, clients)
    } catch {
      _ = try? probes.stop()
      throw error
    }
    let times = try probes.stop()
    guard others.refusedCount == 0 else {
      throw .server("refused:\n\(others.firstRefusal ?? "")")
    }
    let (name, what) = (store.engine.name, "\(grouped(count)) streams")
    let told = Timing("\(name): from a write's answer to its event, \(what)", times.fromAnswer)
    report.timings += [
      told, Timing("\(name): from a write's request to its event, \(what)", times.fromRequest),
    ]
    report.figures.append(
      .cost(
        "\(store.engine)_\(count)_tell_p99_milliseconds", told.microseconds(share: 0.99) / 1000,
        "ms",
        "p99 from a write's answer to its event, \(what), \(options.connectionCount) writers, "
          + name, limit: Self.tellLimitMilliseconds))
    return outcome
  }

  /// The same with a row of the report.
  private func write(
    _ store: TreeStore, _ clients: StreamClients, _ what: String, _ report: inout Report
  ) throws(BenchError) -> Load.Outcome {
    store.progress.note("writing \(what)")
    let outcome = try write(store, clients)
    report.rows.append(.init(server: "\(store.engine.name), writers \(what)", outcome: outcome))
    return outcome
  }

  private func write(
    _ store: TreeStore, _ clients: StreamClients
  ) throws(BenchError) -> Load.Outcome {
    let writes = clients.writers.writeRequests(
      options.requestCount, byteCount: Self.contentByteCount, now: .now)
    return try load.run(writes, to: store.server, repeats: false)
  }

  private func grouped(_ number: Int) -> String { FoldBench.grouped(number) }
}
