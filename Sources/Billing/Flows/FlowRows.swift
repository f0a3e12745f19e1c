package import Base
import JSON
package import Storage

/// Flows as rows of the table.
package enum FlowRows {
  private static let columns = """
    id, account_id, asked, step, state, status, problem, client_action, revision, created_ms,
    step_ms, closed_ms
    """

  private static func flow(_ row: borrowing Row) throws -> Flow {
    let intention = try Intention(text: try row.text(2))
    let state = try JSON.parse(Array(try row.text(4).utf8)).members ?? []
    guard let step = Flow.Step(rawValue: try row.text(3)),
      let status = Flow.Status(rawValue: try row.text(5))
    else {
      throw JSONError(code: .wrongType, message: "a flow of another version of the program")
    }
    let pairs = state.compactMap { member in
      Flow.Key(rawValue: member.name).flatMap { key in member.value.string.map { (key, $0) } }
    }
    return Flow(
      id: try row.id(0), account: try row.id(1), intention: intention, step: step,
      state: Dictionary(pairs) { $1 }, status: status,
      problem: try row.optionalText(6).map { FlowProblem(text: $0) },
      sealedAction: try row.optionalBlob(7), revision: try row.integer(8),
      created: try row.instant(9), stepSince: try row.instant(10),
      closed: try row.optionalInstant(11))
  }

  package static func find(_ id: Identifier, reading reader: some Queryable) throws -> Flow? {
    try reader.first(
      "SELECT \(columns) FROM billing.flows WHERE id = $1", .id(id), row: flow)
  }

  /// The account's open flow of those kinds that it may run one at a time.
  static func open(of account: Identifier, reading reader: some Queryable) throws -> Flow? {
    try reader.first(
      """
      SELECT \(columns) FROM billing.flows
      WHERE account_id = $1 AND closed_ms IS NULL AND exclusive = 1
      """, .id(account), row: flow)
  }

  /// The account's flows, newest first.
  package static func newest(
    of account: Identifier, limit: Int, reading reader: some Queryable
  ) throws -> [Flow] {
    try reader.rows(
      """
      SELECT \(columns) FROM billing.flows WHERE account_id = $1
      ORDER BY created_ms DESC, id DESC LIMIT $2
      """, .id(account), .integer(limit), row: flow)
  }

  static func lastChange(of account: Identifier, reading reader: some Queryable) throws -> Flow? {
    try reader.first(
      """
      SELECT \(columns) FROM billing.flows WHERE account_id = $1 AND kind = 'change'
      ORDER BY created_ms DESC, id DESC LIMIT 1
      """, .id(account), row: flow)
  }

  /// The account's flows that ended with a problem, the latest first.
  package static func failed(
    of account: Identifier, limit: Int, reading reader: some Queryable
  ) throws -> [Flow] {
    try reader.rows(
      """
      SELECT \(columns) FROM billing.flows WHERE account_id = $1 AND problem IS NOT NULL
      ORDER BY coalesce(closed_ms, step_ms) DESC, id DESC LIMIT $2
      """, .id(account), .integer(limit), row: flow)
  }

  /// Open flows, the one longest at its step first. `last` is the last flow of the previous page.
  package static func open(
    limit: Int, after last: Flow? = nil, reading reader: some Queryable
  ) throws -> [Flow] {
    try reader.rows(
      """
      SELECT \(columns) FROM billing.flows
      WHERE closed_ms IS NULL AND (step_ms, id) > ($1, $2) ORDER BY step_ms, id LIMIT $3
      """, .integer(last?.stepSince.milliseconds ?? Int64.min), .blob(last?.id.bytes ?? []),
      .integer(limit), row: flow)
  }

  /// The number of open flows, counted up to `max`.
  package static func openCount(max: Int, reading reader: some Queryable) throws -> Int {
    Int(
      try reader.first(
        """
        SELECT count(*) FROM (SELECT 1 FROM billing.flows WHERE closed_ms IS NULL LIMIT $1) AS found
        """, .integer(max)
      ) { try $0.integer(0) } ?? 0)
  }

  /// The number of flows that the account began since `start`, and when it began the first of them.
  static func begun(
    by account: Identifier, since start: Instant, reading reader: some Queryable
  ) throws -> (count: Int64, first: Instant?) {
    try reader.first(
      """
      SELECT count(*), min(created_ms) FROM billing.flows
      WHERE account_id = $1 AND created_ms >= $2
      """, .id(account), .instant(start)
    ) { (try $0.integer(0), try $0.optionalInstant(1)) } ?? (0, nil)
  }

  /// Inserts a flow. Returns false if it is exclusive and another exclusive flow of the account is open.
  static func insert(_ flow: Flow, in transaction: Transaction) throws -> Bool {
    try transaction.execute(
      """
      INSERT INTO billing.flows (id, account_id, kind, asked, exclusive, step, state, status,
        problem, client_action, revision, created_ms, step_ms, closed_ms)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL, NULL, 0, $9, $9, NULL)
      ON CONFLICT DO NOTHING
      """, .id(flow.id), .id(flow.account), .text(flow.intention.kind.rawValue),
      .text(flow.intention.text), .integer(flow.intention.kind.isExclusive ? 1 : 0),
      .text(flow.step.rawValue), .text(flow.stateText), .text(flow.status.rawValue),
      .instant(flow.created)) > 0
  }

  /// Updates a flow. Returns false if it has been changed since it was read.
  static func store(_ flow: Flow, in transaction: Transaction) throws -> Bool {
    try transaction.execute(
      """
      UPDATE billing.flows SET step = $3, state = $4, status = $5, problem = $6,
        client_action = $7, revision = revision + 1, step_ms = $8, closed_ms = $9
      WHERE id = $1 AND revision = $2 AND closed_ms IS NULL
      """, .id(flow.id), .integer(flow.revision), .text(flow.step.rawValue), .text(flow.stateText),
      .text(flow.status.rawValue), .text(flow.problem?.text), .blob(flow.sealedAction),
      .instant(flow.stepSince), .instant(flow.closed)) > 0
  }

  /// Deletes an account's closed flows except the newest.
  static func prune(of account: Identifier, keeping count: Int, in transaction: Transaction) throws
  {
    try transaction.execute(
      """
      DELETE FROM billing.flows WHERE account_id = $1 AND closed_ms IS NOT NULL AND id NOT IN (
        SELECT id FROM billing.flows WHERE account_id = $1 ORDER BY created_ms DESC, id DESC LIMIT $2)
      """, .id(account), .integer(count))
  }
}

extension Flow {
  fileprivate var stateText: String {
    let members = state.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { JSONValue.Member($0.key.rawValue, .string($0.value)) }
    return String(decoding: JSONValue.object(members).encoded(), as: UTF8.self)
  }
}
