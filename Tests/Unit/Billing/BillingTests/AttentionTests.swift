import Answers
import Apple
import Base
import Crypto
import Goldens
import JSON
import Jobs
import KnownStores
import Ledger
import Storage
import Subscriptions
import TestEngines
import TestFiles
import Testing
import Tiers

/// Items that need attention are found, shown once, and removed when they are dealt with.
struct AttentionTests {
  @Test func `the alerts tell of each kind as urgent or not, as the list does`() throws {
    let rules = try #require(Files.text("\(Files.repository)/ops/watch/rules.yml"))
    let lists = rules.matches(of: #/coffer_billing_attention\{kind(=|!)~"([a-z_|]+)"\}/#)
    #expect(lists.map(\.1) == ["=", "!"])
    let urgent = Attention.Kind.allCases.filter(\.isUrgent).map(\.rawValue)
    for list in lists {
      #expect(list.2.split(separator: "|").map(String.init) == urgent)
    }
  }

  private static let told = [
    "apple/account-deleted", "apple/everything-else", "btcpay/overpaid",
    "btcpay/paid-late-then-accepted",
    "btcpay/underpaid", "google/unacknowledged",
    "stripe/2026-07-29.dahlia/active-without-an-invoice",
    "stripe/2026-07-29.dahlia/dispute-lost", "stripe/2026-07-29.dahlia/dispute-won",
    "stripe/2026-07-29.dahlia/duplicate-and-conflicting",
    "stripe/2026-07-29.dahlia/paid-after-deletion",
    "stripe/2026-07-29.dahlia/refunds-of-parts",
    "stripe/2026-07-29.dahlia/unknown-customer-linked-later",
    "stripe/2026-07-29.dahlia/unmapped-price",
  ]

  /// One list for each time at which the list changes.
  @Test func `what stories leave for a human is what was looked at`() throws {
    let text = try RecordedInstallation.told(Self.told) { installation, now in
      // Stories open no accounts.
      let items = try installation.attention(at: now).items.filter { $0.kind != .unknownAccount }
      return items.map { item in
        "  \(item.kind.rawValue) \(item.subject) [\(item.detail)] since \(item.since)"
          + (item.until.map { " until \($0)" } ?? "")
      }
    }
    try expectGolden(text, "attention")
  }

  private func kinds(
    _ database: Database, at now: Instant
  ) throws -> [Attention.Kind] {
    try database.read { reader in
      try AttentionList(at: now, limit: 100, stores: .known, reading: reader)
    }.items.map(\.kind)
  }

  private let ada = Random.identifier()
  private let bob = Random.identifier()
  private let original = "2000000\(Int64.random(in: 100_000_000...999_999_999))"

  private var key: ObjectKey {
    ObjectKey(provider: .apple, environment: .live, kind: .subscription, id: original)
  }

  private func claim(_ shop: Shop) throws -> JSONValue {
    [
      "provider": "apple",
      "transaction": .string(AppleSample.transaction(original, day: 0, signed: shop.now)),
    ]
  }

  @Test(arguments: TestEngine.available)
  func `a refused claim is told until somebody decides`(engine: TestEngine) throws {
    let shop = try Shop(engine)
    #expect(try shop.post(try claim(shop), by: shop.device(of: ada)) == (200, "owned"))
    let device = try shop.device(of: bob)
    for _ in 0..<2 {
      #expect(try shop.post(try claim(shop), by: device) == (409, "purchase_owned"))
    }
    let list = try shop.database.read { reader in
      try AttentionList(at: shop.now, limit: 9, stores: .known, reading: reader)
    }
    #expect(list.items.map(\.kind) == [.refusedClaim])
    #expect(list.items.first?.account == bob)
    #expect(list.items.first?.subject == key.description)
    try shop.decide(.transfer(bob, key, note: "it is his"))
    #expect(try kinds(shop.database, at: shop.now).isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `who pays twice, and a purchase that is nobody's, are told`(engine: TestEngine) throws {
    let shop = try Shop(engine)
    for number in 1...2 {
      let transaction = AppleSample.transaction(
        "\(number)\(original)", day: 0, account: ada, signed: day(1))
      #expect(try shop.notify("n\(number)", transaction, at: day(1)) == 200)
    }
    _ = try shop.device(of: ada)
    #expect(try kinds(shop.database, at: day(2)) == [.doublePayment])
    let unowned = AppleSample.transaction("3\(original)", day: 0, signed: day(1))
    #expect(try shop.notify("n3", unowned, at: day(1)) == 200)
    #expect(try kinds(shop.database, at: day(2)) == [.doublePayment, .unowned])
    // Its month is over, and the item with it.
    #expect(try kinds(shop.database, at: day(40)) == [.doublePayment])
  }

  @Test(arguments: TestEngine.available)
  func `an account that is paid for and is none is told after an hour, until the paid time ends`(
    engine: TestEngine
  ) throws {
    let shop = try Shop(engine)
    let transaction = AppleSample.transaction(original, day: 0, account: ada, signed: day(1))
    #expect(try shop.notify("n1", transaction, at: day(1)) == 200)
    #expect(try kinds(shop.database, at: day(1) + .minutes(59)).isEmpty)
    let list = try shop.database.read { reader in
      try AttentionList(at: day(1) + .minutes(60), limit: 9, stores: .known, reading: reader)
    }
    #expect(list.items.map(\.kind) == [.unknownAccount])
    #expect(list.items.map(\.account) == [ada])
    #expect(list.items.map(\.since) == [day(1)])
    #expect(try kinds(shop.database, at: day(40)).isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `an account that is opened, or loses what is paid for it, is an unknown one no more`(
    engine: TestEngine
  ) throws {
    let shop = try Shop(engine)
    for (number, account) in [(1, ada), (2, bob)] {
      let transaction = AppleSample.transaction(
        "\(number)\(original)", day: 0, account: account, signed: day(1))
      #expect(try shop.notify("n\(number)", transaction, at: day(1)) == 200)
    }
    #expect(try kinds(shop.database, at: day(2)) == [.unknownAccount, .unknownAccount])
    _ = try shop.device(of: ada)
    #expect(try kinds(shop.database, at: day(2)) == [.unknownAccount])
    let key = ObjectKey(
      provider: .apple, environment: .live, kind: .subscription, id: "2\(original)")
    try shop.decide(.transfer(ada, key, note: "the app named another one"))
    #expect(try kinds(shop.database, at: day(2)) == [.doublePayment])
    #expect(try shop.count("SELECT count(*) FROM billing.unknown_accounts") == 1)
  }

  @Test(arguments: TestEngine.available)
  func `an account that holds more than its plan's end left it is told with that time`(
    engine: TestEngine
  ) throws {
    let shop = try Shop(engine)
    let transaction = AppleSample.transaction(original, day: 0, account: ada, signed: day(1))
    #expect(try shop.notify("n1", transaction, at: day(1)) == 200)
    _ = try shop.device(of: ada)
    try shop.fill(ada, byteCount: 500)
    #expect(try kinds(shop.database, at: day(2)).isEmpty)
    let list = try shop.database.read { reader in
      try AttentionList(at: day(33), limit: 9, stores: .known, reading: reader)
    }
    #expect(list.items.map(\.kind) == [.overCap])
    #expect(list.items.first?.since == day(30))
    #expect(list.items.first?.detail == "500 B of 10 B")
    try shop.fill(ada, byteCount: 10)
    #expect(try kinds(shop.database, at: day(33)).isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `an account that holds more than a smaller cap leaves it is told until that is raised`(
    engine: TestEngine
  ) throws {
    let shop = try Shop(engine)
    _ = try shop.device(of: ada)
    let transaction = AppleSample.transaction(original, day: 0, account: ada, signed: day(1))
    #expect(try shop.notify("n1", transaction, at: day(1)) == 200)
    try shop.fill(ada, byteCount: 500)
    shop.now = day(3)
    try shop.decide(.quota(ada, byteCount: 400, until: nil, note: "shared by too many"))
    let list = try shop.database.read { reader in
      try AttentionList(at: day(9), limit: 9, stores: .known, reading: reader)
    }
    #expect(list.items.map(\.kind) == [.overCap])
    #expect(list.items.first?.since == day(3))
    shop.now = day(9)
    try shop.decide(.quotaCleared(ada, note: "they are a family"))
    #expect(try kinds(shop.database, at: day(9)).isEmpty)
  }

  @Test func `of caps that shrank, the last five thousand are looked at`() throws {
    let harness = try Harness(.sqlite)
    try harness.fill(ada, byteCount: 500)
    @Sendable func shrink(_ account: Identifier, at moment: Instant, in transaction: Transaction)
      throws
    {
      try transaction.execute(
        """
        INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason, shrunk_ms)
        VALUES ($1, $2, 10, 'free', 'lapsed', $2)
        """, .id(account), .instant(moment))
    }
    try harness.database.write(for: nil) { transaction in
      try shrink(ada, at: day(1), in: transaction)
      for _ in 1..<5000 { try shrink(Random.identifier(), at: day(2), in: transaction) }
    }
    #expect(try kinds(harness.database, at: day(3)) == [.overCap])
    try harness.database.write(for: nil) { transaction in
      try shrink(Random.identifier(), at: day(2), in: transaction)
    }
    #expect(try kinds(harness.database, at: day(3)).isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `keys that opened no session for a year are told as one`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    try harness.fill(ada, byteCount: 0)
    try harness.addKeys(of: ada, lastSessions: [day(0), day(1), day(200)])
    func told(_ now: Instant) throws -> [Attention] {
      try harness.database.read { reader in
        try AttentionList(at: now, limit: 9, stores: .known, reading: reader)
      }.items
    }
    #expect(try told(day(365)).isEmpty)
    #expect(try told(day(366)).map(\.detail) == ["1 key"])
    let items = try told(day(367))
    #expect(items.map(\.kind) == [.idleKey])
    #expect(items.map(\.detail) == ["2 keys"])
    #expect(items.map(\.since) == [day(0)])
    #expect(items.map(\.account) == [ada])
    #expect(items.map(\.subject) == [String(repeating: "00", count: 32)])
  }

  @Test(arguments: TestEngine.available)
  func `a mailbox that had no room is told while nothing leaves it`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    try harness.fill(ada, byteCount: 0)
    try harness.changeSync(
      """
      INSERT INTO sync.mailboxes
        (public_key, account_id, message_count, bytes, refused_count, refused_ms)
      VALUES ($1, $2, 4000, 2000000, 7, $3)
      """, .blob([UInt8](repeating: 1, count: 32)), .id(ada), .instant(day(1)))
    let items = try harness.database.read { reader in
      try AttentionList(at: day(2), limit: 9, stores: .known, reading: reader)
    }.items
    #expect(items.map(\.kind) == [.fullMailbox])
    #expect(items.map(\.account) == [ada])
    #expect(items.map(\.subject) == [String(repeating: "01", count: 32)])
    #expect(items.map(\.since) == [day(1)])
    #expect(items.first?.detail.hasPrefix("4000 messages with ") == true)
    #expect(items.first?.detail.hasSuffix(", and 7 were refused") == true)
    try harness.changeSync("UPDATE sync.mailboxes SET refused_ms = NULL")
    #expect(try kinds(harness.database, at: day(2)).isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `a chain whose last block was replaced is told for a day`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    try harness.fill(ada, byteCount: 0)
    let chain = Identifier(high: 1, low: 2)
    try harness.changeSync(
      """
      INSERT INTO sync.chains (id, owner_id, own, head_epoch, head_hash, member_count, bytes,
        created_ms, replaced_epoch, replaced_hash, replaced_ms)
      VALUES ($1, $2, 0, 7, $3, 2, 0, 0, 6, $3, $4)
      """, .id(chain), .id(ada), .blob([UInt8](repeating: 1, count: 32)), .instant(day(1)))
    let items = try harness.database.read { reader in
      try AttentionList(at: day(1) + .hours(23), limit: 9, stores: .known, reading: reader)
    }.items
    #expect(items.map(\.kind) == [.divergingChain])
    #expect(items.map(\.account) == [ada])
    #expect(items.map(\.subject) == [chain.description])
    #expect(items.map(\.detail) == ["6"])
    #expect(try kinds(harness.database, at: day(2)).isEmpty)
  }

  @Test func `a read that was given up is told until it is tried again`() throws {
    let harness = try Harness(.sqlite)
    let object = "stripe:live:subscription:sub_\(harness.tag)"
    var now = day(1)
    for _ in 0..<JobRules.refusalCountMax {
      let moment = now
      try harness.database.write(for: nil) { transaction in
        try Jobs.request(Ledger.readJob, object, due: moment, in: transaction)
        for lease in try Jobs.lease(Ledger.readJob, limit: 1, now: moment, in: transaction) {
          try lease.retry(.refused("refused: no such subscription"), now: moment, in: transaction)
        }
      }
      now = now + JobRules.backoffMax
    }
    let list = try harness.database.read { reader in
      try AttentionList(at: now, limit: 9, stores: .known, reading: reader)
    }
    #expect(list.items.map(\.subject) == ["read \(object)"])
    #expect(list.items.first?.detail == "refused: no such subscription")
    let end = now
    try harness.database.write(for: nil) { transaction in
      _ = try Jobs.revive(Ledger.readJob, object, now: end, in: transaction)
    }
    #expect(try kinds(harness.database, at: end).isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `a store that does not answer is told though nothing of it is known yet`(
    engine: TestEngine
  ) throws {
    let harness = try Harness(engine)
    func told(of number: Int, failing failure: JobFailure) throws -> [Attention] {
      let object = "google:live:purchase:\(harness.tag)\(number)"
      try harness.database.write(for: nil) { transaction in
        try Jobs.request(Ledger.readJob, object, due: day(1), in: transaction)
        for lease in try Jobs.lease(Ledger.readJob, limit: 9, now: day(1), in: transaction) {
          try lease.retry(failure, now: day(1), in: transaction)
        }
      }
      return try harness.database.read { reader in
        try AttentionList(at: day(2), limit: 9, stores: .known, reading: reader)
      }.items
    }
    // Anyone can claim a purchase that never existed.
    #expect(try told(of: 1, failing: .refused("refused with 400: no such purchase")).isEmpty)
    let silent = try told(of: 2, failing: .transient("no answer", retryAfter: nil))
    #expect(silent.map(\.kind) == [.storeUnanswered])
    #expect(silent.map(\.subject) == ["google"])
    #expect(silent.map(\.detail) == ["1 read, e.g. no answer"])
    #expect(silent.map(\.since) == [day(1)])
  }

  @Test(arguments: TestEngine.available)
  func `of many the first are listed and all are counted`(engine: TestEngine) throws {
    let harness = try Harness(engine)
    try harness.database.write(for: nil) { transaction in
      for number in 0..<30 {
        try transaction.execute(
          "INSERT INTO billing.double_payments (account_id, since_ms) VALUES ($1, $2)",
          .id(Random.identifier()), .instant(day(0) + .seconds(Int64(number))))
        try transaction.execute(
          "INSERT INTO billing.unanswered (object, since_ms) VALUES ($1, $2)",
          .text("stripe:live:subscription:sub_\(number)"), .instant(day(1)))
      }
    }
    let list = try harness.database.read { reader in
      try AttentionList(at: day(2), limit: 7, stores: .known, reading: reader)
    }
    #expect(
      list.items.map(\.kind) == [.storeUnanswered] + Array(repeating: .doublePayment, count: 6))
    #expect(list.items.first?.detail == "30 reads")
    #expect(list.counts == [.storeUnanswered: 1, .doublePayment: 30])
    #expect(list.urgentCount == 31)
  }
}
