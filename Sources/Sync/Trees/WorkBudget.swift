internal import Storage

/// What a batch may do to the database, in statements and rows read and changed, a few microseconds
/// each: under the locks some 50 ms.
///
/// Whatever a tree looks like, one change fits, so that a batch that does not can be sent in parts.
struct WorkBudget {
  /// By a snapshot, when nothing is locked. Enough to look at 256 links below 128 folders each.
  static let judged: Int64 = 40_000
  /// Under the locks, where something changed since the snapshot.
  static let judgedAgain: Int64 = 8000
  /// Under the locks, to write.
  static let written: Int64 = 16_000
  /// Files beneath the folders of a batch whose levels are in doubt.
  static let counted: Int64 = 5000

  let max: Int64
  private let source: any Queryable
  private let before: DatabaseWork

  /// Counts from now on.
  init(_ max: Int64, of source: any Queryable) {
    self.max = max
    self.source = source
    before = source.work
  }

  var spent: Int64 {
    let work = source.work - before
    return work.statementCount + work.returnedRowCount + work.changedRowCount
  }

  func check() throws(Refusal) {
    guard spent <= max else { throw .batchTooCostly }
  }
}
