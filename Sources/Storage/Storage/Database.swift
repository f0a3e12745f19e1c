package import Base
import Glibc
import Postgres

/// Both schemas of the database, open for writing one and reading both.
///
/// Any thread may call it; the code that opened it closes it. Completions run on a storage thread.
/// They must be short and must not call `write`, which would wait for the thread that they run on.
package final class Database: Sendable {
  /// The schema that this program writes.
  package let owned: Schema

  private let engine: any Engine
  private let reads: WorkPool
  private let news: NewsSender
  private let options: DatabaseOptions
  private let isClosed = Locked(false)

  /// What opening may do to a database that is not in the state this program needs.
  package enum Preparation: Sendable {
    /// Creates and migrates both schemas as needed, under a lock that every program takes.
    case migrates
    /// Changes nothing: a mistyped location must not become a new, empty database.
    case requiresSchema
    /// Changes nothing either, and accepts schemas of an earlier version, for restored databases.
    case acceptsEarlier
  }

  /// Opens the database at `location`.
  ///
  /// - Throws: `DatabaseError.migration` if the schema is not this program's, or is missing
  ///   although it should be there. `.unavailable` if the database cannot be reached, or another
  ///   program holds the lock for too long.
  package static func open(
    _ location: DatabaseLocation, owning schema: Schema, _ preparation: Preparation = .migrates,
    options: DatabaseOptions = .init()
  ) throws -> Database {
    StorageMetrics.register()
    let engine: any Engine =
      switch location {
      case .sqlite(let directory):
        try SQLiteEngine(directory: directory, owning: schema, preparation, options: options)
      case .postgres(let url):
        try PostgresEngine(url: url, preparation, options: options)
      }
    return Database(engine, owning: schema, options: options)
  }

  /// The schemas at a location, of any version, so that nothing is loaded over them.
  package static func schemas(at location: DatabaseLocation) throws -> [Schema] {
    switch location {
    case .sqlite(let directory):
      let files = SQLiteFiles(directory: directory)
      return try Schema.allCases.filter { try files.has($0) }
    case .postgres(let url):
      let options = DatabaseOptions()
      do {
        let server = PostgresServer(url: url, options: options)
        let site = try PostgresMigration(server, options: options)
        return try Schema.allCases.filter { try site.has($0) }
      } catch let error as PostgresError {
        throw error.databaseError
      }
    }
  }

  private init(_ engine: any Engine, owning schema: Schema, options: DatabaseOptions) {
    self.engine = engine
    self.options = options
    owned = schema
    news = NewsSender { engine.makeNewsChannel() }
    // A read on PostgreSQL makes its thread wait; a read on SQLite makes it compute.
    let coreCount = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let threadCount = options.readThreadCount
    reads = WorkPool(
      threads: engine.readsInline ? min(coreCount, threadCount) : threadCount,
      capacity: options.queuedReadCountMax,
      laneCapacity: max(1, options.queuedReadCountMax / 4))
  }

  /// Whether an HTTP worker may call `read` itself for short reads; otherwise it uses `submitRead`.
  package var readsInline: Bool { engine.readsInline }

  /// The work of write transactions since the database was opened, including failed ones: under the writer's
  /// lock on SQLite, holding row locks on PostgreSQL. Tests bound a request by the difference.
  package var writeWork: DatabaseWork { engine.writeWork }

  /// The work of reads since the database was opened. Reads block no one.
  package var readWork: DatabaseWork { engine.readWork }

  /// The tables and unique indexes that the migrations made and that are now missing, as texts for an operator.
  package func missingParts() throws -> [String] {
    try read { reader in
      try Schema.allCases.flatMap { schema in
        try SchemaParts.missing(
          in: schema, known: options.migrations(of: schema), query: engine.partsQuery(of: schema),
          reading: reader
        ).map { "the \($0.kind) \(schema).\($0.name)" }
      }
    }
  }

  /// Runs `body` on the calling thread, in one consistent snapshot of both schemas.
  package func read<Value>(_ body: (Reader) throws -> Value) throws -> Value {
    try requireOpen()
    return try engine.read { try body(Reader($0)) }
  }

  /// The same for the schema that this program writes. On SQLite it costs half, and statements cannot name the other.
  package func readOwned<Value>(_ body: (Reader) throws -> Value) throws -> Value {
    try requireOpen()
    return try engine.readOwned { try body(Reader($0)) }
  }

  private func requireOpen() throws {
    guard !isClosed.withLock({ $0 }) else {
      throw DatabaseError.unavailable(reason: "the database is closed")
    }
  }

  /// Runs `body` on a bounded pool, in the lane of `account`. Fails with `.busy` if too many reads wait already.
  package func submitRead<Value: Sendable>(
    for account: Identifier?, _ body: @escaping @Sendable (Reader) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let isAccepted = reads.submit(for: account) { [engine] in
      completion(Result { try engine.read { try body(Reader($0)) } })
    }
    if !isAccepted { completion(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
  }

  /// Runs `body` in a write transaction. Completes only once the commit is durable.
  ///
  /// `body` may run more than once, so it must have no other effect. An error that it throws undoes its own writes
  /// alone. Each `account` has a lane, so that its many writes do not delay the others.
  package func submitWrite<Value: Sendable>(
    for account: Identifier?,
    _ body: @escaping @Sendable (Transaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    let request = WriteRequest(
      account: account, deadline: .now() + options.writeWait
    ) { transaction in
      (value: try body(transaction), news: transaction.news)
    } completion: { [news] result in
      if case .success(let committed) = result { news.add(committed.news) }
      completion(result.map(\.value))
    }
    do {
      try engine.submit(request)
    } catch {
      completion(.failure(error))
    }
  }

  /// Hears what all programs commit from now on. Stop the listener before the database is closed.
  package func listen(_ hear: @escaping @Sendable (NewsListener.Heard) -> Void) -> NewsListener {
    NewsListener({ [engine] in try engine.makeNewsReceiver() }, hear)
  }

  /// The blocking form, for programs without a server and for tests.
  @discardableResult
  package func write<Value: Sendable>(
    for account: Identifier?, _ body: @escaping @Sendable (Transaction) throws -> Value
  ) throws -> Value {
    let outcome = Locked<Result<Value, any Error>?>(nil)
    submitWrite(for: account, body) { result in outcome.signal { $0 = result } }
    // The engine answers every request that it accepts; its own deadlines bound this wait.
    guard let result = outcome.wait({ $0 }) else { throw DatabaseError.busy(retryAfterSeconds: 1) }
    return try result.get()
  }

  /// What `body` returns in a transaction that is undone.
  package func rehearse<Value: Sendable>(
    _ body: @escaping @Sendable (Transaction) throws -> Value
  ) throws -> Value {
    do {
      return try write(for: nil) { throw Rehearsal(value: try body($0)) }
    } catch let rehearsal as Rehearsal<Value> {
      return rehearsal.value
    }
  }

  private struct Rehearsal<Value: Sendable>: Error {
    let value: Value
  }

  /// Throws unless a durable write succeeds now, which needs the lock, the disk and the server.
  package func checkWritable() throws {
    let sql = writableCheck
    try write(for: nil) { try $0.execute(sql) }
  }

  /// The non-blocking form. It fails if `checkWritable` would throw.
  package func checkWritable(completion: @escaping @Sendable (Result<Void, any Error>) -> Void) {
    let sql = writableCheck
    submitWrite(
      for: nil, { transaction in _ = try transaction.execute(sql) }, completion: completion)
  }

  private var writableCheck: String {
    "UPDATE \(owned).migrations SET applied_at = applied_at WHERE number = 1"
  }

  /// Finishes queued work, then closes. Later calls find the database unavailable.
  package func close() {
    let wasClosed = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return isClosed
    }
    guard !wasClosed else { return }
    reads.stop()
    engine.close()
    news.stop()
  }
}
