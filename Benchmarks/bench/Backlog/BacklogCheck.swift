import Base

/// The expected state of every account once the backlog is known, compared with the stored one by SQL.
struct BacklogCheck {
  private let workspace: Workspace
  private let database: String
  private let expected: String

  /// `database` contains the schedules.
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

  /// The number of wrong accounts among those of the first `count` subscriptions. Each must be subscribed
  /// until the end of its paid time, and not beyond it.
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
