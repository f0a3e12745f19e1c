import Base
import Crypto
import Storage
import TestEngines
import Testing

/// Public links as operators see and end them.
struct LinkCommandTests: CommandSuite {
  private static let now = Instant(seconds: 1_772_445_300)
  private static let account = "0b5c0a2e-0000-4000-8000-000000000001"
  private static let link = Identifier(high: 1, low: 2)
  private static let token = Base64.url.encode([UInt8](repeating: 7, count: 32))
  private static let url = "https://sync.example.com/p/\(token)"

  private let scratch: ScratchDirectory
  let environment: [String: String]

  /// Creates Ada with a link of 131 bytes.
  init() throws {
    let installation = try ScratchInstallation(at: Self.now)
    (scratch, environment) = (installation.scratch, installation.environment)
    try createAccounts(["ada": Self.account], in: scratch)
    let (id, link) = (SQLValue.id(try #require(Identifier(Self.account))), SQLValue.id(Self.link))
    let at = SQLValue.instant(Self.now - .days(1))
    let hash = SQLValue.blob(SHA256.hash(Array(Self.token.utf8)))
    try scratch.change(
      .sync,
      (
        "UPDATE sync.accounts SET seq = 7, usage_bytes = 2131, record_count = 2 WHERE id = $1",
        [id]
      ),
      (
        """
        INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
        VALUES ($1, 7, 1131, 'record_created', $2, $3)
        """, [id, link, at]
      ),
      (
        """
        INSERT INTO sync.public_links
          (owner_id, id, token_hash, seq, version, object_id, content_bytes, cache_seconds,
           created_ms)
        VALUES ($1, $2, $4, 7, 1, $2, 131, 60, $3)
        """, [id, link, at, hash]
      ))
  }

  @Test func `links are listed and counted, and the usage shows them`() throws {
    let listed = try coffer("link", "list", "ada", "--json")
    #expect(listed.code == 0, "\(listed.errors)")
    #expect(listed.out.contains(#""bytes":131,"version":1,"max_age":60"#), "\(listed.out)")
    #expect(!listed.out.contains(Self.token))
    let page = try coffer("link", "list", "ada", "--after", Self.link.description)
    #expect(!page.out.contains(Self.link.description))
    let shown = try coffer("account", "show", "ada").out
    #expect(shown.contains("links      1 public links\n"), "\(shown)")
    #expect(try coffer("usage", "show", "ada").out.contains("right      yes\n"))
    #expect(
      try coffer("usage", "explain", "ada", "--json").out.contains(#""public_links":1131"#))
  }

  @Test func `a reported URL leads to its account, with or without its fragment`() throws {
    for text in [Self.url, Self.url + "#key", Self.token] {
      let shown = try coffer("link", "show", text)
      #expect(shown.code == 0, "\(shown.errors)")
      #expect(shown.out.contains("account  \(Self.account)\n"), "\(shown.out)")
      #expect(shown.out.contains("link     \(Self.link)\n"), "\(shown.out)")
      #expect(!shown.out.contains(Self.token))
      #expect(try coffer("find", text).out.contains("its public link"))
    }
    #expect(try coffer("link", "show", String(Self.url.dropLast(2)) + "AA").code != 0)
    #expect(try coffer("link", "show", "https://sync.example.com/").code != 0)
  }

  @Test func `a link that has ended is shown as such until it is deleted`() throws {
    #expect(try coffer("link", "show", Self.url).out.contains("expires  -\n"))
    let end = Self.now - .seconds(1)
    try scratch.change(.sync, ("UPDATE sync.public_links SET expires_ms = $1", [.instant(end)]))
    let shown = try coffer("link", "show", Self.url)
    #expect(shown.out.contains("expires  \(end), ended: not served\n"), "\(shown.out)")
  }

  @Test func `a link is ended with a reason, which the audit log has`() throws {
    let asked = try coffer("link", "revoke", "ada", Self.link.description, "--reason", "report 4")
    #expect(asked.code != 0)
    #expect(try coffer("link", "show", Self.url).code == 0)
    let ended = try coffer(
      "link", "revoke", "ada", Self.link.description, "--reason", "report 4", "--yes")
    #expect(ended.code == 0, "\(ended.errors)")
    #expect(try coffer("link", "show", Self.url).code != 0)
    #expect(try coffer("usage", "show", "ada").out.contains("right      yes\n"))
    let audited = try coffer("audit", "list", "--account", "ada").out
    #expect(audited.contains("link revoke") && !audited.contains(Self.token), "\(audited)")
    let again = try coffer(
      "link", "revoke", "ada", Self.link.description, "--reason", "report 4", "--yes")
    #expect(again.errors.contains("no such link"), "\(again.errors)")
  }
}
