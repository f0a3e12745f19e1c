import Storage

/// The work that a batch may cause in the database, in statements and in rows read and changed. Each takes a few
/// microseconds, so some 50 ms under the locks. A single change fits in any tree, so a batch that does not fit can be
/// sent in parts.
struct WorkBudget {
  /// In a snapshot, when nothing is locked. Enough to examine 256 links below 128 folders each.
  static let judged: Int64 = 40_000
  /// Under the locks, if something changed since the snapshot.
  static let judgedAgain: Int64 = 8000
  /// Under the locks, to write.
  static let written: Int64 = 16_000
  /// Files below the folders of a batch whose levels are in doubt.
  static let counted: Int64 = 5000

  let max: Int64
  private let source: any Queryable
  private let before: DatabaseWork

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
