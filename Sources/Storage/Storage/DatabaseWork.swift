internal import Base

/// What a database did for whoever asked: a measure of load that a busy machine does not change.
package struct DatabaseWork: Equatable, Sendable {
  package var statementCount: Int64 = 0
  package var returnedRowCount: Int64 = 0
  /// Rows inserted, updated and deleted, each by the statement that names its table.
  package var changedRowCount: Int64 = 0
  /// Steps of SQLite's virtual machine (SQLITE_STMTSTATUS_VM_STEP): rows that were looked at and
  /// not returned show here. 0 on PostgreSQL.
  package var stepCount: Int64 = 0

  package init() {}

  package var rowCount: Int64 { returnedRowCount + changedRowCount }

  package static func += (sum: inout DatabaseWork, work: DatabaseWork) {
    sum.statementCount += work.statementCount
    sum.returnedRowCount += work.returnedRowCount
    sum.changedRowCount += work.changedRowCount
    sum.stepCount += work.stepCount
  }

  /// What was done since `before`.
  package static func - (now: DatabaseWork, before: DatabaseWork) -> DatabaseWork {
    var work = DatabaseWork()
    work.statementCount = now.statementCount - before.statementCount
    work.returnedRowCount = now.returnedRowCount - before.returnedRowCount
    work.changedRowCount = now.changedRowCount - before.changedRowCount
    work.stepCount = now.stepCount - before.stepCount
    return work
  }
}

/// The sum of what transactions of one kind did; each adds once, at its end, however it ends.
package final class WorkCounter: Sendable {
  /// Writes run under the writer's lock, or hold locks of rows; reads hold up nobody.
  package enum Kind: String, Sendable { case write, read }

  private let kind: Kind
  private let sum = Locked(DatabaseWork())
  private let instruments: StorageMetrics.Work

  package init(_ kind: Kind) {
    self.kind = kind
    instruments = StorageMetrics.work(kind)
  }

  package var total: DatabaseWork { sum.withLock { $0 } }

  /// `seconds` is how long the transaction's body took: of a write, what all others waited for it.
  func add(_ work: DatabaseWork, seconds: Double) {
    sum.withLock { $0 += work }
    instruments.add(work)
    if kind == .write { StorageMetrics.writeTime.observe(seconds) }
  }
}
