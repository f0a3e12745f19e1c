import Base
import Storage

/// The state of a job as a row of the table.
struct JobRow {
  let kind: String
  let object: String
  var state: JobState

  /// The columns that `init(_:)` reads, in its order.
  static let columns = """
    kind, object, payload, requested, issued, committed, settle_after_ms, confirmations, due_ms,
    held_until_ms, lease_until_ms, attempts, refusals, dead, last_error, next_due_ms,
    unsettled_since_ms, failing_since_ms, lane, trace, shallow
    """

  init(_ row: borrowing Row) throws {
    kind = try row.text(0)
    object = try row.text(1)
    state = JobState(
      payload: try row.optionalBlob(2), requested: try row.integer(3), issued: try row.integer(4),
      committed: try row.integer(5), settleAfter: try row.optionalInstant(6),
      confirmations: try row.integer(7), due: try row.optionalInstant(8),
      nextDue: try row.optionalInstant(15), unsettledSince: try row.optionalInstant(16),
      heldUntil: try row.optionalInstant(9), leaseUntil: try row.optionalInstant(10),
      attempts: try row.integer(11), refusals: try row.integer(12),
      failingSince: try row.optionalInstant(17), lane: try row.integer(18),
      isDead: try row.integer(13) == 1,
      lastError: try row.optionalText(14),
      trace: try row.optionalText(19).flatMap { TraceContext($0) },
      isShallow: try row.integer(20) == 1)
  }

  init(kind: String, object: String, state: JobState) {
    self.kind = kind
    self.object = object
    self.state = state
  }

  /// The row, locked until the transaction ends: an UPDATE is the lock on both engines.
  static func locked(
    _ kind: String, _ object: String, in transaction: Transaction
  ) throws -> JobRow? {
    try transaction.first(
      """
      UPDATE billing.jobs SET dead = dead WHERE kind = $1 AND object = $2
      RETURNING \(columns)
      """, .text(kind), .text(object)
    ) { try JobRow($0) }
  }

  /// Inserts a new job. Returns false if it exists.
  func insert(in transaction: Transaction) throws -> Bool {
    try transaction.execute(Self.insertion, values: values) > 0
  }

  private static let insertion = """
    INSERT INTO billing.jobs (\(columns))
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
      $20, $21)
    ON CONFLICT (kind, object) DO NOTHING
    """

  func store(in transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE billing.jobs SET payload = $3, requested = $4, issued = $5, committed = $6,
        settle_after_ms = $7, confirmations = $8, due_ms = $9, held_until_ms = $10,
        lease_until_ms = $11, attempts = $12, refusals = $13, dead = $14, last_error = $15,
        next_due_ms = $16, unsettled_since_ms = $17, failing_since_ms = $18, lane = $19,
        trace = $20, shallow = $21
      WHERE kind = $1 AND object = $2
      """, values: values)
  }

  /// The values in the order of `columns`.
  private var values: [SQLValue] {
    [
      .text(kind), .text(object), .blob(state.payload), .integer(state.requested),
      .integer(state.issued), .integer(state.committed), .instant(state.settleAfter),
      .integer(state.confirmations), .instant(state.due), .instant(state.heldUntil),
      .instant(state.leaseUntil), .integer(state.attempts), .integer(state.refusals),
      .integer(state.isDead ? 1 : 0), .text(state.lastError), .instant(state.nextDue),
      .instant(state.unsettledSince), .instant(state.failingSince), .integer(state.lane),
      .text(state.trace?.traceparent), .integer(state.isShallow ? 1 : 0),
    ]
  }
}
