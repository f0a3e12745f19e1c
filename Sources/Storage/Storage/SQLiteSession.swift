package import SQLite

extension SQLiteError: EngineError {
  package var databaseError: DatabaseError {
    switch kind {
    case .locked: .unavailable(reason: "the database is locked by another process")
    case .full: .unavailable(reason: "the disk is full")
    case .forbidden: .withoutRight(to: "write", message)
    case .outside: .unavailable(reason: message)
    case .damaged: .unavailable(reason: "the database file is damaged: \(message)")
    case .interrupted: .unavailable(reason: "the statement took longer than allowed")
    case .constraint: .constraint(message)
    case .misuse: .statement(message)
    }
  }

  /// What it means for a COMMIT: if the disk failed, a later program may find the transaction in the log.
  package var failureOfCommit: DatabaseError {
    switch (kind, databaseError) {
    case (.outside, .unavailable(let reason)), (.damaged, .unavailable(let reason)):
      .uncertain(reason: reason)
    case (_, let error): error
    }
  }
}

extension SQLiteConnection: EngineConnection {
  package func perform(
    _ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool
  ) throws -> DatabaseWork {
    try withStatement(sql) { statement in
      try statement.bind(values)
      var work = DatabaseWork()
      work.statementCount = 1
      var wantsMore = true
      // A writing statement must run to its end: only there are its last checks made.
      while try (wantsMore || !statement.isReadOnly) && statement.step() {
        work.returnedRowCount += 1
        if wantsMore { wantsMore = try row(Row(.sqlite(statement))) }
      }
      work.changedRowCount = statement.isReadOnly ? 0 : changedRowCount
      if statement.isLock { lockedRowCount += work.changedRowCount }
      work.stepCount = statement.takeStepCount()
      return work
    }
  }
}

extension SQLiteStatement {
  fileprivate func bind(_ values: [SQLValue]) throws(SQLiteError) {
    guard values.count == parameterCount else {
      throw SQLiteError(
        code: SQLiteError.misuseCode,
        message: "\(values.count) values for \(parameterCount) parameters")
    }
    for (position, number) in parameters.enumerated() {
      switch values[number - 1] {
      case .null: try bindNull(at: position)
      case .integer(let value): try bind(value, at: position)
      case .text(let value): try bind(value, at: position)
      case .blob(let value): try bind(value, at: position)
      }
    }
  }
}
