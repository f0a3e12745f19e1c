import Base
import Goldens
import Storage
import TestEngines
import Testing

/// What operators see of message logs, and that an archive carries them.
struct LogListTests: CommandSuite {
  private static let now = Instant(seconds: 1_772_445_300)
  private static let account = "0b5c0a2e-0000-4000-8000-000000000001"
  private static let log = Identifier(high: 1, low: 2)

  private let scratch: ScratchDirectory
  let environment: [String: String]

  /// Creates Ada with a log of two messages.
  init() throws {
    let installation = try ScratchInstallation(at: Self.now)
    (scratch, environment) = (installation.scratch, installation.environment)
    try createAccounts(["ada": Self.account], in: scratch)
    let id = SQLValue.id(try #require(Identifier(Self.account)))
    let (log, at) = (SQLValue.id(Self.log), SQLValue.instant(Self.now - .days(1)))
    try scratch.establishHistory()
    try scratch.change(
      .sync,
      (
        "UPDATE sync.accounts SET seq = 7, usage_bytes = 2131, record_count = 2 WHERE id = $1",
        [id]
      ),
      (
        """
        INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
        VALUES ($1, 7, 1131, 'messages_appended', $2, $3)
        """, [id, log, at]
      ),
      (
        """
        INSERT INTO sync.logs (id, owner_id, epoch_id, name, created_ms)
        VALUES ($2, $1, $2, x'01', $3)
        """, [id, log, at]
      ),
      (
        """
        INSERT INTO sync.log_epochs (id, owner_id, log_id, message_count, bytes)
        VALUES ($2, $1, $2, 2, 131)
        """, [id, log]
      ),
      (
        """
        INSERT INTO sync.log_messages (epoch_id, stamp, number, content)
        VALUES ($1, x'0000019CA0000000000030303030303030303030303030303030', 1, x'3333'),
          ($1, x'0000019CA0000000000130303030303030303030303030303030', 2, x'55')
        """, [log]
      ))
  }

  @Test func `logs are listed, and the usage shows them`() throws {
    let listed = try coffer("log", "list", "ada", "--json")
    #expect(listed.code == 0, "\(listed.errors)")
    #expect(listed.out.contains(#""messages":2,"bytes":131"#), "\(listed.out)")
    #expect(try coffer("find", Self.log.description).out.contains("the id of its log"))
    let shown = try coffer("account", "show", "ada", "--json").out
    #expect(
      shown.contains(#""types":[{"type":"log","records":1,"content":131}]"#), "\(shown)")
    let page = try coffer("log", "list", "ada", "--after", Self.log.description)
    #expect(!page.out.contains(Self.log.description))
    let usage = try coffer("usage", "show", "ada").out
    #expect(usage.contains("right      yes\n"), "\(usage)")
    #expect(usage.contains("messages_appended"))
    #expect(try coffer("usage", "explain", "ada", "--json").out.contains(#""logs":1131"#))
    #expect(try coffer("usage", "recount", "ada", "--dry-run").code == 0)
  }

  @Test func `a page after a log that is gone is refused, as it would look like the end`() throws {
    let page = try coffer("log", "list", "ada", "--after", Self.account)
    #expect(page.code == 1 && page.out.isEmpty, "\(page.out)")
    #expect(page.errors == "coffer: account \(Self.account) has no log \(Self.account)\n")
  }

  @Test func `an account is found by its log, and by its budget`() throws {
    let budget = "my-budget-7c3e"
    let account = SQLValue.id(try #require(Identifier(Self.account)))
    try scratch.change(.sync) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.actual_files (owner_id, file, log_id, name, format)
        VALUES ($1, $2, $3, $2, 2)
        """, account, .text(budget), .id(Self.log))
    }
    for text in [Self.log.description, budget] {
      let found = try coffer("find", text)
      #expect(found.code == 0, "\(found.errors)")
      #expect(found.out.contains("\(Self.account)  ada"), "\(found.out)")
    }
  }

  @Test func `a log that holds a budget is listed and shown with its id and name`() throws {
    let account = SQLValue.id(try #require(Identifier(Self.account)))
    try scratch.change(.sync) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.actual_files (owner_id, file, log_id, name, format)
        VALUES ($1, $2, $3, $4, 2)
        """, account, .text("my-budget-7c3e"), .id(Self.log), .text("Household"))
    }
    let log = Self.log.description
    try expectGolden(try coffer("log", "list", "ada").out, "log-list")
    try expectGolden(try coffer("log", "list", "ada", "--json").out, "log-list-json")
    try expectGolden(try coffer("log", "show", "ada", log).out, "log-show")
    try expectGolden(try coffer("log", "show", "ada", log, "--json").out, "log-show-json")
  }

  @Test func `a log is shown with its shares`() throws {
    let log = Self.log.description
    #expect(try coffer("log", "show", "ada", log).out.contains("shares    -\n"))
    let account = SQLValue.id(try #require(Identifier(Self.account)))
    try scratch.change(.sync) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.log_shares (log_id, account_id, owner_id, mode, state, share_key,
          author_key, signature, granted_ms)
        VALUES ($1, $2, $2, $3, $4, $5, $5, $5, $6)
        """, .id(Self.log), account, .text("read"), .text("pending"), .blob([1]),
        .instant(Self.now))
    }
    let shown = try coffer("log", "show", "ada", log)
    #expect(
      shown.out.contains("shares    \(Self.account) may read, granted \(Self.now), pending\n"),
      "\(shown.out)")
    #expect(
      try coffer("log", "show", "ada", log, "--json").out.contains(
        #""mode":"read","state":"pending""#))
  }

  @Test func `an epoch that was replaced by mistake is taken back, and so is that`() throws {
    let (log, epoch) = (Self.log.description, "00000000-0000-0003-0000-000000000004")
    let refused = try coffer("log", "restore", "ada", log, "--reason", "ticket 4", "--yes")
    #expect(refused.code != 0)
    #expect(refused.errors.contains("keeps no epoch"), "\(refused.errors)")
    try replaceEpoch(by: #require(Identifier(epoch)))
    let shown = try coffer("log", "show", "ada", log)
    #expect(shown.out.contains("messages  0\n"), "\(shown.out)")
    #expect(shown.out.contains("kept      epoch \(log) with 2 messages"), "\(shown.out)")
    for (epoch, messages) in [(log, 2), (epoch, 0), (log, 2)] {
      let restored = try coffer(
        "log", "restore", "ada", log, "--reason", "ticket 4", "--yes", "--json")
      #expect(restored.code == 0, "\(restored.errors)")
      let json = try coffer("log", "show", "ada", log, "--json").out
      #expect(json.contains(#""epoch":"\#(epoch)","created""#), "\(json)")
      #expect(json.contains(#""messages":\#(messages),"bytes""#), "\(json)")
      #expect(try coffer("usage", "show", "ada").out.contains("right      yes\n"))
    }
    #expect(try coffer("audit", "list", "--account", "ada").out.contains("log restore"))
  }

  /// As a device does that begins an epoch by mistake.
  private func replaceEpoch(by epoch: Identifier) throws {
    let id = SQLValue.id(try #require(Identifier(Self.account)))
    let (log, end) = (SQLValue.id(Self.log), SQLValue.instant(Self.now + .days(9)))
    try scratch.change(
      .sync,
      ("UPDATE sync.log_epochs SET kept = 1, purge_ms = $2 WHERE id = $1", [log, end]),
      (
        """
        INSERT INTO sync.log_epochs (id, owner_id, log_id, message_count, bytes)
        VALUES ($1, $2, $3, 0, 0)
        """, [.id(epoch), id, log]
      ),
      ("UPDATE sync.logs SET epoch_id = $2 WHERE id = $1", [log, .id(epoch)]),
      (
        """
        INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
        VALUES ($1, 8, -131, 'epoch_begun', $2, $3)
        """, [id, log, .instant(Self.now)]
      ),
      ("UPDATE sync.accounts SET seq = 8, usage_bytes = 2000 WHERE id = $1", [id]))
  }

  @Test func `an archive carries logs to another installation`() throws {
    let archive = "\(scratch.path)/ada.coffer"
    let exported = try coffer("account", "export", "ada", "--to", archive)
    #expect(exported.code == 0, "\(exported.errors)")
    #expect(exported.out.contains("messages"), "\(exported.out)")
    let other = try ScratchInstallation(at: Self.now)
    _ = try Finished(["migrate"], environment: other.environment)
    try other.scratch.establishHistory()
    let imported = try Finished(
      ["account", "import", archive, "--unproven"], environment: other.environment)
    #expect(imported.code == 0, "\(imported.errors)")
    #expect(imported.out.contains("1 with 2 messages"), "\(imported.out)")
    let listed = try Finished(["log", "list", "ada", "--json"], environment: other.environment)
    #expect(listed.out.contains(#""messages":2,"bytes":131"#), "\(listed.out)")
    let usage = try Finished(["usage", "show", "ada"], environment: other.environment)
    #expect(usage.out.contains("right      yes\n"), "\(usage.out)")
    let again = try Finished(
      ["account", "export", "ada", "--to", archive + ".again"], environment: other.environment)
    func digest(_ output: String) -> Substring? {
      output.split(separator: "\n").first { $0.hasPrefix("sha256") }
    }
    #expect(digest(again.out) != nil)
    #expect(digest(again.out) == digest(exported.out))
    let checked = try Finished(
      ["doctor", "--deep", "--all"], environment: other.environment)
    #expect(checked.out.contains("logs"), "\(checked.out)")
    #expect(!checked.out.contains("logs         failed"), "\(checked.out)")
  }
}
