import Base
import Goldens
import Storage
import TestEngines
import Testing

struct UsageCommandTests: CommandSuite {
  private static let now = Instant(seconds: 1_772_445_300)
  private static let account = "0b5c0a2e-0000-4000-8000-000000000001"
  private static let root = Identifier(high: 1, low: 1)
  private static let document = Identifier(high: 1, low: 2)

  private let scratch: ScratchDirectory
  let environment: [String: String]

  /// Creates Ada with a root and a document of 4096 bytes, and Bob, who has nothing.
  init() throws {
    let installation = try ScratchInstallation(at: Self.now)
    (scratch, environment) = (installation.scratch, installation.environment)
    try createAccounts(
      ["ada": Self.account, "bob": "0b5c0a2e-0000-4000-8000-000000000002"], in: scratch)
    let account = try #require(Identifier(Self.account))
    try scratch.change(
      .sync,
      (
        "UPDATE sync.files SET id = $2, parent_id = $2 WHERE owner_id = $1",
        [.id(account), .id(Self.root)]
      ),
      (
        "UPDATE sync.usage_entries SET file_id = $2 WHERE owner_id = $1",
        [.id(account), .id(Self.root)]
      ),
      (
        """
        UPDATE sync.accounts SET root_id = $2, seq = 3, usage_bytes = 6096, record_count = 2
        WHERE id = $1
        """, [.id(account), .id(Self.root)]
      ),
      (
        """
        INSERT INTO sync.files
          (id, owner_id, parent_id, kind, name, name_hmac, height, seq, content_version,
           content_bytes, deleted)
        VALUES ($1, $2, $3, 'document', $1, $1, 0, 3, 3, 4096, 0)
        """, [.id(Self.document), .id(account), .id(Self.root)]
      ),
      (
        """
        INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
        VALUES ($1, 2, 1000, 'record_created', $2, $3), ($1, 3, 4096, 'content_changed', $2, $3)
        """, [.id(account), .id(Self.document), .instant(Self.now)]
      ),
      (
        """
        INSERT INTO sync.transfers (owner_id, month, sent_bytes, received_bytes)
        VALUES ($1, 202602, 8192, 0), ($1, 202603, 0, 4096)
        """, [.id(account)]
      ))
  }

  /// Adds 100 bytes and one record to the total, but not to the ledger.
  private func corrupt() throws {
    try scratch.change(
      .sync,
      (
        """
        UPDATE sync.accounts SET usage_bytes = usage_bytes + 100, record_count = record_count + 1
        WHERE username = 'ada'
        """, []
      ))
  }

  @Test func `usage is shown to people with where it comes from`() throws {
    try expectGolden(try coffer("usage", "show", "ada").out, "usage-show")
  }

  @Test func `why an account is over its cap is told by part, folder and writer`() throws {
    try scratch.change(
      .sync,
      ("UPDATE sync.files SET content_bytes = 2000000 WHERE content_bytes > 0", []),
      (
        "UPDATE sync.accounts SET usage_bytes = 2002000, trash_bytes = 0 WHERE username = 'ada'",
        []
      ))
    let told = try coffer("usage", "explain", "ada")
    #expect(told.code == 0, "\(told.errors)")
    for line in ["over         1 MB\n", "live         2 MB\n", "trash        0 B\n"] {
      #expect(told.out.contains(line), "\(told.out)")
    }
    let json = try coffer("usage", "explain", "ada", "--json")
    #expect(json.out.contains(#""over":1002000"#), "\(json.out)")
    #expect(json.out.contains(#""folder":"\#(Self.root)","others":0,"records":2"#), "\(json.out)")
    #expect(json.out.contains(#""account":null,"others":0,"records":2"#), "\(json.out)")
  }

  @Test func `what was replaced of documents is history, and no part of the documents`() throws {
    try scratch.change(
      .sync,
      (
        """
        INSERT INTO sync.document_totals (account_id, seq, record_count, bytes, history_bytes)
        SELECT id, 3, 2, 700, 300 FROM sync.accounts WHERE username = 'ada'
        """, []
      ))
    for words in [["account", "show"], ["usage", "show"], ["usage", "explain"]] {
      let shown = try Finished(words + ["ada", "--json"], environment: environment).out
      #expect(shown.contains(#""history":300,"#), "\(shown)")
    }
    let told = try coffer("usage", "explain", "ada", "--json").out
    #expect(told.contains(#""documents":2400,"#), "\(told)")
  }

  @Test func `usage is shown to programs with where it comes from`() throws {
    try expectGolden(try coffer("usage", "show", "ada", "--json").out, "usage-show-json")
  }

  @Test func `the ledger is shown from its end, as far as asked`() throws {
    let out = try coffer("usage", "show", "ada", "--limit", "1").out
    #expect(out.contains("3  2026-03-02T09:55:00Z  content_changed"))
    #expect(!out.contains("2  2026-03-02T09:55:00Z  record_created"))
  }

  @Test func `a wrong total is shown as wrong`() throws {
    try corrupt()
    let shown = try coffer("usage", "show", "ada")
    #expect(shown.out.contains("right      no: coffer usage recount \(Self.account) corrects it\n"))
  }

  @Test func `a dry run finds what is wrong and corrects nothing`() throws {
    try corrupt()
    for _ in 0..<2 {
      let found = try coffer("usage", "recount", "ada", "--dry-run")
      #expect(found.code == 0)
      try expectGolden(found.out, "usage-recount-dry-run")
    }
  }

  @Test func `a recount corrects, and the next one finds all right`() throws {
    try corrupt()
    let corrected = try coffer("usage", "recount", "ada", "--json")
    #expect(corrected.code == 0)
    #expect(corrected.out.contains(#""recorded":6196,"ledger":6096,"counted":6096"#))
    #expect(corrected.out.contains(#""outcome":"corrected""#))
    let next = try coffer("usage", "recount", "ada")
    #expect(next.out.hasSuffix("right\n\n1 account, 0 corrected\n"))
    let shown = try coffer("usage", "show", "ada").out
    #expect(shown.contains("right      yes\n"))
    #expect(shown.contains("recount"))
  }

  @Test func `a recount of all lists what was wrong alone`() throws {
    try corrupt()
    let all = try coffer("usage", "recount", "--all")
    #expect(all.code == 0)
    #expect(all.out.split(separator: "\n").count == 3)
    #expect(all.out.hasSuffix("2 accounts, 1 corrected\n"))
    #expect(try coffer("usage", "recount", "--all").out == "2 accounts, 0 corrected\n")
  }

  @Test func `each correction is in the audit log with why it was made`() throws {
    try corrupt()
    _ = try coffer("usage", "recount", "--all", "--reason", "ticket 4")
    _ = try coffer("usage", "recount", "--all", "--reason", "ticket 5")
    let audit = try coffer("audit", "list", "--json").out
    #expect(audit.contains(#""act":"usage recount""#))
    #expect(audit.contains("ticket 4"))
    #expect(!audit.contains("ticket 5"))
    let entry = try coffer("audit", "list", "--account", "ada")
    #expect(entry.out.contains("usage recount"))
  }

  @Test func `an interrupted recount goes on behind an account`() throws {
    try corrupt()
    let rest = try coffer("usage", "recount", "--all", "--after", Self.account)
    #expect(rest.out == "1 account, 0 corrected\n")
    #expect(
      try coffer("usage", "recount", "ada", "--after", Self.account).errors
        == "coffer: --after is for --all\n")
  }

  @Test(arguments: [["ada", "--all"], []])
  func `a recount is of one account or of all`(words: [String]) throws {
    let finished = try Finished(["usage", "recount"] + words, environment: environment)
    #expect(finished.code == 64)
    #expect(finished.errors == "coffer: give one of <account> and --all\n")
  }

  @Test(arguments: [["usage", "show", "eve"], ["usage", "recount", "eve"]])
  func `an account that is not there is code 1`(words: [String]) throws {
    let finished = try Finished(words, environment: environment)
    #expect(finished.code == 1)
    #expect(finished.errors == "coffer: there is no account with the username eve\n")
  }
}
