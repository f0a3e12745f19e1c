import Base
import Goldens
import Jobs
import RecordedStories
import Storage
import TestEngines
import TestFiles
import Testing

/// The recorded first purchase, delivered and shown by the command line.
struct ExplainTests {
  private static let story = RecordedStory.all.first {
    $0.name == "stripe/2025-03-31.basil/first-purchase"
  }!
  private static let account = story.account.description

  private let scratch: ScratchDirectory
  private let environment: [String: String]
  private let billing: Running

  init() throws {
    let shop = try FirstPurchase(adding: ["COFFER_ACTOR": "carol"])
    (scratch, environment, billing) = (shop.scratch, shop.environment, shop.billing)
  }

  @Test func `a purchase is explained down to the deliveries that say so`() throws {
    let text = try Finished(["entitlement", "explain", "ada"], environment: environment)
    try expectGolden(text.out, "explain")
    let json = try Finished(
      ["entitlement", "explain", Self.account, "--json"], environment: environment)
    try expectGolden(json.out, "explain-json")
  }

  @Test func `another time is explained: what held then, or what will if nothing more comes`()
    throws
  {
    for (name, time) in [("past", "2026-03-02T10:00:05Z"), ("future", "2026-05-01T00:00:00Z")] {
      let text = try Finished(
        ["entitlement", "explain", "ada", "--at", time], environment: environment)
      try expectGolden(text.out, "explain-\(name)")
    }
    let wrong = try Finished(
      ["entitlement", "explain", "ada", "--at", "yesterday"], environment: environment)
    #expect(wrong.code == 64)
    #expect(
      wrong.errors == """
        coffer: --at takes a time in UTC like 2026-01-05T10:00:00Z, a day like 2026-01-05, \
        seconds, or a span from now like 2h or 3d

        """)
  }

  @Test func `of a time behind its erasure nothing is told of an account's size`() throws {
    let asked = try Finished(
      ["account", "delete", "ada", "--reason", "she asked", "--yes"], environment: environment)
    #expect(asked.code == 0, "\(asked.errors)")
    let text = try Finished(
      ["entitlement", "explain", "ada", "--at", "2026-05-01"], environment: environment
    ).out
    #expect(text.contains("\nthen      erased, without further events\n"), "\(text)")
  }

  @Test func `no line of a terminal is wider than it or than 100 columns, unless that is wanted`()
    throws
  {
    let granted = try Finished(
      [
        "entitlement", "grant", "ada", "--plan", "plus", "--reason",
        String(repeating: "because of this and that ", count: 30), "--yes",
      ], environment: environment)
    #expect(granted.code == 0, "\(granted.errors)")
    for width in [80, 120] {
      let text = try Finished.screen("entitlement explain ada", width, environment)
      for line in text.split(separator: "\n") { #expect(line.count <= min(width, 100), "\(line)") }
      #expect(text.contains("…"))
    }
    let wide = try Finished.screen("entitlement explain ada --wide", 80, environment)
    let piped = try Finished(["entitlement", "explain", "ada"], environment: environment).out
    for text in [wide, piped] {
      #expect(text.contains("invoice in_1BVsOVLk4QzTmRvXcE0wtAYz"))
      #expect(text.contains("evt_1cntn2Lk4QzTmRvXcE0wKw7X"))
      #expect(!text.contains("…"))
    }
  }

  @Test func `the list of accounts shows the cap that holds now`() throws {
    let paid = try Finished(["account", "list"], environment: environment)
    #expect(paid.out.contains("30 GB  premium  subscribed"))
    // 2026-04-03T12:00:00Z, when the renewal's leeway has ended.
    try Files.write("1775217600000\n", to: scratch.path + "/clock")
    let lapsed = try Finished(["account", "list"], environment: environment)
    #expect(lapsed.out.contains("1 MB  free  lapsed"))
  }

  @Test func `a doctor tells whose schedule does not follow from what was paid`() throws {
    let right = try Finished(["doctor", "--all"], environment: environment)
    #expect(right.out.contains("as the facts say: 1 subscription"))
    try scratch.change(.billing) {
      _ = try $0.execute("UPDATE billing.entitlements SET cap_bytes = cap_bytes + 1")
    }
    let wrong = try Finished(["doctor", "--all"], environment: environment)
    #expect(wrong.code == 1)
    #expect(
      wrong.out.contains(
        "not as the facts say: 1 row of 1 subscription and 1 schedule, "
          + "the first is the schedule of the account \(Self.account)"))
  }

  private static let subscription = story.key(of: story.subscriptions[0])

  /// Creates another account that can receive the subscription.
  private func createHeir() throws {
    let created = try Finished(
      [
        "account", "create", "--username", "bob", "--public-key",
        "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=",
      ], environment: environment)
    #expect(created.code == 0, "\(created.errors)")
  }

  @Test func `what an account held before its subscription was transferred stays explained`()
    throws
  {
    try createHeir()
    try Files.write("1772800000000\n", to: scratch.path + "/clock")
    let transfer = try Finished(
      ["subscription", "transfer", Self.subscription, "bob", "--reason", "asked for it", "--yes"],
      environment: environment)
    #expect(transfer.code == 0, "\(transfer.errors)")
    let ada = try Finished(["entitlement", "explain", "ada"], environment: environment).out
    #expect(ada.contains("2026-03-02T10:00:06Z  30 GB  premium  subscribed"))
    #expect(ada.contains("because   lapsed"))
    let bob = try Finished(["entitlement", "explain", "bob"], environment: environment).out
    #expect(bob.contains("2026-03-06T12:26:40Z  30 GB  premium  subscribed"))
    #expect(!bob.contains("2026-03-02T10:00:00Z  30 GB"))
  }

  @Test func `who owns a subscription already is not given it, and owners are shown by name`()
    throws
  {
    try createHeir()
    func transfer(_ words: String...) throws -> Finished {
      try Finished(["subscription", "transfer"] + words, environment: environment)
    }
    let again = try transfer(Self.subscription, "ada", "--reason", "n", "--yes")
    #expect(again.code == 1)
    #expect(again.errors.hasSuffix("(ada) owns it already\n"), "\(again.errors)")
    let given = try transfer(Self.subscription, "bob", "--reason", "n", "--yes")
    let owner = try #require(given.out.split(separator: "\n").first { $0.hasPrefix("owner") })
    #expect(owner.contains("\(Self.account) (ada)") && owner.hasSuffix("(bob)"), "\(given.out)")
    let logged = try Finished(["audit", "list", "--json"], environment: environment).out
    #expect(!logged.contains("(ada)") && !logged.contains("(bob)"))
  }

  /// Stripe would have to stop billing, and no one would see why.
  @Test func `who leaves is given no subscription`() throws {
    try createHeir()
    let asked = try Finished(
      ["account", "delete", "bob", "--reason", "n", "--yes"], environment: environment)
    #expect(asked.code == 0, "\(asked.errors)")
    let refused = try Finished(
      ["subscription", "transfer", Self.subscription, "bob", "--reason", "n", "--yes"],
      environment: environment)
    #expect(refused.code == 1)
    #expect(
      refused.errors.hasSuffix(
        "(bob) is being deleted; coffer deletion cancel keeps it\n"))
  }

  /// The number that an operator finds on an App Store receipt.
  @Test func `a store's number names what is known, and what may be one or another is named whole`()
    throws
  {
    try createHeir()
    let number = "2000000282227029"
    func transfer() throws -> Finished {
      try Finished(
        ["subscription", "transfer", number, "bob", "--reason", "n", "--yes"],
        environment: environment)
    }
    let unknown = try transfer()
    #expect(unknown.code == 1)
    #expect(unknown.errors.contains("there is no record of apple:live:transaction:\(number): "))
    try copySubscription(as: "apple:sandbox:subscription:\(number)")
    #expect(try transfer().out.contains("apple:sandbox:subscription:\(number) belongs to"))
    try copySubscription(as: "apple:live:subscription:\(number)")
    let ambiguous = try transfer()
    #expect(ambiguous.code == 1)
    #expect(
      ambiguous.errors.hasSuffix(
        "is of more than one: name apple:live:subscription:\(number), "
          + "apple:sandbox:subscription:\(number)\n"), "\(ambiguous.errors)")
  }

  private func copySubscription(as object: String) throws {
    try scratch.change(.billing) { transaction in
      try transaction.execute(
        """
        INSERT INTO billing.subscriptions (object, environment, owner_evidence, label, will_renew,
          dirty, coverage, policy_version, catalogue_version, transition_count, updated_ms)
        SELECT $1, environment, owner_evidence, label, will_renew, dirty, coverage, policy_version,
          catalogue_version, transition_count, updated_ms
        FROM billing.subscriptions WHERE object = $2
        """, .text(object), .text(Self.subscription))
    }
  }

  @Test(arguments: [
    ("the provider answers 503", "Stripe has not answered since 2026-03-02T09:55:00Z"),
    (
      "the configuration is wrong: the provider answers 401",
      "Stripe has refused our key or settings since 2026-03-02T09:55:00Z "
        + "(coffer doctor --online checks it)"
    ),
    ("there is no such object", "Stripe has refused this read since 2026-03-02T09:55:00Z"),
  ])
  func `a read that fails is told with who has to do something about it`(
    error: String, told: String
  ) throws {
    let since = Instant(seconds: 1_772_445_300)
    try scratch.change(.billing) { transaction in
      try Jobs.request("read", Self.subscription, due: since + .days(9), in: transaction)
      try transaction.execute(
        "UPDATE billing.jobs SET last_error = $1, attempts = 1 WHERE object = $2", .text(error),
        .text(Self.subscription))
      try transaction.execute(
        "INSERT INTO billing.unanswered (object, since_ms) VALUES ($1, $2)",
        .text(Self.subscription), .instant(since))
    }
    let text = try Finished(
      ["entitlement", "explain", "ada", "--wide"], environment: environment
    ).out
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains(told), "\(text)")
  }

  @Test(arguments: [
    ["subscription", "transfer", Self.subscription, "bob", "--reason", "n", "--yes"],
    [
      "subscription", "release", "00000000-0000-4000-8000-000000000001", "--reason", "n", "--yes",
    ],
    ["entitlement", "grant", "bob", "--plan", "free", "--reason", "n", "--yes"],
    [
      "entitlement", "revoke", "bob", "--grant", "00000000-0000-4000-8000-000000000001",
      "--reason", "n", "--yes",
    ],
  ])
  func `a decision under other rules than the servers' is refused, and nothing is written`(
    words: [String]
  ) throws {
    try createHeir()
    let before = try Finished(["entitlement", "explain", "ada"], environment: environment).out
    let plans = try scratch.write(PlanTests.catalogue, to: "plans.json")
    for (setting, value, complaint) in [
      ("COFFER_PLANS", plans, "the catalogue of record is fixtures-1, digest "),
      ("COFFER_SANDBOX_ACCOUNTS", Self.account, "not those of coffer-billing"),
    ] {
      var other = environment
      other[setting] = value
      let refused = try Finished(words, environment: other)
      #expect(refused.code == 78, "\(setting)")
      #expect(refused.out.isEmpty)
      #expect(refused.errors.contains(complaint))
      let after = try Finished(["entitlement", "explain", "ada"], environment: environment).out
      #expect(after == before)
    }
  }

  @Test func `a database that no server has used yet takes decisions under any rules`() throws {
    let fresh = try ScratchDirectory()
    var environment = environment
    environment["COFFER_DATABASE"] = "sqlite://\(fresh.path)/database"
    environment["COFFER_PLANS"] = nil
    for words in [
      ["migrate"],
      [
        "account", "create", "--username", "bob", "--public-key",
        "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=",
      ], ["entitlement", "grant", "bob", "--plan", "premium", "--reason", "n", "--yes"],
      ["quota", "set", "bob", "1GB", "--reason", "n", "--yes"],
    ] {
      let done = try Finished(words, environment: environment)
      #expect(done.code == 0, "\(done.errors)")
    }
  }

  @Test func `a grant that was taken back is told as that`() throws {
    let granted = try Finished(
      ["entitlement", "grant", "ada", "--plan", "plus", "--reason", "n", "--yes", "--json"],
      environment: environment)
    let id = granted.out.split(separator: "\"").map(String.init)[3]
    // A day after the subscription's own end.
    try Files.write("1775304000000\n", to: scratch.path + "/clock")
    let revoked = try Finished(
      ["entitlement", "revoke", "ada", "--grant", id, "--reason", "enough", "--yes"],
      environment: environment)
    #expect(revoked.code == 0, "\(granted.out) \(revoked.errors)")
    let text = try Finished(["entitlement", "explain", "ada"], environment: environment).out
    #expect(text.contains("because   grant_revoked: the plan that we gave it has ended"))
  }

  @Test func `what an admin decided is told with its note, the newest first`() throws {
    let granted = try Finished(
      [
        "entitlement", "grant", "ada", "--plan", "plus", "--reason", "for a talk", "--yes",
        "--json",
      ],
      environment: environment)
    let grant = granted.out.split(separator: "\"").map(String.init)[3]
    try Files.write("1772800000000\n", to: scratch.path + "/clock")
    let revoked = try Finished(
      ["entitlement", "revoke", "ada", "--grant", grant, "--reason", "the talk is over", "--yes"],
      environment: environment)
    #expect(revoked.code == 0, "\(revoked.errors)")
    let text = try Finished(
      ["entitlement", "explain", "ada", "--wide"], environment: environment
    ).out
    let decisions = text.table(beneath: "decisions, newest first")
    #expect(decisions.first == "AT NUMBER DECISION ABOUT BY REASON")
    for (line, (decision, reason)) in zip(
      decisions.dropFirst(),
      [
        ("2026-03-06T12:26:40Z 5 revoke", "the talk is over"),
        ("2026-03-02T10:00:06Z 4 grant", "for a talk"),
      ])
    {
      #expect(line.hasPrefix("\(decision) \(grant) carol (Unix user "))
      #expect(line.hasSuffix(") \(reason)"))
    }
    #expect(decisions.count == 3)
    let json = try Finished(
      ["entitlement", "explain", "ada", "--json"], environment: environment
    ).out
    #expect(
      json.contains(#""decisions":[{"at":"2026-03-06T12:26:40Z","decision":5,"kind":"revoke","#))
    #expect(
      json.contains(#""account":"\#(Self.account)","about":"\#(grant)","actor":"carol (Unix user "#)
    )
    #expect(
      json.contains(#")","note":"the talk is over"},{"at":"2026-03-02T10:00:06Z","decision":4,"#))
    #expect(json.contains(#")","note":"for a talk"}]"#))
  }

  @Test func `a transfer's note is told of the account that got and of the one that lost`() throws {
    try createHeir()
    for (owner, note) in [("bob", "he pays for it"), (Self.account, "she pays for it after all")] {
      let transfer = try Finished(
        ["subscription", "transfer", Self.subscription, owner, "--reason", note, "--yes"],
        environment: environment)
      #expect(transfer.code == 0, "\(transfer.errors)")
    }
    for account in ["ada", "bob"] {
      let text = try Finished(
        ["entitlement", "explain", account, "--wide"], environment: environment
      ).out
      let decisions = text.table(beneath: "decisions, newest first")
      #expect(decisions.count == 3, "\(text)")
      #expect(decisions.dropFirst().first?.hasSuffix("she pays for it after all") == true)
      #expect(decisions.last?.hasSuffix("he pays for it") == true)
    }
  }

  @Test func `no note takes hold of a terminal or begins a line of its own`() throws {
    let note = "a\u{1B}[2Jb\u{9B}2Jc\nnow  always  30 GB\r\u{202E}d\u{2028}\u{7F}é"
    let granted = try Finished(
      ["entitlement", "grant", "ada", "--plan", "plus", "--reason", note, "--yes"],
      environment: environment)
    #expect(granted.code == 0, "\(granted.errors)")
    let text = try Finished(
      ["entitlement", "explain", "ada", "--wide"], environment: environment
    ).out
    #expect(text.contains("  note: a?[2Jb?2Jc?now  always  30 GB??d??é\n"))
    #expect(text.contains("  a?[2Jb?2Jc?now  always  30 GB??d??é\n"))
    let json = try Finished(
      ["entitlement", "explain", "ada", "--json"], environment: environment
    ).out
    #expect(
      json.contains(
        #""note":"a\u001B[2Jb\u009B2Jc\nnow  always  30 GB\r\u202Ed\u2028\u007Fé""#))
    for scalar in (text + json).unicodeScalars where scalar != "\n" {
      #expect(scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value))
    }
  }

  @Test func `a note is no longer than 1,000 bytes`() throws {
    for (count, code) in [(1000, 0), (1001, 64)] as [(Int, Int32)] {
      let note = String(repeating: "n", count: count)
      let granted = try Finished(
        ["entitlement", "grant", "ada", "--plan", "plus", "--reason", note, "--yes"],
        environment: environment)
      #expect(granted.code == code, "\(granted.errors)")
    }
  }
}

extension String {
  /// The lines of a table below a title, with single spaces.
  fileprivate func table(beneath title: String) -> [String] {
    split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      .drop { $0 != title }.dropFirst().prefix { !$0.isEmpty }
      .map { $0.split(separator: " ").joined(separator: " ") }
  }
}
