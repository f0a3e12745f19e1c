import Base
import Crypto
import Goldens
import RecordedStories
import Storage
import TestEngines
import TestFiles
import Testing

struct FindTests {
  @Test func `a purchase and its account are found by whatever names them`() throws {
    let shop = try FirstPurchase()
    let hex = Hex.encode(Base64.standard.decode(FirstPurchase.key) ?? [])
    for text in [
      "ada", " ADA ", "acct: ada", "user:ada", FirstPurchase.account,
      FirstPurchase.account.uppercased(), FirstPurchase.key, hex, hex.uppercased(),
      FirstPurchase.subscription, FirstPurchase.story.subscriptions[0], "cus_wPybeVXKtex0ft",
      "in_1BVsOVLk4QzTmRvXcE0wtAYz", "invoice: bnnkfta7-0001", FirstPurchase.address,
      "  <Customer-2@Example.COM> ", "zoë  ångström", "#bnnkfta7-0001.", "...cus_wPybeVXKtex0ft…",
      "https://dashboard.stripe.com/acct_1/test/customers/cus_wPybeVXKtex0ft?tab=all#events",
      "<https://dashboard.stripe.com/customers/cus_wPybeVXKtex0ft/>",
    ] {
      let found = try shop.coffer("find", text)
      #expect(found.code == 0, "\(text): \(found.errors)")
      #expect(found.out.contains(FirstPurchase.subscription), "\(text)")
      #expect(found.out.contains("\(FirstPurchase.account)  ada"), "\(text)")
    }
  }

  @Test func `a finding is a table for people and a value for programs`() throws {
    let shop = try FirstPurchase()
    try expectGolden(try shop.coffer("find", FirstPurchase.address).out, "find")
    try expectGolden(try shop.coffer("find", FirstPurchase.address, "--json").out, "find-json")
  }

  @Test func `an event is found by its id and by its number, with the purchase and whose it is`()
    throws
  {
    let shop = try FirstPurchase()
    for text in [FirstPurchase.paid, "3", "#3", "event: #3"] {
      let found = try shop.coffer("find", text).out
      #expect(found.contains("\(FirstPurchase.account)  ada"), "\(text): \(found)")
      #expect(found.contains(FirstPurchase.subscription), "\(text): \(found)")
      #expect(found.contains(FirstPurchase.paid), "\(text): \(found)")
    }
  }

  @Test func `a file and a blob lead to the account that pays for them`() throws {
    let shop = try FirstPurchase()
    let blob = "00000000-0000-4000-8000-0000000000b1"
    try shop.write(
      """
      INSERT INTO sync.document_blobs (id, owner_id, seq, object_id, content_bytes)
      SELECT x'\(blob.filter { $0 != "-" })', id, 1, id, 5 FROM sync.accounts
      """, owning: .sync)
    let shown = try shop.coffer("account", "show", "ada", "--json").out
    let root = try #require(shown.firstMatch(of: #/"root":"([^"]*)"/#)).1
    for (id, by) in [(blob, "the id of its blob"), (String(root), "the id of its file")] {
      let found = try shop.coffer("find", id)
      #expect(found.code == 0, "\(found.errors)")
      #expect(found.out.contains("\(FirstPurchase.account)  ada"), "\(found.out)")
      #expect(found.out.contains(by), "\(found.out)")
    }
  }

  @Test func `a document leads to the account that holds it`() throws {
    let shop = try FirstPurchase()
    let document = "00000000-0000-4000-8000-0000000000d0"
    try shop.write(
      """
      INSERT INTO sync.document_versions (account_id, seq, document_id, author_key, counter,
        deleted, bytes, stored_ms, created_s, signature, clock)
      SELECT id, 1, x'\(document.filter { $0 != "-" })', zeroblob(32), 1, 1, 0, 1, 1, zeroblob(64), x''
      FROM sync.accounts
      """, owning: .sync)
    let found = try shop.coffer("find", document).out
    #expect(found.contains("\(FirstPurchase.account)  ada"), "\(found)")
    #expect(found.contains("the id of its document"), "\(found)")
  }

  @Test func `an account that was erased is none any more`() throws {
    let shop = try FirstPurchase()
    let account = FirstPurchase.account
    // By itself, coffer-billing would find this later than the test.
    try shop.write("DELETE FROM billing.jobs WHERE kind = 'leaving'", owning: .billing)
    try shop.write(
      """
      INSERT INTO sync.account_deletions (account_id, asked_ms, erase_ms, begun_ms, erased_ms)
      SELECT id, 1772445610000, 1772445611000, 1772445612000, 1772445613000 FROM sync.accounts
      """, owning: .sync)
    #expect(
      try shop.coffer("find", account).out.contains(
        "erasing, 2026-03-02T10:00:11Z (sync erased, billing waiting, stores waiting)"))
    try shop.write(
      """
      INSERT INTO billing.account_deletions (account_id, state, begun_ms, asked_ms, erased_ms)
      SELECT account_id, 'erased', asked_ms, asked_ms, 1772445614000 FROM sync.account_deletions
      """, owning: .billing)
    let found = try shop.coffer("find", account, "--json").out
    #expect(
      found.contains(
        #"{"account":"\#(account)","exists":false,"username":null,"#
          + #""deleted":"2026-03-02T10:00:14Z","deletion":"erased","by":"its id"}"#), "\(found)")
    #expect(try shop.coffer("find", account).out.contains("gone since 2026-03-02T10:00:14Z"))
    let purchase = try shop.coffer("find", FirstPurchase.story.subscriptions[0]).out
    #expect(purchase.contains("\(account)  -         gone since"), "\(purchase)")
  }

  @Test func `what an account claimed of another's is found by the claimant's name`() throws {
    let shop = try FirstPurchase()
    #expect(
      try shop.coffer(
        "account", "create", "--username", "bob", "--public-key",
        "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="
      ).code == 0)
    let shown = try shop.coffer("account", "show", "bob", "--json").out
    let bob = try #require(shown.firstMatch(of: #/"account":"([^"]*)"/#)).1
    let id = bob.filter { $0 != "-" }
    try shop.write(
      """
      INSERT INTO billing.refused_claims (object, account_id, refused_ms)
      VALUES ('\(FirstPurchase.subscription)', x'\(id)', 1772445610000)
      """)
    let found = try shop.coffer("find", "bob").out
    #expect(
      found.contains(
        "coffer subscription transfer \(FirstPurchase.subscription) \(bob) --reason <why>"),
      "\(found)")
    #expect(
      try shop.coffer("find", "bob", "--json").out.contains(
        #"{"refused":"2026-03-02T10:00:10Z","#
          + #""subscription":"\#(FirstPurchase.subscription)","account":"\#(bob)"}"#))
    let explained = try shop.coffer("entitlement", "explain", "bob", "--wide").out
    #expect(
      explained.contains(
        "coffer subscription transfer \(FirstPurchase.subscription) \(bob) --reason <why>"),
      "\(explained)")
  }

  @Test func `what a store names by an account is found before it was read`() throws {
    let shop = try FirstPurchase()
    let key = "btcpay:live:prepaid:\(FirstPurchase.account)"
    try shop.write(
      "INSERT INTO billing.read_requests (object, delivery, reason) VALUES ('\(key)', 1, 'told')",
      """
      INSERT INTO billing.jobs (kind, object, requested, issued, committed, confirmations, due_ms,
        attempts, refusals, dead, last_error, failing_since_ms)
      VALUES ('read', '\(key)', 1, 0, 0, 0, 1772445700000, 3, 0, 0, 'the provider answers 503',
        1772445610000)
      """)
    #expect(try shop.coffer("find", "ada").out.contains("known, and of no purchase\n  \(key)"))
    let explained = try shop.coffer("entitlement", "explain", "ada").out
    #expect(
      explained.contains(
        """
        \(key): not read yet
          to be read from the BTCPay server, next at 2026-03-02T10:01:40Z; because of told; the BTCPay
            server has not answered since 2026-03-02T10:00:10Z; 3 attempts failed in a row; the last: the
            provider answers 503
        """), "\(explained)")
  }

  @Test func `the database tells neither an address nor its digest`() throws {
    let shop = try FirstPurchase()
    let address = Array(FirstPurchase.address.utf8)
    let digest = SHA256.hash(address)
    let traces = [
      address, Array("Zoë Ångström".utf8), Array("zoë ångström".utf8), digest,
      Array(Hex.encode(digest).utf8), Array(Base64.standard.encode(digest).utf8),
    ]
    let paths = Files.paths(under: shop.scratch.path + "/database")
    #expect(paths.contains("billing.db"), "\(paths)")
    for path in paths {
      let bytes = try #require(Files.bytes("\(shop.scratch.path)/database/\(path)"))
      for trace in traces { #expect(!bytes.holds(trace), "\(path)") }
    }
  }

  @Test func `without the key an address is not looked for, and that is said`() throws {
    let shop = try FirstPurchase()
    let finished = try shop.coffer("find", FirstPurchase.address, without: "COFFER_SEARCH_KEY")
    #expect(finished.code == 1)
    #expect(
      finished.errors == """
        coffer: nothing is known about customer-2@example.com; e-mail addresses and names are not searched: \
        COFFER_SEARCH_KEY is not set

        """)
    let nothing = try shop.coffer("find", "sub_nobody")
    #expect(nothing.code == 1)
    #expect(nothing.errors == "coffer: nothing is known about sub_nobody\n")
    let name = try shop.coffer("find", "Zoë Ångström", without: "COFFER_SEARCH_KEY")
    #expect(name.errors.contains("COFFER_SEARCH_KEY is not set"))
    let part = try shop.coffer("find", "Zoë")
    #expect(
      part.errors == """
        coffer: nothing is known about Zoë; e-mail addresses and names are found only as a whole, under the \
        COFFER_SEARCH_KEY they were stored with

        """)
  }

  @Test func `the purchase of an account that is none is found, and that it is none`() throws {
    let shop = try FirstPurchase(isKnown: false)
    let found = try shop.coffer("find", "cus_wPybeVXKtex0ft").out
    #expect(found.contains("\(FirstPurchase.account)  -         is no account"))
    let released = try shop.coffer(
      "subscription", "release", FirstPurchase.account, "--reason", "gone", "--yes")
    #expect(released.code == 0, "\(released.errors)")
    let gone = try shop.coffer("find", FirstPurchase.account).out
    #expect(gone.contains("gone since 2026-03-02T10:00:06Z"))
    #expect(gone.contains("nobody"))
    let purchase = try shop.coffer("find", FirstPurchase.story.subscriptions[0]).out
    let time = "2026-03-02T10:00:06Z"
    #expect(purchase.contains("nobody; \(FirstPurchase.account) until \(time)"), "\(purchase)")
    #expect(
      purchase.contains("\(FirstPurchase.account)  -         gone since \(time)"), "\(purchase)")
  }
}

extension [UInt8] {
  fileprivate func holds(_ part: [UInt8]) -> Bool {
    guard let first = part.first else { return true }
    var rest = self[...]
    while let index = rest.firstIndex(of: first) {
      if self[index...].starts(with: part) { return true }
      rest = self[(index + 1)...]
    }
    return false
  }
}
