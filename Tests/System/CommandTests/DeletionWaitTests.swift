import Glibc
import Storage
import TestEngines
import TestFiles
import Testing

/// Deleting an account in one command: `coffer account delete --wait`.
struct DeletionWaitTests: CommandSuite {
  private static let reason = ["--reason", "ticket 9", "--yes"]

  private let database: ScratchDatabase
  private let scratch: ScratchDirectory
  let environment: [String: String]

  init() throws { try self.init(.sqlite) }

  private init(_ engine: TestEngine) throws {
    database = try ScratchDatabase(engine)
    scratch = try ScratchDirectory()
    environment = ["COFFER_DATABASE": database.setting]
    #expect(try coffer("migrate").code == 0)
    let created = try coffer(
      "account", "create", "--username", "ada", "--key-file", scratch.path + "/ada.key")
    #expect(created.code == 0, "\(created.errors)")
  }

  private func delete(_ words: String...) throws -> Finished {
    try Finished(["account", "delete", "ada"] + words + Self.reason, environment: environment)
  }

  /// Starts a command that waits. Its messages go to the file `errors`.
  private func beginWaiting() throws -> (child: pid_t, out: String, errors: String) {
    let (out, errors) = (scratch.path + "/out", scratch.path + "/errors")
    let child = try Finished.start(
      Binaries.directory + "/coffer",
      ["account", "delete", "ada", "--now", "--wait"] + Self.reason, environment, out: out,
      errors: errors)
    wait { Files.text(errors)?.contains("sync waiting") == true }
    return (child, out, errors)
  }

  /// Waits for a minute at most.
  private func wait(until isSo: () -> Bool) {
    for _ in 0..<6000 {
      if isSo() { return }
      usleep(10_000)
    }
  }

  private func write(_ sql: String, owning schema: Schema) throws {
    let opened = try Database.open(database.location, owning: schema)
    defer { opened.close() }
    try opened.write(for: nil) { transaction in _ = try transaction.execute(sql) }
  }

  @Test(arguments: TestEngine.available)
  func `it returns once both programs have erased the account, and shows each part`(
    engine: TestEngine
  ) throws {
    let suite = try DeletionWaitTests(engine)
    try suite.write(
      """
      INSERT INTO billing.rules_in_force (id, number, digest, catalogue, content, applied, since_ms)
      VALUES (1, 1, '', '', '', 1, 0)
      """, owning: .billing)
    let waiting = try suite.beginWaiting()
    try suite.write(
      "UPDATE sync.account_deletions SET begun_ms = 1, erased_ms = 1000", owning: .sync)
    suite.wait { Files.text(waiting.errors)?.contains("sync erased, billing waiting") == true }
    try suite.write(
      """
      INSERT INTO billing.account_deletions (account_id, state, begun_ms, asked_ms, erased_ms)
      SELECT account_id, 'erased', asked_ms, asked_ms, 2000 FROM sync.account_deletions
      """, owning: .billing)
    #expect(try Finished.code(of: waiting.child) == 0)
    let out = try #require(Files.text(waiting.out))
    #expect(
      out.hasSuffix(
        """
        state    erased, 1970-01-01T00:00:02Z
        sync     erased
        billing  erased
        stores   stopped

        """), "\(out)")
    #expect(
      Files.text(waiting.errors) == """
        coffer: sync waiting, billing waiting, stores waiting
        coffer: sync erased, billing waiting, stores waiting
        coffer: sync erased, billing erased, stores stopped

        """)
  }

  @Test func `it waits no longer than told, says how to look again, and the deletion goes on`()
    throws
  {
    let unfinished = try delete("--now", "--wait", "--timeout", "1s", "--json")
    #expect(unfinished.code == 75)
    #expect(
      unfinished.errors.contains(
        #/coffer: not done after 1 s; the deletion of \S+ continues: coffer find \S+ shows its state\n$/#
      ),
      "\(unfinished.errors)")
    #expect(
      unfinished.out.contains(
        #""done":true"#) && unfinished.out.contains(#""state":"waiting","erased":null"#),
      "\(unfinished.out)")
    #expect(try coffer("deletion", "list", "--json").out.contains(#""state":"waiting""#))
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a signal ends the waiting, and the deletion goes on`(signal: Int32) throws {
    let waiting = try beginWaiting()
    #expect(kill(waiting.child, signal) == 0)
    #expect(try Finished.code(of: waiting.child) == 128 + signal)
    let said = try #require(Files.text(waiting.errors))
    #expect(
      said.contains(#/coffer: interrupted; the deletion of \S+ continues: coffer find \S+ shows/#),
      "\(said)")
    #expect(Files.text(waiting.out)?.contains("state    waiting") == true)
    #expect(try coffer("deletion", "list", "--json").out.contains(#""state":"waiting""#))
  }

  @Test func `a deletion that is cancelled meanwhile is not waited for`() throws {
    let waiting = try beginWaiting()
    let cancelled = try Finished(
      ["deletion", "cancel", "ada"] + Self.reason, environment: environment)
    #expect(cancelled.code == 0, "\(cancelled.errors)")
    #expect(try Finished.code(of: waiting.child) == 1)
    #expect(Files.text(waiting.errors)?.hasSuffix("was cancelled meanwhile\n") == true)
  }

  @Test(arguments: [
    (["--wait"], "later than --wait waits: give --now or a longer --timeout"),
    (["--wait", "--export-first"], "--wait and --export-first exclude each other"),
    (["--now", "--timeout", "5s"], "--timeout is for --wait"),
    (["--now", "--wait", "--timeout", "soon"], "--timeout takes a length of time"),
  ])
  func `what could not be waited for is refused before anything is done`(
    words: [String], line: String
  ) throws {
    let refused = try Finished(
      ["account", "delete", "ada"] + words + Self.reason, environment: environment)
    #expect(refused.code == 64)
    #expect(refused.errors.contains(line), "\(refused.errors)")
    #expect(try coffer("deletion", "list", "--json").out.contains(#""deletions":[]"#))
  }
}
