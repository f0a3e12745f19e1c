import Base
import SQLite
import Storage
import TestEngines

/// Batches on a connection that the test owns, so that it can do things that production never does.
struct BatchBench {
  let scratch: ScratchDatabase
  let connection: SQLiteConnection
  let outcomes = Collector<(Int, Outcome)>()
  let interrupter: Interrupter

  init() throws {
    scratch = try ScratchDatabase(.sqlite)
    try scratch.open().close()
    connection = try SQLiteFiles(directory: scratch.directory.path + "/database").connect(
      .writer(.sync), lockWait: .milliseconds(50))
    interrupter = Interrupter(connection)
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

  /// Runs the writes as one batch. If a write ends the batch, begins another, as the writer does.
  func run(_ requests: [WriteRequest], usingSavepoints: Bool = false) throws {
    var needsSavepoints = usingSavepoints
    var open: SQLiteBatch?
    for request in requests {
      var batch =
        open
        ?? SQLiteBatch(
          on: connection, counting: WorkCounter(.write), usingSavepoints: needsSavepoints)
      if open == nil { try batch.begin() }
      let isOpen = batch.run(request)
      needsSavepoints = batch.neededSavepoints
      open = isOpen ? batch : nil
    }
    open?.commit()
  }

  var succeeded: [Int] {
    outcomes.current.filter { $0.1 == .success }.map(\.0).sorted()
  }

  func outcome(of number: Int) -> Outcome? {
    outcomes.current.first { $0.0 == number }?.1
  }

  /// The items that a later reader finds.
  func stored() throws -> [Int] {
    let database = try scratch.open()
    defer { database.close() }
    return try database.itemIDs()
  }

  /// Lends a connection to a body, which runs on the same thread.
  final class Interrupter: @unchecked Sendable {
    private let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) { self.connection = connection }

    func interrupt() { connection.interrupt() }
  }
}
