import Base
import Storage

/// One engine's database, and the `coffer-sync` that is started on it again and again.
final class TreeStore {
  enum Engine: String, CaseIterable {
    case sqlite, postgres

    var name: String { self == .sqlite ? "SQLite" : "PostgreSQL" }
  }

  let engine: Engine
  private(set) var server: ServerProcess
  /// Reads what the server wrote, and writes what coffer-billing would.
  let observer: Database
  let progress: Progress
  private let workspace: Workspace
  private let location: DatabaseLocation
  private let settings: [String: String]
  private(set) var metricsPort: UInt16

  /// Whether accounts have no limit on requests, or an operator's standard one.
  enum Limits { case none, standard }

  init(
    _ engine: Engine, _ options: Options, _ workspace: Workspace, limits: Limits = .none,
    behind proxy: String? = nil, settings more: [String: String] = [:]
  ) throws(BenchError) {
    self.engine = engine
    self.workspace = workspace
    progress = Progress(engine.name)
    let url: String
    switch engine {
    case .sqlite:
      let directory = try workspace.directory("tree")
      location = .sqlite(directory: directory)
      url = "sqlite://\(directory)"
    case .postgres:
      url = options.postgresURL ?? ""
      location = .postgres(url: Secret(url))
    }
    var settings = [
      "COFFER_DATABASE": url,
      "COFFER_OBJECTS": "file://\(try workspace.directory("objects-\(engine)"))",
      "COFFER_PLANS": "\(WebhookBench.files)/catalogue.json",
      "COFFER_SYNC_AUTHORITIES": SyncClients.authority,
    ]
    if limits == .none {
      settings["COFFER_REQUESTS_BURST"] = "1000000"
      settings["COFFER_REQUESTS_PER_SECOND"] = "1000000"
    }
    settings["COFFER_TRUSTED_PROXIES"] = proxy
    settings.merge(more) { $1 }
    self.settings = settings
    metricsPort = try ServerProcess.freePort()
    server = try Self.start(engine, settings, workspace, metricsPort)
    observer = try Self.database(location, owning: .billing)
  }

  deinit { observer.close() }

  func stop() { server.stop() }

  func start() throws(BenchError) {
    metricsPort = try ServerProcess.freePort()
    server = try Self.start(engine, settings, workspace, metricsPort)
  }

  private static func start(
    _ engine: Engine, _ settings: [String: String], _ workspace: Workspace, _ metricsPort: UInt16
  ) throws(BenchError) -> ServerProcess {
    let environment = settings.merging(
      ["COFFER_METRICS_LISTEN": "127.0.0.1:\(metricsPort)"]) { $1 }
    return try ServerProcess(
      log: workspace.file("sync-\(engine).log"), environment: environment
    ) { _ in
      [workspace.program("coffer-sync")]
    } settings: { port in
      ["COFFER_SYNC_LISTEN": "127.0.0.1:\(port)"]
    }
  }

  /// The server's own database, while it is stopped.
  func ownDatabase() throws(BenchError) -> Database {
    try Self.database(location, owning: .sync)
  }

  private static func database(
    _ location: DatabaseLocation, owning schema: Schema
  ) throws(BenchError) -> Database {
    do {
      return try Database.open(location, owning: schema)
    } catch {
      throw .command("opening the database: \(error)")
    }
  }

  /// Sets the accounts' cap from a moment on, as coffer-billing would.
  func setCap(
    _ byteCount: Int64, of accounts: [TreeAccount], from milliseconds: Int64
  ) throws(BenchError) {
    do {
      try observer.write(for: nil) { transaction in
        for account in accounts {
          try transaction.execute(
            """
            INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
            VALUES ($1, $2, $3, 'premium', 'subscribed')
            """, .id(account.id), .integer(milliseconds), .integer(byteCount))
        }
      }
    } catch {
      throw .command("writing a schedule: \(error)")
    }
  }

  /// Requires that `coffer usage recount` counts every account and finds nothing wrong.
  func requireRightUsage() throws(BenchError) {
    let text = try coffer(["usage", "recount", "--all", "--dry-run", "--json"])
    guard text.contains("\"wrong\":0,") else {
      throw .server("usage and recount differ: \(text)")
    }
  }

  /// The accounts by their roots.
  func accountsByRoot() throws(BenchError) -> [Identifier: Identifier] {
    do {
      let rows = try observer.read { reader in
        try reader.rows("SELECT root_id, id FROM sync.accounts") { row in
          (try row.id(0), try row.id(1))
        }
      }
      return Dictionary(rows) { $1 }
    } catch {
      throw .command("reading the accounts: \(error)")
    }
  }

  /// The output of an operator's command.
  func coffer(_ arguments: [String]) throws(BenchError) -> String {
    try Command.output(
      [workspace.program("coffer")] + arguments, environment: settings,
      scratch: workspace.file("coffer"))
  }

  /// The only number that a query returns.
  func number(_ sql: String, _ values: SQLValue...) throws(BenchError) -> Int {
    do {
      let rows = try observer.read { reader in
        try reader.rows(sql, values: values) { row in try row.integer(0) }
      }
      return Int(rows.first ?? 0)
    } catch {
      throw .command("reading the database: \(error)")
    }
  }
}

extension Report {
  /// Measures each engine that the options name and that there is.
  mutating func measureEngines(
    _ options: Options,
    _ measure: (TreeStore.Engine, inout Report) throws(BenchError) -> Void
  ) throws(BenchError) {
    for engine in options.engines {
      guard engine == .sqlite || options.postgresURL != nil else {
        notes.append("PostgreSQL was not measured: there is no --postgres URL")
        continue
      }
      try measure(engine, &self)
    }
  }
}
