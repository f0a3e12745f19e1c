import Base
import SQLite
import Storage
import TestEngines
import Testing

/// What one failing write does to the others of its batch: nothing.
@Suite struct BatchTests {
  /// A batch on a connection that the test holds, so that it can do what production never does.
  private struct Bench {
    let scratch: ScratchDatabase
    let connection: SQLiteConnection
    let outcomes = Collector<(Int, Outcome)>()

    init() throws {
      scratch = try ScratchDatabase(.sqlite)
      try scratch.open().close()
      connection = try SQLiteFiles(directory: scratch.directory.path).connect(
        .writer(.sync), lockWait: .milliseconds(50))
    }

    func request(
      _ number: Int, _ body: @escaping @Sendable (Transaction) throws -> Void
    ) -> WriteRequest {
      let outcomes = outcomes
      return WriteRequest(account: nil, deadline: .now() + .seconds(60), body: body) {
        outcomes.add((number, Outcome($0)))
      }
    }

    /// Inserts the item `number` with a body of `byteCount` bytes.
    func insertion(_ number: Int, byteCount: Int = 10) -> WriteRequest {
      request(number) { transaction in
        try transaction.execute(
          "INSERT INTO sync.items (id, body) VALUES ($1, $2)", .integer(number),
          .blob([UInt8](repeating: 1, count: byteCount)))
      }
    }

    /// Runs the writes as one batch, beginning another where one of them breaks it.
    func run(_ requests: [WriteRequest]) throws {
      var batch = SQLiteBatch(on: connection, counting: WorkCounter(.write))
      try batch.begin()
      var isOpen = true
      for request in requests {
        if !isOpen {
          batch = SQLiteBatch(on: connection, counting: WorkCounter(.write))
          try batch.begin()
        }
        isOpen = batch.run(request)
      }
      if isOpen { batch.commit() }
    }

    var succeeded: [Int] {
      outcomes.current.filter { $0.1 == .success }.map(\.0).sorted()
    }

    func outcome(of number: Int) -> Outcome? {
      outcomes.current.first { $0.0 == number }?.1
    }

    /// What a later reader finds.
    func stored() throws -> [Int] {
      let database = try scratch.open()
      defer { database.close() }
      return try database.itemIDs()
    }
  }

  @Test func `a refusal, a violation and a wrong statement fail alone`() throws {
    let bench = try Bench()
    try bench.run([
      bench.insertion(1),
      bench.request(2) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES (2)")
        throw Refusal(reason: "no")
      },
      bench.insertion(3),
      bench.request(4) { try $0.execute("INSERT INTO sync.items (id) VALUES (1)") },
      bench.insertion(5),
      bench.request(6) { transaction in
        try transaction.execute("INSERT INTO sync.items (id) VALUES (6)")
        try transaction.execute("INSERT INTO sync.nowhere (id) VALUES (6)")
      },
      bench.insertion(7),
    ])
    #expect(bench.succeeded == [1, 3, 5, 7])
    #expect(try bench.stored() == [1, 3, 5, 7])
    #expect(bench.outcome(of: 2) == .refusal(Refusal(reason: "no")))
  }

  @Test func `nobody is answered before the commit`() throws {
    let bench = try Bench()
    var batch = SQLiteBatch(on: bench.connection, counting: WorkCounter(.write))
    try batch.begin()
    for request in [bench.insertion(1), bench.request(2) { _ in throw Refusal(reason: "no") }] {
      let isOpen = batch.run(request)
      #expect(isOpen)
    }
    #expect(bench.outcomes.current.isEmpty)
    batch.commit()
    #expect(bench.outcomes.current.map(\.0) == [1, 2])
  }

  @Test func `an interrupted write takes the transaction but not its neighbours' writes`() throws {
    let bench = try Bench()
    let attempts = Locked(0)
    // The statement interrupts itself: SQLite looks at the flag while it runs.
    let interrupter = Interrupter(bench.connection)
    try bench.run([
      bench.insertion(1), bench.insertion(2),
      bench.request(3) { transaction in
        attempts.withLock { $0 += 1 }
        let sql = "INSERT INTO sync.items (id) SELECT id + 1000 FROM sync.items RETURNING id"
        try transaction.query(sql, []) { _ in
          interrupter.interrupt()
          return true
        }
      },
      bench.insertion(4),
    ])
    #expect(attempts.withLock { $0 } == 1)
    #expect(bench.succeeded == [1, 2, 4])
    #expect(try bench.stored() == [1, 2, 4])
    guard case .failure = bench.outcome(of: 3) else {
      Issue.record("\(bench.outcomes.current)")
      return
    }
  }

  @Test func `a full file fails the write that does not fit and no other`() throws {
    let bench = try Bench()
    let pageCount = try bench.connection.integer("PRAGMA sync.page_count")
    try bench.connection.execute("PRAGMA sync.max_page_count = \(pageCount + 20)")
    try bench.run([
      bench.insertion(1), bench.insertion(2, byteCount: 10_000), bench.insertion(3),
      bench.insertion(4, byteCount: 500_000), bench.insertion(5),
      bench.insertion(6, byteCount: 10_000),
    ])
    #expect(bench.outcome(of: 4) == .failure(.unavailable(reason: "the disk is full")))
    #expect(bench.succeeded == [1, 2, 3, 5, 6])
    #expect(try bench.stored() == [1, 2, 3, 5, 6])
  }

  @Test func `writes fit again once there is space`() throws {
    let bench = try Bench()
    let pageCount = try bench.connection.integer("PRAGMA sync.page_count")
    try bench.connection.execute("PRAGMA sync.max_page_count = \(pageCount)")
    try bench.run([bench.insertion(1, byteCount: 500_000)])
    try bench.connection.execute("PRAGMA sync.max_page_count = \(pageCount + 1000)")
    try bench.run([bench.insertion(2, byteCount: 500_000)])
    #expect(bench.succeeded == [2])
  }

  @Test func `a commit that fails is repeated for each write alone`() throws {
    let bench = try Bench()
    // A deferred constraint passes its savepoint and fails the commit; the schema forbids them, so
    // that this stands in for a disk that fails at the commit.
    try bench.connection.execute("PRAGMA defer_foreign_keys = ON")
    try bench.run([
      bench.insertion(1),
      bench.request(2) { transaction in
        try transaction.query("PRAGMA defer_foreign_keys = ON", []) { _ in true }
        try transaction.execute("INSERT INTO sync.parts (id, item) VALUES (1, 99)")
      },
      bench.insertion(3),
    ])
    #expect(bench.succeeded == [1, 3])
    #expect(try bench.stored() == [1, 3])
    guard case .failure(.constraint) = bench.outcome(of: 2) else {
      Issue.record("\(bench.outcomes.current)")
      return
    }
  }

  /// Lends a connection to a body, which runs on the same thread.
  private final class Interrupter: @unchecked Sendable {
    private let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) { self.connection = connection }

    func interrupt() { connection.interrupt() }
  }
}
