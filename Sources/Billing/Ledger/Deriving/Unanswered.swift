package import Base
import Jobs
package import Storage
package import Subscriptions

/// Since when reads of an object have failed. It is a stored fact like any other, so that what
/// follows from it needs no clock. The first failure sets it, and the first answer removes it.
private enum Unanswered {
  /// Returns whether reads had not failed before.
  static func begin(_ key: ObjectKey, at now: Instant, in transaction: Transaction) throws -> Bool {
    try transaction.execute(
      """
      INSERT INTO billing.unanswered (object, since_ms) VALUES ($1, $2)
      ON CONFLICT (object) DO NOTHING
      """, .text(key.description), .instant(now)) > 0
  }

  /// Returns whether reads had failed before.
  static func end(_ key: ObjectKey, in transaction: Transaction) throws -> Bool {
    try transaction.execute(
      "DELETE FROM billing.unanswered WHERE object = $1", .text(key.description)) > 0
  }
}

extension Ledger {
  /// Records that a read of a subscription failed: what is owed for it may continue until the store
  /// answers. If another reader has settled the job meanwhile, the store did answer.
  package func noteFailedRead(_ key: ObjectKey, at now: Instant, in transaction: Transaction) throws
  {
    guard isReadable(key) else { return }
    try LedgerSequence.lock(in: transaction)
    guard try Jobs.find(Self.readJob, key.description, reading: transaction)?.due != nil,
      try knows(key, reading: transaction),
      try Unanswered.begin(key, at: now, in: transaction)
    else { return }
    try derive([key], cause: .fact, entry: nil, at: now, in: transaction)
  }

  /// Records that the store answered, or that an operator dropped the read, so that no one waits
  /// for an answer any more. `write` stores the answer, which alone decides.
  package func noteAnswer(
    _ key: ObjectKey, at now: Instant, in transaction: Transaction,
    _ write: () throws -> Void = {}
  ) throws {
    try LedgerSequence.lock(in: transaction)
    let didFail = try Unanswered.end(key, in: transaction)
    try write()
    if didFail { try derive([key], cause: .fact, entry: nil, at: now, in: transaction) }
  }

  /// Whether only an operator ever requested a read of it. Its store reported nothing about it and
  /// no account claims it, so nothing is lost if it is not read.
  package func isUnreported(
    _ key: ObjectKey, reading database: some Queryable
  ) throws -> Bool {
    try database.first(
      """
      SELECT 1 FROM billing.subscriptions WHERE object = $1
      UNION ALL SELECT 1 FROM billing.mirrors WHERE object = $1
      UNION ALL SELECT 1 FROM billing.read_requests WHERE object = $1
      UNION ALL SELECT 1 FROM billing.claims WHERE object = $1
      UNION ALL SELECT 1 FROM billing.decisions WHERE object = $1
      LIMIT 1
      """, .text(key.description)
    ) { row in try row.integer(0) } == nil
  }

  /// Forgets failed reads that nothing would ever end: those of stores that are no longer asked,
  /// and those whose job is settled. Returns the last object looked at; nil at the end.
  package func forgetUnanswered(
    after last: String, countMax: Int, at now: Instant, in transaction: Transaction
  ) throws -> String? {
    try LedgerSequence.lock(in: transaction)
    let objects = try transaction.rows(
      "SELECT object FROM billing.unanswered WHERE object > $1 ORDER BY object LIMIT $2",
      .text(last), .integer(countMax)
    ) { row in try row.text(0) }
    for key in objects.compactMap({ ObjectKey($0) }) {
      let job = try Jobs.find(Self.readJob, key.description, reading: transaction)
      let isWaitedFor = isReadable(key) && (job?.due != nil || job?.state == .dead)
      guard !isWaitedFor else { continue }
      _ = try Unanswered.end(key, in: transaction)
      try derive([key], cause: .policy, entry: nil, at: now, in: transaction)
    }
    return objects.count < countMax ? nil : objects.last
  }
}
