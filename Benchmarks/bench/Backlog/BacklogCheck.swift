internal import Base

/// What every account must have once the backlog is known, compared by SQL with what is stored.
struct BacklogCheck {
  private let workspace: Workspace
  private let database: String
  private let expected: String

  /// `database` is where the schedules are.
  init(_ plan: BacklogPlan, _ database: String, _ workspace: Workspace) throws(BenchError) {
    self.workspace = workspace
    self.database = database
    expected = workspace.file("expected.db")
    var lines = [
      "CREATE TABLE expected (number INTEGER PRIMARY KEY, account BLOB, end_ms INTEGER);", "BEGIN;",
    ]
    for index in 0..<plan.subscriptionCount {
      let account = BacklogPlan.account(index).filter { $0 != "-" }
      let end = plan.paidEnd(index).milliseconds
      lines.append("INSERT INTO expected VALUES (\(index), x'\(account)', \(end));")
    }
    lines.append("COMMIT;")
    let script = try workspace.write(Array(lines.joined(separator: "\n").utf8), "expected.sql")
    _ = try workspace.output("sqlite3", expected, ".read \(script)")
  }

  /// How many of the first `count` subscriptions' accounts have not what they must have: to be
  /// subscribed until the end of what is paid, and not beyond it.
  func wrongCount(ofFirst count: Int) throws(BenchError) -> Int {
    let text = try workspace.output(
      "sqlite3", "-readonly", database, "-cmd", "ATTACH 'file:\(expected)' AS wanted",
      """
      WITH told AS (
        SELECT (SELECT reason FROM entitlements s WHERE s.account_id = e.account
            AND s.from_ms < e.end_ms ORDER BY s.from_ms DESC LIMIT 1) AS until,
          (SELECT reason FROM entitlements s WHERE s.account_id = e.account
            AND s.from_ms = e.end_ms) AS beyond
        FROM wanted.expected e WHERE e.number < \(count))
      SELECT count(*) FROM told
      WHERE until IS NOT 'subscribed' OR beyond IS NULL OR beyond = 'subscribed'
      """)
    guard let wrong = Int(text.filter { !$0.isWhitespace }) else {
      throw .command("sqlite3 compared nothing: \(text)")
    }
    return wrong
  }
}
