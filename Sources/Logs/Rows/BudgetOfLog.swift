package import Base
import Requests
package import Storage

/// The budget of Actual's clients that a log may be. It has a row of its own, which goes where the log goes.
package enum BudgetOfLog {
  private static let foundCountMax: Int64 = 20

  /// What clients call a budget: the id that one of them chose, and the name that they show.
  package struct Title: Sendable {
    package let file: String
    package let name: String
  }

  /// The budgets of an account, by their logs.
  package static func titles(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> [Identifier: Title] {
    let titles = try queryable.rows(
      "SELECT log_id, file, name FROM sync.actual_files WHERE owner_id = $1", .id(account)
    ) { row in (try row.id(0), Title(file: try row.text(1), name: try row.text(2))) }
    return Dictionary(uniqueKeysWithValues: titles)
  }

  /// The accounts that have a budget of this id. Clients choose the ids, so there may be several.
  package static func owners(
    _ queryable: some Queryable, of file: String
  ) throws -> [Identifier] {
    try queryable.rows(
      "SELECT owner_id FROM sync.actual_files WHERE file = $1 ORDER BY owner_id LIMIT $2",
      .text(file), .integer(foundCountMax)
    ) { row in try row.id(0) }
  }

  /// Refuses for a budget what its clients alone may do. They say with each upload how it is encrypted, and know a new
  /// epoch as a reset. A snapshot without that could not be opened, and of an epoch they would not be told.
  static func requireNone(of log: Identifier, _ queryable: some Queryable) throws {
    guard try !exists(of: log, queryable) else { throw LogRefusal.logIsBudget }
  }

  /// Refuses for a budget messages that its clients could not read.
  static func requireReadable(
    _ messages: [LogMessage], of log: Identifier, _ queryable: some Queryable
  ) throws {
    guard let index = messages.firstIndex(where: { !ActualEnvelope.isKept($0.content) }),
      try exists(of: log, queryable)
    else { return }
    throw RequestRefusal.bodyInvalid(
      path: "$.messages[\(index)].c",
      rule: "must be an Actual envelope without its timestamp: the log is a budget")
  }

  private static func exists(of log: Identifier, _ queryable: some Queryable) throws -> Bool {
    try queryable.first(
      "SELECT 1 FROM sync.actual_files WHERE log_id = $1", .id(log)
    ) { _ in true } ?? false
  }

  /// Has the budget follow the log to the epoch that an operator restored, with the key and the encryption of its
  /// snapshot. Clients of the epoch that ends there are told of a reset.
  static func follow(_ log: Identifier, to epoch: Identifier, _ transaction: Transaction) throws {
    try transaction.execute(
      "UPDATE sync.actual_files SET group_id = $2 WHERE log_id = $1", .id(log), .id(epoch))
    try transaction.execute(
      """
      UPDATE sync.actual_files SET (format, key_id, key_salt, key_test, meta, meta_key) = (
        SELECT format, key_id, key_salt, key_test, meta, meta_key
        FROM sync.actual_epochs WHERE epoch_id = $2)
      WHERE log_id = $1 AND EXISTS (SELECT 1 FROM sync.actual_epochs WHERE epoch_id = $2)
      """, .id(log), .id(epoch))
  }

  static func forget(_ log: Identifier, _ transaction: Transaction) throws {
    try transaction.execute("DELETE FROM sync.actual_files WHERE log_id = $1", .id(log))
    try transaction.execute("DELETE FROM sync.actual_epochs WHERE log_id = $1", .id(log))
  }
}
