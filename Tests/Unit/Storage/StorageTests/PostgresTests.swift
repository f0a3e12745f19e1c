import Base
import Postgres
import Storage
import TestEngines
import Testing

/// Cases that only PostgreSQL can cause.
@Suite(.enabled(if: TestEngine.postgresURL != nil, "COFFER_TEST_POSTGRES is not set"))
struct PostgresTests {
  @Test func `connections that the server ended are replaced unnoticed`() throws {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open()
    defer { database.close() }
    try database.insertItem(1)
    #expect(try database.itemIDs() == [1])
    try endConnections(of: scratch)
    try database.insertItem(2)
    #expect(try database.itemIDs() == [1, 2])
  }

  @Test func `writes that follow each other share a connection, and so its prepared statements`()
    throws
  {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open()
    defer { database.close() }
    let connections = try (0..<20).map { _ in
      try database.write(for: nil) { transaction in
        try transaction.first("SELECT pg_backend_pid()") { try $0.integer(0) }
      }
    }
    #expect(Set(connections).count == 1)
  }

  @Test func `connections that the server ended leave their places to others`() throws {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open {
      $0.readConnectionCountMax = 2
      $0.readWait = .milliseconds(100)
    }
    defer { database.close() }
    func readWithinRead() throws -> [Int] { try database.read { _ in try database.itemIDs() } }
    #expect(try readWithinRead() == [])
    try endConnections(of: scratch)
    try database.insertItem(1)
    #expect(try database.itemIDs() == [1])
    #expect(try readWithinRead() == [1])
  }

  @Test func `a read that failed leaves its connection to the next`() throws {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open()
    defer { database.close() }
    func connection() throws -> Int64? {
      try database.read { try $0.first("SELECT pg_backend_pid()") { try $0.integer(0) } }
    }
    let before = try connection()
    #expect(throws: Refusal(reason: "nothing found")) {
      try database.read { reader in
        _ = try reader.rows("SELECT id FROM sync.items") { try $0.integer(0) }
        throw Refusal(reason: "nothing found")
      }
    }
    #expect(try connection() == before)
  }

  @Test func `a connection lost before the commit repeats the write once`() throws {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open()
    defer { database.close() }
    let runs = Locked(0)
    try database.write(for: nil) { transaction in
      try transaction.execute("INSERT INTO sync.items (id) VALUES (1)")
      if runs.withLock({ runs in
        runs += 1; return runs
      }) == 1 {
        try endConnections(of: scratch)
      }
      try transaction.execute("INSERT INTO sync.items (id) VALUES (2)")
    }
    #expect(runs.withLock { $0 } == 2)
    #expect(try database.itemIDs() == [1, 2])
  }

  @Test func `a role without the right is told of it, and is no bug of ours`() throws {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open()
    defer { database.close() }
    #expect(
      throws: DatabaseError.forbidden(
        "PostgreSQL says: permission denied for schema sync; name the role of the servers")
    ) {
      try database.write(for: nil) { transaction in
        try transaction.execute("SET LOCAL ROLE pg_monitor")
        try transaction.execute("UPDATE sync.items SET id = id")
      }
    }
  }

  @Test func `a conflict that lasts is repeated up to the bound and then busy`() throws {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open { $0.conflictAttemptCountMax = 4 }
    defer { database.close() }
    let runs = Locked(0)
    #expect(throws: DatabaseError.busy(retryAfterSeconds: 1)) {
      try database.write(for: nil) { transaction in
        runs.withLock { $0 += 1 }
        try transaction.execute(
          "DO 'BEGIN RAISE EXCEPTION USING ERRCODE = ''serialization_failure''; END'")
      }
    }
    #expect(runs.withLock { $0 } == 4)
  }

  @Test func `a write whose grounds have changed is run again, and busy when they keep changing`()
    throws
  {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open { $0.conflictAttemptCountMax = 4 }
    defer { database.close() }
    let runs = Locked(0)
    let run: @Sendable () -> Int = {
      runs.withLock { runs in
        runs += 1
        return runs
      }
    }
    try database.write(for: nil) { transaction in
      try transaction.execute("INSERT INTO sync.items (id) VALUES (1)")
      if run() < 4 { throw OutdatedDecision() }
    }
    #expect(try database.itemIDs() == [1])
    #expect(throws: DatabaseError.busy(retryAfterSeconds: 1)) {
      try database.write(for: nil) { _ in
        _ = run()
        throw OutdatedDecision()
      }
    }
    #expect(runs.withLock { $0 } == 8)
  }

  @Test func `a deadlock is repeated and both writes succeed`() throws {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open()
    defer { database.close() }
    try database.insertItem(1)
    try database.insertItem(2)
    let outcomes = Collector<Outcome>()
    let arrivals = Locked(0)
    for pair in [[1, 2], [2, 1]] {
      database.submitWrite(for: nil) { transaction in
        let sql = "UPDATE sync.items SET amount = coalesce(amount, 0) + 1 WHERE id = $1"
        try transaction.execute(sql, .integer(pair[0]))
        // Both hold their first row before either locks its second.
        arrivals.signal { $0 += 1 }
        _ = arrivals.wait(until: .now() + .seconds(10)) { $0 >= 2 ? true : nil }
        try transaction.execute(sql, .integer(pair[1]))
      } completion: {
        outcomes.add(Outcome($0))
      }
    }
    #expect(outcomes.wait(2) == [.success, .success])
    let amounts = try database.read {
      try $0.rows("SELECT amount FROM sync.items") { try $0.integer(0) }
    }
    #expect(amounts == [2, 2])
  }

  @Test func `a row locked for too long is typed, and free later`() throws {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open { $0.lockWait = .milliseconds(200) }
    defer { database.close() }
    try database.insertItem(1)
    let intruder = try scratch.connectPostgres()
    try intruder.execute("BEGIN; UPDATE sync.items SET amount = 1 WHERE id = 1")
    #expect(
      throws: DatabaseError.unavailable(reason: "a row is locked for longer than allowed")
    ) {
      try database.write(for: nil) { try $0.execute("UPDATE sync.items SET amount = 2") }
    }
    try intruder.execute("COMMIT")
    try database.write(for: nil) { try $0.execute("UPDATE sync.items SET amount = 2") }
  }

  @Test func `an unqualified name is an error, not a lucky guess`() throws {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open()
    defer { database.close() }
    let error = #expect(throws: DatabaseError.self) {
      try database.read { try $0.rows("SELECT id FROM items") { try $0.integer(0) } }
    }
    guard case .statement = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a bare boolean is an error`() throws {
    let scratch = try ScratchDatabase(.postgres)
    let database = try scratch.open()
    defer { database.close() }
    #expect(throws: DatabaseError.statement("column 0 holds other, not integer")) {
      try database.read { try $0.first("SELECT 1 = 1") { try $0.integer(0) } }
    }
  }

  @Test func `a database of another encoding is refused`() throws {
    let scratch = try ScratchDatabase(.postgres, encoding: "LATIN1")
    #expect(throws: DatabaseError.migration("the PostgreSQL database's encoding must be UTF8")) {
      try scratch.open()
    }
  }

  /// Ends every connection to the scratch database except its own.
  private func endConnections(of scratch: ScratchDatabase) throws {
    try scratch.connectPostgres().execute(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()
      """)
  }
}

/// Errors about an unreachable server or a wrong URL: they name host, port and reason for the person who has
/// to fix it.
@Suite struct PostgresAddressTests {
  @Test func `an address that does not answer is named with its port`() throws {
    let location = try #require(DatabaseLocation("postgres://hugo:hunter2@127.0.0.1:1/vault"))
    #expect(
      throws: DatabaseError.unavailable(
        reason: "cannot connect to PostgreSQL: connection refused (host 127.0.0.1, port 1)")
    ) { try Database.open(location, owning: .sync) }
  }

  @Test(arguments: [
    "postgres://hugo:hunter2@127.0.0.1:1/vault", "postgresql://hugo:hunter2@[::1]:1/vault?bad=1",
    "postgres://hugo:hunter2@no.such.host.invalid/vault",
    "postgres://hugo:hunter2@/vault?host=/nowhere", "postgres://hugo:hunter2@:x/vault",
    "postgres://hugo:hunter2%@/vault",
  ])
  func `an address that does not work is unavailable and stays secret`(url: String) throws {
    let location = try #require(DatabaseLocation(url))
    let error = #expect(throws: DatabaseError.self) {
      try Database.open(location, owning: .sync)
    }
    guard case .unavailable(let reason) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    for part in ["hugo", "hunter2", "vault"] {
      #expect(!reason.contains(part))
    }
    #expect(!String(reflecting: location).contains("hunter2"))
  }
}
