package import Base
package import Storage

/// A job as an operator sees it.
package struct JobSummary: Sendable, Equatable {
  package enum State: String, Sendable {
    case waiting, running, dead, settled
  }

  package let kind: String
  package let object: String
  package let state: State
  /// When it is read next; nil if no read is due.
  package let due: Instant?
  /// When the oldest request that no read has settled was first due; failures do not move it.
  package let unsettledSince: Instant?
  /// When the failures began that no stored answer has ended.
  package let failingSince: Instant?
  package let leaseUntil: Instant?
  package let attempts: Int
  package let refusals: Int
  /// The numbers of the reads requested, issued and committed.
  package let requested: Int64
  package let issued: Int64
  package let committed: Int64
  package let lastError: String?

  init(_ row: JobRow) {
    let job = row.state
    kind = row.kind
    object = row.object
    state =
      job.isDead ? .dead : job.due == nil ? .settled : job.leaseUntil != nil ? .running : .waiting
    (due, leaseUntil) = (job.due, job.leaseUntil)
    (unsettledSince, failingSince) = (job.unsettledSince, job.failingSince)
    (attempts, refusals) = (Int(job.attempts), Int(job.refusals))
    (requested, issued, committed) = (job.requested, job.issued, job.committed)
    lastError = job.lastError
  }
}

/// The number of jobs of one kind in each state.
package struct JobCounts: Sendable, Equatable {
  package let kind: String
  /// Waiting or running.
  package let open: Int
  package let dead: Int
  /// When the open job that has waited longest was or is first due; failures do not move it.
  package let unsettledSince: Instant?
  /// When the first of its open jobs was or is due.
  package let earliestDue: Instant?

  package init(
    kind: String, open: Int, dead: Int, unsettledSince: Instant?, earliestDue: Instant?
  ) {
    self.kind = kind
    self.open = open
    self.dead = dead
    self.unsettledSince = unsettledSince
    self.earliestDue = earliestDue
  }
}

extension Jobs {
  /// Dead jobs first, then open ones in the order in which they are due; settled ones are not
  /// listed. `last` is the last job of the previous page.
  package static func list(
    _ reader: some Queryable, limit: Int, onlyDead: Bool = false, after last: JobSummary? = nil
  ) throws -> [JobSummary] {
    var dead: [JobSummary] = []
    if last.map({ $0.state == .dead }) ?? true {
      dead = try reader.rows(
        """
        SELECT \(JobRow.columns) FROM billing.jobs
        WHERE dead = 1 AND (kind, object) > ($1, $2) ORDER BY kind, object LIMIT $3
        """, .text(last?.kind ?? ""), .text(last?.object ?? ""), .integer(limit)
      ) { JobSummary(try JobRow($0)) }
    }
    guard !onlyDead, dead.count < limit else { return dead }
    let open = last.flatMap { $0.state == .dead ? nil : $0 }
    // The index alone selects the jobs, so that not every open job's row is read and sorted.
    return dead
      + (try reader.rows(
        """
        SELECT \(JobRow.columns) FROM billing.jobs
        WHERE (kind, object) IN (
          SELECT kind, object FROM billing.jobs
          WHERE due_ms IS NOT NULL AND (due_ms, kind, object) > ($1, $2, $3)
          ORDER BY due_ms, kind, object LIMIT $4)
        ORDER BY due_ms, kind, object
        """, .integer(open?.due?.milliseconds ?? Int64.min), .text(open?.kind ?? ""),
        .text(open?.object ?? ""), .integer(limit - dead.count)
      ) { JobSummary(try JobRow($0)) })
  }

  /// One job, settled or not; nil if it was never requested.
  package static func find(
    _ kind: String, _ object: String, reading reader: some Queryable
  ) throws -> JobSummary? {
    try reader.first(
      """
      SELECT \(JobRow.columns) FROM billing.jobs WHERE kind = $1 AND object = $2
      """, .text(kind), .text(object)
    ) { JobSummary(try JobRow($0)) }
  }

  /// Whether there ever was a job of the kind.
  package static func knows(_ kind: String, reading reader: some Queryable) throws -> Bool {
    try reader.first(
      "SELECT object FROM billing.jobs WHERE kind = $1 ORDER BY object LIMIT 1", .text(kind)
    ) { try $0.text(0) } != nil
  }

  /// The payload for the job's reader; nil if there is none.
  package static func payload(
    _ kind: String, _ object: String, reading reader: some Queryable
  ) throws -> [UInt8]? {
    try reader.first(
      "SELECT payload FROM billing.jobs WHERE kind = $1 AND object = $2", .text(kind), .text(object)
    ) { try $0.optionalBlob(0) } ?? nil
  }

  /// Counts by kind, for kinds that have an open or a dead job.
  package static func counts(_ reader: some Queryable) throws -> [JobCounts] {
    let open = try reader.rows(
      """
      SELECT kind, count(*), min(unsettled_since_ms), min(due_ms) FROM billing.jobs
      WHERE due_ms IS NOT NULL GROUP BY kind ORDER BY kind
      """
    ) { row in
      (
        kind: try row.text(0), count: Int(try row.integer(1)), since: try row.instant(2),
        due: try row.instant(3)
      )
    }
    let dead = try reader.rows(
      "SELECT kind, count(*) FROM billing.jobs WHERE dead = 1 GROUP BY kind ORDER BY kind"
    ) { (kind: try $0.text(0), count: Int(try $0.integer(1))) }
    return Set(open.map(\.kind) + dead.map(\.kind)).sorted().map { kind in
      let waiting = open.first { $0.kind == kind }
      return JobCounts(
        kind: kind, open: waiting?.count ?? 0,
        dead: dead.first { $0.kind == kind }?.count ?? 0, unsettledSince: waiting?.since,
        earliestDue: waiting?.due)
    }
  }

  /// The number of dead jobs of a kind.
  package static func deadCount(_ kind: String, reading reader: some Queryable) throws -> Int {
    Int(
      try reader.first(
        "SELECT count(*) FROM billing.jobs WHERE dead = 1 AND kind = $1", .text(kind)
      ) { try $0.integer(0) } ?? 0)
  }

  /// Makes a job due now for an operator, in whatever state it is. Returns false if there is no such job.
  package static func revive(
    _ kind: String, _ object: String, now: Instant, in transaction: Transaction
  ) throws -> Bool {
    guard var row = try JobRow.locked(kind, object, in: transaction) else { return false }
    row.state.revive(at: now)
    try row.store(in: transaction)
    return true
  }

  /// Drops a dead job for an operator, so that it counts as settled; also a waiting one if
  /// `isWaitingToo`. Returns false if it is neither.
  package static func drop(
    _ kind: String, _ object: String, isWaitingToo: Bool = false, in transaction: Transaction
  ) throws -> Bool {
    guard var row = try JobRow.locked(kind, object, in: transaction) else { return false }
    let isWaiting = row.state.due != nil && row.state.leaseUntil == nil
    guard row.state.isDead || (isWaitingToo && isWaiting) else { return false }
    row.state.drop()
    try row.store(in: transaction)
    return true
  }

  /// Revives at most `limit` dead jobs of a kind; returns how many it revived.
  package static func reviveDead(
    _ kind: String, limit: Int, now: Instant, in transaction: Transaction
  ) throws -> Int {
    let objects = try transaction.rows(
      "SELECT object FROM billing.jobs WHERE dead = 1 AND kind = $1 ORDER BY object LIMIT $2",
      .text(kind), .integer(limit)
    ) { try $0.text(0) }
    for object in objects { _ = try revive(kind, object, now: now, in: transaction) }
    return objects.count
  }
}
