import Base
import Goldens
import JSON
import RecordedStories
import Storage
import TestEngines
import TestFiles
import Testing

struct AttentionTests {
  private static let now = Instant(seconds: 1_772_445_300)
  private static let ada = Identifier("00000000-0000-4000-8000-00000000000a")!
  private static let token = String(repeating: "5f2b", count: 16)

  private let scratch: ScratchDirectory
  private let environment: [String: String]

  init() throws {
    let installation = try ScratchInstallation(at: Self.now)
    (scratch, environment) = (installation.scratch, installation.environment)
  }

  private static func add(
    _ kind: String, _ object: String, _ about: String = "", hoursAgo: Int64,
    until: Instant = .distantFuture, in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.attention (object, kind, about, since_ms, until_ms)
      VALUES ($1, $2, $3, $4, $5)
      """, .text(object), .text(kind), .text(about), .instant(now - .hours(hoursAgo)),
      .instant(until))
  }

  private static func fill(_ transaction: Transaction) throws {
    try add(
      "unacknowledged", "google:live:purchase:\(token)", hoursAgo: 53, until: now + .hours(19),
      in: transaction)
    try add("unowned", "apple:live:subscription:2000000123456789", hoursAgo: 1, in: transaction)
    try add(
      "unknown_product", "stripe:live:subscription:sub_1", "price_'$(x)", hoursAgo: 90,
      in: transaction)
    try add("contradiction", "stripe:live:subscription:sub_2", hoursAgo: 0, in: transaction)
    // This one ended long ago.
    try add(
      "dispute", "stripe:live:subscription:sub_3", "dp_1", hoursAgo: 99, until: now - .hours(1),
      in: transaction)
    try transaction.execute(
      "INSERT INTO billing.double_payments (account_id, since_ms) VALUES ($1, $2)", .id(ada),
      .instant(now - .days(9)))
    try transaction.execute(
      "INSERT INTO billing.refused_claims (object, account_id, refused_ms) VALUES ($1, $2, $3)",
      .text("apple:live:subscription:2000000123456780"), .id(ada), .instant(now - .minutes(9)))
    try transaction.execute(
      "INSERT INTO billing.unanswered (object, since_ms) VALUES ($1, $2)",
      .text("stripe:live:subscription:sub_1"), .instant(now - .minutes(50)))
  }

  @Test func `what needs attention is listed, the most urgent first, and told by the exit code`()
    throws
  {
    try scratch.change(.billing, Self.fill)
    let text = try Finished(["attention"], environment: environment)
    #expect(text.code == 2)
    try expectGolden(text.out, "attention")
    let json = try Finished(["attention", "--json"], environment: environment)
    #expect(json.code == 2)
    try expectGolden(json.out, "attention-json")
    let first = try Finished(["attention", "--limit", "1"], environment: environment)
    #expect(first.out.hasSuffix("\n1 of 7; see --limit\n"))
  }

  @Test(arguments: [80, 120])
  func `a screen shows what is urgent and where to read on, at its width`(width: Int) throws {
    try scratch.change(.billing, Self.fill)
    try expectGolden(try Finished.screen("attention", width, environment), "attention-\(width)")
    try expectGolden(try Finished.screen("--help", width, environment), "help-\(width)")
  }

  @Test func `a runbook that names commands for a kind names the command that the list gives`()
    throws
  {
    let kinds = [
      "unknown_product", "unmapped_product", "contested_owner", "unowned", "irregular_payment",
      "paid_after_end", "reversal", "unknown_status", "unpaid_time", "contradiction", "dispute",
    ]
    try scratch.change(.billing) { transaction in
      for (number, kind) in kinds.enumerated() {
        try Self.add(
          kind, "stripe:live:subscription:sub_\(number)", "x", hoursAgo: 1, in: transaction)
      }
      try transaction.execute(
        "INSERT INTO billing.double_payments (account_id, since_ms) VALUES ($1, $2)", .id(Self.ada),
        .instant(Self.now))
      try transaction.execute(
        "INSERT INTO billing.refused_claims (object, account_id, refused_ms) VALUES ($1, $2, $3)",
        .text("apple:live:subscription:2000000123456780"), .id(Self.ada), .instant(Self.now))
    }
    let told = try Finished(["attention", "--json"], environment: environment).out
    let items = try #require(JSON.parse(Array(told.utf8))["items"].array)
    #expect(Set(items.compactMap { $0["kind"].string }).count == kinds.count + 2)
    let folder = "\(Files.repository)/ops/runbooks"
    let books = Files.names(in: folder).compactMap { Files.text("\(folder)/\($0)") }
    var named = 0
    for item in items {
      let kind = try #require(item["kind"].string)
      let words = try #require(item["command"].array).compactMap(\.string).prefix {
        $0.allSatisfy(\.isLetter)
      }
      let command = "coffer \(words.joined(separator: " "))"
      for book in books where book.contains("`\(kind)`") {
        named += 1
        #expect(book.contains(command), "\(kind): \(command) is not in its runbook")
      }
    }
    #expect(named >= 8)
  }

  @Test(arguments: [(95, "95 h "), (96, "4 d  ")] as [(Int64, String)])
  func `of the last days the hours that are left are told`(hours: Int64, told: String) throws {
    try scratch.change(.billing) { transaction in
      try Self.add(
        "unacknowledged", "google:live:purchase:\(Self.token)", hoursAgo: 1,
        until: Self.now + .hours(hours), in: transaction)
    }
    let text = try Finished(["attention"], environment: environment).out
    #expect(text.contains("! unacknowledged        60 min   \(told)    google:"), "\(text)")
  }

  /// One item of each kind that comes from rows. Derived items belong to a subscription that is not known.
  private static func fillEveryKind(_ transaction: Transaction) throws {
    for kind in [
      "unacknowledged", "dispute", "unowned", "contested_owner", "unknown_product",
      "irregular_payment", "paid_after_end", "reversal", "unmapped_product", "unknown_status",
      "unpaid_time", "contradiction", "still_billed",
    ] {
      try add(kind, "stripe:live:subscription:sub_1", "x", hoursAgo: 1, in: transaction)
    }
    try transaction.execute(
      "INSERT INTO billing.double_payments (account_id, since_ms) VALUES ($1, $2)", .id(ada),
      .instant(now))
    try transaction.execute(
      """
      INSERT INTO billing.unknown_accounts (account_id, since_ms, until_ms) VALUES ($1, $2, $3)
      """, .id(Identifier("00000000-0000-4000-8000-00000000000b")!), .instant(now - .hours(2)),
      .instant(now + .days(9)))
    try transaction.execute(
      "INSERT INTO billing.refused_claims (object, account_id, refused_ms) VALUES ($1, $2, $3)",
      .text("stripe:live:subscription:sub_1"), .id(ada), .instant(now))
    try transaction.execute(
      "INSERT INTO billing.unanswered (object, since_ms) VALUES ($1, $2)",
      .text("stripe:live:subscription:sub_2"), .instant(now))
    try transaction.execute(
      """
      INSERT INTO billing.unconfirmed (object, reason, since_ms)
      VALUES ('stripe:live:subscription:sub_1', 'SUBSCRIPTION_REVOKED', 0)
      """)
    try transaction.execute(
      """
      INSERT INTO billing.orders (number, subscription, kind, state, asked_ms)
      VALUES (7, 'stripe:live:subscription:sub_1', 'end', 'open', 0)
      """)
    try transaction.execute(
      """
      INSERT INTO billing.jobs (kind, object, requested, issued, committed, confirmations, attempts,
        refusals, dead, lane)
      VALUES ('read', 'stripe:live:subscription:sub_1', 1, 0, 0, 0, 9, 9, 1, 0)
      """)
    for (number, disposition) in ["recorded", "undecodable"].enumerated() {
      try transaction.execute(
        """
        INSERT INTO billing.deliveries (id, provider, environment, delivery_id, fingerprint, type,
          received_ms, decoder, disposition, conflicting, redelivery_count, sealed)
        VALUES ($1, 'stripe', 'live', $2, $3, 'invoice.paid', $4, 3, $5, $6, 0, $3)
        """, .integer(Int64(number) + 1), .text("evt_\(number)"), .blob([1]), .instant(now),
        .text(disposition), .integer(number == 0 ? 1 : 0))
    }
    try transaction.execute(
      """
      INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason, shrunk_ms)
      VALUES ($1, $2, 10, 'free', 'lapsed', $2)
      """, .id(ada), .instant(now - .hours(1)))
  }

  /// Without a key nothing is ordered at Stripe. No request is sent before --yes.
  private static let key = [
    "COFFER_STRIPE_API_KEY": "rk_live_0123456789",
    "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_0123456789abcdef",
    "COFFER_STRIPE_API_URL": "http://127.0.0.1:9",
  ]

  @Test func `the command that is shown beside each kind is one that coffer understands`() throws {
    try scratch.change(.billing, Self.fillEveryKind)
    try scratch.change(.sync) { transaction in
      try transaction.execute(
        """
        INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
        VALUES ($1, $2, 0, 500, 0)
        """, .id(Self.ada), .id(Self.ada))
      try transaction.execute(
        """
        INSERT INTO sync.device_keys (public_key, account_id, label, added_ms, last_session_ms)
        VALUES ($1, $2, 'lost', 0, 0)
        """, .blob([UInt8](repeating: 7, count: 32)), .id(Self.ada))
      for (queue, count) in [("deletions", Int64(3)), ("garbage", 2)] {
        try transaction.execute(
          """
          INSERT INTO sync.failing_items
            (queue, item, account_id, failure_count, since_ms, due_ms, reason)
          VALUES ($1, $2, $2, $3, 0, 0, 'a rule says no')
          """, .text(queue), .id(Self.ada), .integer(count))
      }
    }
    let list = try Finished(["attention", "--json"], environment: environment)
    let items = try JSON.parse(Array(list.out.utf8))["items"].requireArray()
    // All kinds except those about certificates.
    #expect(Set(items.map { $0["kind"].string }).count == 25)
    for item in items {
      let words = try item["command"].requireArray().map { word in
        switch word.string {
        case "<account>": Self.ada.description
        case "<file>": RecordedStory.cataloguePath
        default: word.string ?? ""
        }
      }
      let finished = try Finished(words, environment: environment.merging(Self.key) { $1 })
      #expect([0, 1, 3].contains(finished.code), "\(words): \(finished.errors)")
    }
  }

  @Test(arguments: [
    ("HTTP 503", "stripe has not answered; waiting: 1 read, e.g. HTTP 503", "jobs list"),
    (
      "the configuration is wrong: 401", "stripe has refused our key or settings; waiting: 1 read",
      "doctor --online"
    ),
    ("there is no such object", "stripe has refused this read; waiting: 1 read", "jobs list"),
  ])
  func `who has to do something about reads that fail is told`(
    error: String, told: String, command: String
  ) throws {
    try scratch.change(.billing) { transaction in
      try transaction.execute(
        "INSERT INTO billing.unanswered (object, since_ms) VALUES ($1, $2)",
        .text("stripe:live:subscription:sub_1"), .instant(Self.now - .minutes(50)))
      try transaction.execute(
        """
        INSERT INTO billing.jobs (kind, object, requested, issued, committed, confirmations,
          attempts, refusals, dead, due_ms, last_error)
        VALUES ('read', 'stripe:live:subscription:sub_1', 1, 1, 0, 0, 9, 3, 0, $1, $2)
        """, .instant(Self.now), .text(error))
    }
    let text = try Finished(["attention"], environment: environment).out
    let words = text.split { $0.isWhitespace }.joined(separator: " ")
    #expect(words.contains(told), "\(text)")
    #expect(text.contains("    coffer \(command)\n"), "\(text)")
  }

  @Test func `who is billed after an erasure can be helped here, or at the store alone`() throws {
    try scratch.change(.billing) { transaction in
      for object in ["stripe:live:subscription:sub_1", "apple:live:subscription:2000000123456789"] {
        try Self.add("still_billed", object, hoursAgo: 1, in: transaction)
      }
    }
    let text = try Finished(["attention"], environment: environment).out
    #expect(text.contains("coffer subscription cancel stripe:live:subscription:sub_1"))
    #expect(text.contains("coffer find apple:live:subscription:2000000123456789"))
    let words = text.split { $0.isWhitespace }.joined(separator: " ")
    #expect(words.contains("was erased; only the customer can cancel it, at the store"))
  }

  @Test func `what can wait is listed with exit code 0`() throws {
    try scratch.change(.billing) { transaction in
      try Self.add("contradiction", "stripe:live:subscription:sub_2", hoursAgo: 0, in: transaction)
    }
    let text = try Finished(["attention"], environment: environment)
    #expect(text.code == 0)
    #expect(text.out.hasPrefix("1 thing needs attention, 0 urgent\n"))
  }

  @Test func `nothing is said to be nothing`() throws {
    try scratch.change(.billing) { _ in }
    let text = try Finished(["attention"], environment: environment)
    #expect(text.code == 0)
    #expect(text.out == "nothing needs attention\n")
  }

  @Test func `words of others stay words in the command that is shown`() throws {
    try scratch.change(.billing) { transaction in
      try Self.add("contradiction", "stripe:live:subscription:$(x)'", hoursAgo: 0, in: transaction)
    }
    let text = try Finished(["attention"], environment: environment).out
    #expect(text.contains(#"coffer subscription read 'stripe:live:subscription:$(x)'\'''"#))
  }
}
