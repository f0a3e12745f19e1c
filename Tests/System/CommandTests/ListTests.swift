import Base
import Storage
import TestEngines
import TestFiles
import Testing

/// The message of a list that has more rows than it shows.
struct ListTests {
  private static let now = Instant(seconds: 1_790_000_000)

  /// A database with three of each thing, and settings for commands that use it.
  private static func filled(
    _ engine: TestEngine
  ) throws -> (database: ScratchDatabase, environment: [String: String]) {
    let database = try ScratchDatabase(engine, with: .schemas)
    let clock = database.directory.path + "/clock"
    try Files.write("\(now.milliseconds)\n", to: clock)
    var environment = ["COFFER_MODE": "test", "COFFER_TEST_CLOCK": clock, "COFFER_ACTOR": "carol"]
    environment["COFFER_DATABASE"] =
      switch database.location {
      case .sqlite(let directory): "sqlite://\(directory)"
      case .postgres(let url): String(decoding: url.exposed, as: UTF8.self)
      }
    let billing = try Database.open(database.location, owning: .billing)
    defer { billing.close() }
    let sync = try Database.open(database.location, owning: .sync)
    defer { sync.close() }
    for number in Int64(1)...3 {
      let account = SQLValue.id(Identifier(high: 7, low: UInt64(number)))
      try billing.write(for: nil) { try insert(number, of: account, in: $0) }
      try sync.write(for: nil) { transaction in
        _ = try transaction.execute(
          "INSERT INTO sync.account_deletions (account_id, asked_ms) VALUES ($1, $2)", account,
          .instant(now))
      }
      #expect(try Finished(["invite", "create"], environment: environment).code == 0)
    }
    return (database, environment)
  }

  private static func insert(
    _ number: Int64, of account: SQLValue, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.notices (account_id, number, id, made_ms, body, attempts)
      VALUES ($1, 1, 'msg', $2, '{}', 1)
      """, account, .instant(now))
    try transaction.execute(
      """
      INSERT INTO billing.reconciliations (provider, number, whole, began_ms, step, pages,
        examined, agreed, repaired, disputed, unreachable, updated_ms)
      VALUES ('stripe', $1, 0, $2, '', 0, 0, 0, 0, 0, 0, $2)
      """, .integer(number), .instant(now + .minutes(number)))
  }

  @Test(arguments: TestEngine.available)
  func `a list that goes on says of how many things it shows some`(engine: TestEngine) throws {
    let (database, environment) = try Self.filled(engine)
    defer { withExtendedLifetime(database) {} }
    for (list, things) in [
      (["audit", "list"], "entries"), (["audit", "list", "--actor", "carol"], "entries"),
      (["notice", "list"], "notices"), (["reconcile", "list"], "runs"),
      (["reconcile", "list", "--store", "stripe"], "runs"), (["deletion", "list"], "deletions"),
    ] {
      let page = try Finished(list + ["--limit", "2"], environment: environment)
      #expect(
        page.errors.hasPrefix("coffer: 2 of 3 \(things); continue with --after "), "\(page.errors)")
      #expect(try Finished(list, environment: environment).errors.isEmpty)
    }
  }
}
