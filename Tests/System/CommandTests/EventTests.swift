import Goldens
import JSON
import RecordedStories
import TestEngines
import TestFiles
import Testing

struct EventTests {
  @Test func `deliveries are listed, and one is told with what it changed`() throws {
    let shop = try FirstPurchase()
    try expectGolden(try shop.coffer("event", "list").out, "event-list")
    try expectGolden(
      try shop.coffer("event", "list", "--json", "--limit", "1").out, "event-list-json")
    try expectGolden(try shop.coffer("event", "show", FirstPurchase.paid).out, "event-show")
    try expectGolden(
      try shop.coffer("event", "show", FirstPurchase.paid, "--json").out, "event-show-json")
    let page = try shop.coffer("event", "list", "--account", "ada", "--limit", "2")
    #expect(page.errors == "coffer: 2 of 3 deliveries; continue with --after 2\n")
    let rest = try shop.coffer("event", "list", "--account", "ada", "--after", "2")
    #expect(rest.out.contains("checkout.session.completed") && rest.errors.isEmpty)
    let typed = try shop.coffer("event", "list", "--type", "invoice.paid", "--store", "stripe").out
    #expect(typed.split(separator: "\n").count == 2)
    #expect(
      try shop.coffer("event", "list", "--without-effect").out.split(separator: "\n").count == 1)
  }

  @Test(arguments: [
    ("1s", 2), ("3w", 3), ("2026-03-02", 3), ("2026-03-03", 0), ("2026-03-02T10:00:06Z", 1),
    ("1772445606", 1), ("+1s", 0),
  ])
  func `since when is a time, a day, or a span that has passed`(since: String, count: Int) throws {
    let shop = try FirstPurchase()
    let listed = try shop.coffer("event", "list", "--since", since)
    #expect(listed.code == 0, "\(listed.errors)")
    #expect(listed.out.split(separator: "\n").count == 1 + count, "\(listed.out)")
  }

  @Test func `what is no time, and an account that nobody heard of, are refused`() throws {
    let shop = try FirstPurchase()
    for text in ["3x", "h", "2h3", "+", "1234567d", "2026-02-30", "yesterday"] {
      #expect(try shop.coffer("event", "list", "--since", text).code == 64, "\(text)")
    }
    let unheard = "00000000-0000-8000-8000-000000000001"
    let finished = try shop.coffer("event", "list", "--account", unheard)
    #expect(finished.code == 1)
    #expect(finished.errors == "coffer: there is no account \(unheard)\n")
  }

  @Test func `a delivery is named by its id or its number, which a shell takes bare`() throws {
    let shop = try FirstPurchase()
    let shown = try shop.coffer("event", "show", FirstPurchase.paid).out
    #expect(try shop.coffer("event", "show", "3").out == shown)
    #expect(try shop.coffer("event", "show", "#3").out == shown)
    let without = try shop.coffer("whatif", "--without", FirstPurchase.paid).out
    #expect(try shop.coffer("whatif", "3").out == without)
    for words in [["whatif"], ["whatif", "3", "--without", "3"]] {
      let refused = try Finished(words, environment: shop.environment)
      #expect(refused.errors == "coffer: whatif needs one <event>; see --help\n")
    }
  }

  @Test func `what reads what was derived goes on where another catalogue is given`() throws {
    let shop = try FirstPurchase()
    let plans = shop.scratch.path + "/plans.json"
    let other = String(
      decoding: try #require(Files.bytes(RecordedStory.cataloguePath)), as: UTF8.self)
    try Files.write(other.replacing("Premium", with: "Grand"), to: plans)
    let environment = shop.environment.merging(["COFFER_PLANS": plans]) { $1 }
    #expect(try Finished(["entitlement", "explain", "ada"], environment: environment).code == 78)
    for words in [["attention"], ["find", "ada"], ["event", "list"]] {
      let finished = try Finished(words, environment: environment)
      #expect(finished.code == 0, "\(words) \(finished.errors)")
    }
  }

  @Test func `the secrets that prove deliveries are told with when they last did`() throws {
    let shop = try FirstPurchase()
    try expectGolden(try shop.coffer("webhook", "proofs").out, "webhook-proofs")
    try expectGolden(try shop.coffer("webhook", "proofs", "--json").out, "webhook-proofs-json")
  }

  @Test func `what would be had a delivery not come is told, and nothing is changed`() throws {
    let shop = try FirstPurchase()
    let before = try shop.coffer("entitlement", "explain", "ada").out
    try expectGolden(try shop.coffer("whatif", "--without", FirstPurchase.paid).out, "whatif")
    try expectGolden(
      try shop.coffer("whatif", "--without", FirstPurchase.paid, "--json").out, "whatif-json")
    let dry = try shop.coffer("event", "replay", FirstPurchase.paid, "--dry-run")
    #expect(dry.code == 0, "\(dry.errors)")
    #expect(dry.out.contains("no entitlement would change"))
    #expect(!dry.out.contains("replayed"))
    #expect(try shop.coffer("entitlement", "explain", "ada").out == before)
    let asked = try shop.coffer("event", "replay", FirstPurchase.paid, "--reason", "ticket 17")
    #expect(asked.code == 3)
    let done = try shop.coffer(
      "event", "replay", FirstPurchase.paid, "--reason", "ticket 17", "--yes")
    #expect(done.code == 0, "\(done.errors)")
    #expect(done.out.hasSuffix("\nreplayed\n"))
    #expect(try shop.coffer("audit", "list").out.contains("event replay"))
    #expect(try shop.coffer("entitlement", "explain", "ada").out == before)
  }

  @Test(arguments: [
    ("2026-03-02T09:59:59Z", "1 MB, free, never_subscribed", "1 MB, free, never_subscribed"),
    ("2026-03-03", "30 GB, premium, subscribed", "30 GB, premium, leeway"),
    ("2026-03-05", "30 GB, premium, subscribed", "1 MB, free, lapsed"),
    ("+90d", "1 MB, free, lapsed", "1 MB, free, lapsed"),
  ])
  func `what would be had a delivery not come is told of any time`(
    time: String, before: String, after: String
  ) throws {
    let shop = try FirstPurchase()
    let told = try shop.coffer("whatif", FirstPurchase.paid, "--at", time)
    #expect(told.code == 0, "\(told.errors)")
    let line = try #require(told.out.split(separator: "\n").first { $0.contains("account ") })
    #expect(line.firstMatch(of: try Regex("\(before) +\(after)$")) != nil, "\(told.out)")
    let json = try shop.coffer("whatif", FirstPurchase.paid, "--at", time, "--json").out
    let then = try #require(try JSON.parse(Array(json.utf8))["then"].array?.first)
    #expect(then["before"]["reason"].string == before.split(separator: " ").last.map(String.init))
    #expect(then["after"]["reason"].string == after.split(separator: " ").last.map(String.init))
  }

  @Test func `where nothing would be another, whatif says why`() throws {
    let shop = try FirstPurchase()
    func reason(_ event: String) throws -> (name: String?, text: String) {
      let json = try shop.coffer("whatif", event, "--json").out
      let unchanged = try JSON.parse(Array(json.utf8))["unchanged"]
      let text = try shop.coffer("whatif", event).out
      #expect(text.contains("because \(unchanged["text"].string ?? "-")"), "\(text)")
      return (unchanged["reason"].string, text)
    }
    #expect(try reason("1").name == "owes_the_same")
    // The same invoice, reported again by another event; and an object of an unknown kind.
    let paid = "\(RecordedStory.folder)/\(FirstPurchase.story.name)/04-invoice.paid.http"
    let recorded = String(decoding: try #require(Files.bytes(paid)), as: UTF8.self)
    let again = "evt_1again" + FirstPurchase.paid.dropFirst(10)
    let other = "evt_1other" + FirstPurchase.paid.dropFirst(10)
    for (id, object) in [(again, "invoice"), (other, "quality")] {
      let fixture = "\(shop.scratch.path)/\(id).http"
      try Files.write(
        recorded.replacing(FirstPurchase.paid, with: id)
          .replacing("\"object\": \"invoice\"", with: "\"object\": \"\(object)\""), to: fixture)
      let sent = try shop.coffer("webhook", "send", fixture)
      #expect(sent.code == 0, "\(sent.errors)")
    }
    let (name, text) = try reason(FirstPurchase.paid)
    #expect(name == "outdated" || name == "said_again", "\(text)")
    #expect(text.contains(again), "\(text)")
    #expect(try reason(other).name == "says_nothing")
  }

  @Test func `what nobody could read is joined once a decoder can, with an entry in the audit log`()
    throws
  {
    let shop = try FirstPurchase()
    try shop.write(
      "DELETE FROM billing.mirrors WHERE delivery = 3",
      """
      UPDATE billing.deliveries SET disposition = 'undecodable', type = 'undecodable: a new word'
      WHERE id = 3
      """)
    let dry = try shop.coffer("event", "replay", "--undecodable", "--dry-run")
    #expect(dry.code == 0, "\(dry.errors)")
    try expectGolden(dry.out, "event-replay-undecodable")
    let asked = try shop.coffer("event", "replay", "--undecodable", "--reason", "ticket 17")
    #expect(asked.code == 3)
    #expect(try shop.coffer("event", "list").out.contains("undecodable"))
    let done = try shop.coffer(
      "event", "replay", "--undecodable", "--reason", "ticket 17", "--yes", "--json")
    #expect(done.code == 0, "\(done.errors)")
    try expectGolden(done.out, "event-replay-undecodable-json")
    #expect(try !shop.coffer("event", "list").out.contains("undecodable"))
    #expect(try shop.coffer("event", "show", FirstPurchase.paid).out.contains("invoice:"))
    #expect(try shop.coffer("audit", "list").out.contains("ticket 17"))
    // A run that continues does not read again what was joined.
    let rest = try shop.coffer("event", "replay", "--undecodable", "--dry-run", "--json")
    #expect(rest.out.hasPrefix(#"{"undecodable":0,"#))
  }

  @Test(arguments: [
    (["evt_1", "--undecodable"], "give one of <event> and --undecodable"),
    (["--dry-run"], "give one of <event> and --undecodable"),
    (["evt_1", "--after", "3"], "--after is for --undecodable"),
  ])
  func `one delivery is replayed, or all that could not be read`(
    words: [String], complaint: String
  ) throws {
    let shop = try FirstPurchase()
    let refused = try Finished(
      ["event", "replay"] + words + ["--reason", "x"], environment: shop.environment)
    #expect(refused.code == 64)
    #expect(refused.errors == "coffer: \(complaint)\n")
  }

  @Test func `a delivery for another account at Stripe has a warning in the log`() throws {
    let shop = try FirstPurchase()
    let paid = "\(RecordedStory.folder)/\(FirstPurchase.story.name)/04-invoice.paid.http"
    let recorded = String(decoding: try #require(Files.bytes(paid)), as: UTF8.self)
    let id = "evt_1alien" + FirstPurchase.paid.dropFirst(10)
    let fixture = shop.scratch.path + "/foreign.http"
    // Of the same length, as its header says.
    try Files.write(
      recorded.replacing(FirstPurchase.paid, with: id)
        .replacing(#""pending_webhooks": 1"#, with: #""account": "acct_1xx""#), to: fixture)
    let sent = try shop.coffer("webhook", "send", fixture)
    #expect(sent.code == 0, "\(sent.errors)")
    #expect(
      shop.billing.log.contains(
        "warning billing.delivery_without_effect why=foreign delivery=\(id) type=invoice.paid"))
  }

  @Test func `each delivery has a line in the log, and each refusal one by its request's id`()
    throws
  {
    let shop = try FirstPurchase()
    let line = try #require(
      shop.billing.log.split(separator: "\n").first { $0.contains(FirstPurchase.paid) })
    for part in [
      "info billing.delivery number=3 store=stripe", "type=invoice.paid disposition=joined",
      "status=recorded", "account=\(FirstPurchase.account)", "request=",
    ] {
      #expect(line.contains(part), "\(line)")
    }
    let folder = "\(RecordedStory.folder)/\(FirstPurchase.story.name)"
    let refused = try shop.coffer(
      "webhook", "send", "\(folder)/04-invoice.paid.http", "--at", "2026-01-05T10:00:00Z")
    let id = try #require(
      refused.out.split(separator: "urn:coffer:request:").last?.prefix { $0 != "\"" })
    _ = try shop.coffer(
      "webhook", "send", "\(folder)/04-invoice.paid.http", "--at", "2026-01-05T10:00:00Z")
    let log = shop.billing.log
    #expect(log.contains("info http.request request=\(id) status=400"), "\(refused.out) \(log)")
    #expect(log.contains("problem=signature_refused"))
    var list = ""
    for _ in 0..<200 where list.split(separator: "\n").count < 5 {
      list = try shop.coffer("event", "list", "--refused").out
    }
    #expect(list.contains("too-old") && list.contains(id), "\(list)")
    let part = try shop.coffer("event", "list", "--refused", "--limit", "1")
    #expect(part.errors == "coffer: 1 of 2 refused deliveries; --limit shows more\n")
  }
}
