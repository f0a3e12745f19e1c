import Base
import Storage
import TestEngines
import Testing

/// What operators see of the versions of documents, and how they restore one.
struct TreeHistoryTests: CommandSuite {
  private static let now = Instant(seconds: 1_772_445_300)
  private static let account = "0b5c0a2e-0000-4000-8000-000000000001"
  private static let document = Identifier(high: 1, low: 2)

  private let scratch: ScratchDirectory
  let environment: [String: String]

  /// Creates Ada with a document at version 7, whose versions 3 and 5 are kept.
  init() throws {
    let installation = try ScratchInstallation(at: Self.now)
    (scratch, environment) = (installation.scratch, installation.environment)
    try createAccounts(["ada": Self.account], in: scratch)
    let id = SQLValue.id(try #require(Identifier(Self.account)))
    let file = SQLValue.id(Self.document)
    let at = SQLValue.instant(Self.now - .days(1))
    try scratch.change(
      .sync,
      (
        """
        UPDATE sync.accounts SET seq = 7, usage_bytes = 2006, record_count = 2, history_bytes = 3,
          history_due_ms = 0 WHERE id = $1
        """, [id]
      ),
      (
        """
        INSERT INTO sync.files (id, owner_id, parent_id, kind, name, name_hmac, height, seq,
          content_version, content_bytes, deleted)
        SELECT $2, id, root_id, 'document', $2, $2, 0, 7, 7, 3, 0 FROM sync.accounts WHERE id = $1
        """, [id, file]
      ),
      (
        """
        INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
        VALUES ($1, 7, 1006, 'content_changed', $2, $3)
        """, [id, file, at]
      ),
      ("INSERT INTO sync.inline_contents (file_id, bytes) VALUES ($1, x'777777')", [file]),
      (
        """
        INSERT INTO sync.versions (file_id, version, owner_id, seq, replaced_ms, written_ms,
          author_key, content_bytes, object_id, bytes)
        VALUES ($2, 3, $1, 5, $3, $3, NULL, 1, NULL, x'33'),
          ($2, 5, $1, 7, $3, $3, NULL, 2, NULL, x'5555')
        """, [id, file, at]
      ))
  }

  @Test func `versions are listed newest first, of an account and of one document`() throws {
    for words in [["ada"], ["ada", Self.document.description]] {
      let listed = try Finished(["tree", "history"] + words + ["--json"], environment: environment)
      #expect(listed.code == 0, "\(listed.errors)")
      let places = [#""version":5,"bytes":2"#, #""version":3,"bytes":1"#].map {
        listed.out.firstRange(of: $0)?.lowerBound
      }
      #expect(places.allSatisfy { $0 != nil }, "\(listed.out)")
      #expect(places[0] ?? listed.out.startIndex < places[1] ?? listed.out.startIndex)
    }
    let other = try coffer("tree", "history", "ada", Identifier(high: 9, low: 9).description)
    #expect(!other.out.contains("2026"))
    let page = try coffer("tree", "history", "ada", "--after", "7")
    #expect(page.out.contains(Self.document.description))
    #expect(page.out.split(separator: "\n").count == 2)
  }

  @Test func `restoring is shown first, done with yes, and recorded`() throws {
    let words = ["tree", "restore", "ada", Self.document.description, "--to", "3"]
    func restore(_ more: String...) throws -> Finished {
      try Finished(words + more, environment: environment)
    }
    let shown = try restore("--reason", "ticket 4")
    #expect(shown.code == 3)
    #expect(try coffer("tree", "history", "ada").out.contains("  5  "))
    let done = try restore("--reason", "ticket 4", "--yes")
    #expect(done.code == 0, "\(done.errors)")
    #expect(done.out.contains("version   8\n"))
    let database = try scratch.database(of: .sync)
    let bytes = try database.read { reader in
      try reader.first(
        "SELECT bytes FROM sync.inline_contents WHERE file_id = $1", .id(Self.document)
      ) { try $0.blob(0) }
    }
    database.close()
    #expect(bytes == [0x33])
    #expect(try coffer("audit", "list", "--account", "ada").out.contains("tree restore"))
    #expect(try coffer("usage", "show", "ada").out.contains("right      yes\n"))
    let again = try restore("--reason", "ticket 4", "--yes")
    #expect(again.code != 0)
    #expect(again.errors.contains("no such version"))
  }

  @Test func `a file deleted yesterday is found in the trash and restored`() throws {
    let id = SQLValue.id(try #require(Identifier(Self.account)))
    let (file, at) = (SQLValue.id(Self.document), SQLValue.instant(Self.now - .days(1)))
    try scratch.change(
      .sync,
      (
        "UPDATE sync.files SET deleted = 1, deleted_ms = $2, trash_id = id WHERE id = $1",
        [file, at]
      ),
      (
        """
        INSERT INTO sync.trash (root_id, owner_id, seq, state, deleted_ms, deleted_by, parent_id,
          name, name_hmac, bytes, record_count, walked_seq)
        SELECT id, owner_id, 7, 'kept', $2, x'00', parent_id, name, name_hmac, 1003, 1, 0
        FROM sync.files WHERE id = $1
        """, [file, at]
      ), ("UPDATE sync.accounts SET trash_bytes = 1003 WHERE id = $1", [id]))
    let listed = try coffer("tree", "trash", "ada", "--json")
    #expect(
      listed.out.contains(#""file":"\#(Self.document)","records":1,"bytes":1003"#), "\(listed)")
    #expect(try coffer("usage", "show", "ada").out.contains("right      yes\n"))
    let words = ["tree", "restore", "ada", Self.document.description, "--reason", "ticket 19"]
    #expect(try Finished(words, environment: environment).code == 3)
    let done = try Finished(words + ["--yes"], environment: environment)
    #expect(done.code == 0, "\(done.errors)")
    #expect(try coffer("usage", "show", "ada").out.contains("right      yes\n"))
    #expect(try coffer("audit", "list", "--account", "ada").out.contains("tree restore"))
    let again = try Finished(words + ["--yes"], environment: environment)
    #expect(again.errors.contains("The file is still being"))
  }

  @Test func `a folder gets a cap, which is shown first, set with yes, and removed`() throws {
    let database = try scratch.database(of: .sync)
    let root = try #require(
      try database.read { reader in
        try reader.first("SELECT root_id FROM sync.accounts") { row in try row.id(0) }
      })
    database.close()
    func cap(_ file: Identifier, _ size: String, _ more: String...) throws -> Finished {
      try Finished(
        ["tree", "cap", "ada", file.description, size, "--reason", "ticket 7"] + more,
        environment: environment)
    }
    #expect(try cap(root, "5GB").code == 3)
    let done = try cap(root, "5GB", "--yes")
    #expect(done.code == 0, "\(done.errors)")
    #expect(done.out.contains("cap   5 GB\nused  1 kB\n"), "\(done.out)")
    #expect(try coffer("audit", "list", "--account", "ada").out.contains("tree cap"))
    #expect(try coffer("usage", "show", "ada").out.contains("right      yes\n"))
    let removed = try cap(root, "none", "--yes", "--json")
    #expect(removed.out.contains(#""cap":null,"used":null"#), "\(removed.out)")
    #expect(try cap(Self.document, "5GB", "--yes").errors.contains("Only a folder has a cap."))
    #expect(try cap(root, "much", "--yes").errors.contains("much is no size"))
    #expect(try cap(Identifier(high: 9, low: 9), "1GB", "--yes").code != 0)
  }
}
