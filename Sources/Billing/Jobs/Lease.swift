package import Base
package import Storage

/// One read under way: what to read, and the read number of its result.
package struct Lease: Sendable {
  package let kind: String
  package let object: String
  /// The payload as the caller of `Jobs.request` sealed it.
  package let payload: [UInt8]?
  package let readNumber: Int64
  /// Failed runs in a row before this one.
  package let attempts: Int
  /// 0 unless only clients reported the object.
  package let lane: Int
  /// Whether it follows a read that never came back.
  package let isRepeated: Bool
  /// The trace that the run belongs to; nil if no request asked for it.
  package let trace: TraceContext?
  /// Whether what belongs to the object may be left out.
  package let isShallow: Bool

  init(_ row: JobRow, isRepeated: Bool) {
    kind = row.kind
    object = row.object
    payload = row.state.payload
    readNumber = row.state.issued
    attempts = Int(row.state.attempts)
    lane = Int(row.state.lane)
    trace = row.state.trace
    isShallow = row.state.isShallow
    self.isRepeated = isRepeated
  }

  /// Ends the read, in the transaction that stores its facts. Returns true if nothing more must be read.
  ///
  /// `readBegan` is by the provider's clock, nil if it has none. A lease that ran out can be committed, too.
  @discardableResult
  package func commit(
    readBegan: Instant?, now: Instant, in transaction: Transaction
  ) throws -> Bool {
    guard var row = try JobRow.locked(kind, object, in: transaction) else { return true }
    row.state.commit(readNumber: readNumber, readBegan: readBegan, at: now)
    try row.store(in: transaction)
    return row.state.due == nil && !row.state.isDead
  }

  /// Deletes the job, because there is nothing to read. Returns false and deletes nothing if anything was
  /// ever stored of the object, or if anyone other than a client reported it.
  package func forget(in transaction: Transaction) throws -> Bool {
    guard let row = try JobRow.locked(kind, object, in: transaction),
      row.state.canBeForgotten(after: readNumber)
    else { return false }
    try transaction.execute(
      "DELETE FROM billing.jobs WHERE kind = $1 AND object = $2", .text(kind), .text(object))
    return true
  }

  /// Records that the read failed. The job waits for a retry, or has died of it (true). A read
  /// whose job has a new lease changes nothing, and does not learn what its successor did.
  @discardableResult
  package func retry(
    _ failure: JobFailure, now: Instant, in transaction: Transaction
  ) throws -> Bool {
    guard var row = try JobRow.locked(kind, object, in: transaction) else { return false }
    let wasDead = row.state.isDead
    row.state.fail(readNumber: readNumber, failure, at: now)
    try row.store(in: transaction)
    return row.state.isDead && !wasDead
  }
}
