package import Postgres

extension PostgresError: EngineError {
  package var databaseError: DatabaseError {
    switch kind {
    case .conflict: .busy(retryAfterSeconds: 1)
    case .locked: .unavailable(reason: "a row is locked for longer than allowed")
    case .timedOut: .unavailable(reason: "the statement took longer than allowed")
    case .unavailable: .unavailable(reason: message)
    case .constraint: .constraint(constraint ?? message)
    case .forbidden: .forbidden("PostgreSQL says: \(message); name the role of the servers")
    // Every statement of a write transaction may write, so either the server has become a standby, or
    // a read snapshot was written to. The latter is a bug, which the engine reports as one.
    case .readOnly: .unavailable(reason: message)
    case .misuse: .statement(message)
    }
  }
}

extension PostgresConnection: EngineConnection {
  package func perform(
    _ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool
  ) throws -> DatabaseWork {
    let result = try run(
      sql,
      values.map { value in
        switch value {
        case .null: .null
        case .integer(let value): .integer(value)
        case .text(let value): .text(value)
        case .blob(let value): .blob(value)
        }
      })
    for index in 0..<result.rowCount {
      guard try row(Row(.postgres(result, row: index))) else { break }
    }
    var work = DatabaseWork()
    work.statementCount = 1
    work.returnedRowCount = Int64(result.rowCount)
    work.changedRowCount = Int64(result.changedRowCount)
    return work
  }
}
