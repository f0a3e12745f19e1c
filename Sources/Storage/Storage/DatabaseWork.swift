import Base

/// The work that a database did for its callers: a measure of load that is the same on a busy machine.
package struct DatabaseWork: Equatable, Sendable {
  package var statementCount: Int64 = 0
  package var returnedRowCount: Int64 = 0
  /// Rows inserted, updated and deleted, each by a statement that names its table.
  package var changedRowCount: Int64 = 0
  /// Steps of SQLite's virtual machine, which also count rows that are not returned; 0 on PostgreSQL.
  package var stepCount: Int64 = 0

  package init() {}

  package var rowCount: Int64 { returnedRowCount + changedRowCount }

  package static func += (sum: inout DatabaseWork, work: DatabaseWork) {
    sum.statementCount += work.statementCount
    sum.returnedRowCount += work.returnedRowCount
    sum.changedRowCount += work.changedRowCount
    sum.stepCount += work.stepCount
  }

  /// The work done since `before`.
  package static func - (now: DatabaseWork, before: DatabaseWork) -> DatabaseWork {
    var work = DatabaseWork()
    work.statementCount = now.statementCount - before.statementCount
    work.returnedRowCount = now.returnedRowCount - before.returnedRowCount
    work.changedRowCount = now.changedRowCount - before.changedRowCount
    work.stepCount = now.stepCount - before.stepCount
    return work
  }
}

/// The sum of the work of transactions of one kind. Each adds once, at its end, however it ends.
package final class WorkCounter: Sendable {
  /// Writes run under the writer's lock or hold row locks; reads block no one.
  package enum Kind: String, CaseIterable, Sendable { case write, read }

  private let kind: Kind
  private let sum = Locked(DatabaseWork())

  package init(_ kind: Kind) { self.kind = kind }

  package var total: DatabaseWork { sum.withLock { $0 } }

  /// `seconds` is how long the transaction's body took. For a write, all others waited that long.
  func add(_ work: DatabaseWork, seconds: Double) {
    sum.withLock { $0 += work }
    StorageMetrics.add(work, kind)
    if kind == .write { StorageMetrics.writeTime.observe(seconds) }
  }
}
