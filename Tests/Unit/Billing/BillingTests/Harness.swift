import Answers
import Base
import Billing
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import KnownStores
import Ledger
import Storage
import Stores
import Stripe
import StripeSamples
import TestEngines
import Testing
import Tiers

/// Billing over a real database, called through its route as the server calls it.
final class Harness: Sendable {
  let database: Database
  /// Makes all ids of this harness unique, so that many tests can share a server.
  let tag: String
  private let clock = Locked(day0)
  private let scratch: ScratchDatabase
  private let rules: LedgerRules

  static let secret = Secret("whsec_test_0123456789")
  static let sealing = makeSealing()

  init(
    _ engine: TestEngine, rules: LedgerRules = LedgerRules(catalogue: catalogue)
  ) throws {
    scratch = try ScratchDatabase(engine, with: .schemas)
    tag = String(Random.identifier().description.prefix(8))
    self.rules = rules
    database = try Database.open(scratch.location, owning: .billing)
  }

  deinit { database.close() }

  /// Adds an account with this usage, as the sync program would.
  func fill(_ account: Identifier, byteCount: Int64) throws {
    let sync = try Database.open(scratch.location, owning: .sync)
    defer { sync.close() }
    try sync.write(for: nil) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
        VALUES ($1, $1, 0, $2, 0)
        """, .id(account), .integer(byteCount))
    }
  }

  /// Records that the sync program has erased the account.
  func erase(_ account: Identifier, at now: Instant) throws {
    let sync = try Database.open(scratch.location, owning: .sync)
    defer { sync.close() }
    try sync.write(for: nil) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.account_deletions (account_id, asked_ms, erase_ms, begun_ms, erased_ms)
        VALUES ($1, $2, $2, $2, $2)
        """, .id(account), .instant(now))
    }
  }

  /// Records that the sync program will erase the account at `moment`; nil: once it is exported.
  func leave(_ account: Identifier, at now: Instant, erasing moment: Instant?) throws {
    try scratch.leave(account, at: now, erasing: moment)
  }

  func decide(_ decision: Decision, at now: Instant) throws {
    let ledger = Ledger(stores: .known, rules: rules)
    try database.write(for: nil) { transaction in
      _ = try ledger.decide(decision, at: now, in: transaction)
    }
  }

  /// Adds keys of the account with these times of their last sessions, as the sync program would.
  func addKeys(of account: Identifier, lastSessions: [Instant]) throws {
    let sync = try Database.open(scratch.location, owning: .sync)
    defer { sync.close() }
    try sync.write(for: nil) { transaction in
      for (number, last) in lastSessions.enumerated() {
        try transaction.execute(
          """
          INSERT INTO sync.device_keys (public_key, account_id, label, added_ms, last_session_ms)
          VALUES ($1, $2, 'a phone', 0, $3)
          """, .blob([UInt8](repeating: UInt8(number), count: 32)), .id(account), .instant(last))
      }
    }
  }

  /// Changes rows as the sync program would.
  func changeSync(_ sql: String, _ values: SQLValue...) throws {
    let sync = try Database.open(scratch.location, owning: .sync)
    defer { sync.close() }
    try sync.write(for: nil) { transaction in
      _ = try transaction.execute(sql, values: values)
    }
  }

  func service(stripe: [Secret] = [secret], rules: LedgerRules? = nil) -> BillingService {
    BillingService(
      database: database, rules: rules ?? self.rules, sealing: Self.sealing,
      clock: Clock { [clock] in clock.withLock { $0 } },
      stores: StoreList.known(with: StripeStore(secrets: WebhookSecrets(stripe))))
  }

  func set(_ now: Instant) { clock.withLock { $0 = now } }

  /// Posts an event as Stripe would, signed now. Returns the status, and the one word of the answer.
  @discardableResult
  func post(_ event: SampleEvent, at now: Instant? = nil) throws -> (status: Int, word: String) {
    let moment = now ?? event.created
    set(moment)
    let signature = signatureHeader(body: event.body, secret: Self.secret, at: moment)
    return try post(event.body, signatures: [signature])
  }

  @discardableResult
  func post(
    _ body: [UInt8], signatures: [String], through service: BillingService? = nil
  ) throws -> (status: Int, word: String) {
    let route = (service ?? self.service()).routes()[0]
    let head = RequestHead(
      method: "POST", target: "/webhooks/stripe",
      headers: Headers(signatures.map { ("Stripe-Signature", $0) }), authority: "billing")
    let response: Response
    do {
      let admission = try route.admit(head, []).wait()
      response = try admission.finish(body).wait()
    } catch {
      response = problem(for: error, head).response(requestID: "r")
    }
    guard case .bytes(let bytes) = response.body else { return (response.status, "") }
    let json = try JSON.parse(bytes)
    return (response.status, json["status"].string ?? json["type"].string ?? "")
  }

  /// Everything derived for a customer's subscription, as text. No order of deliveries may change it.
  func digest(_ customer: Customer) throws -> [String] {
    try database.read { reader in
      let subscriptions = try reader.rows(
        """
        SELECT object, owner, owner_evidence, label, will_renew, dirty, coverage
        FROM billing.subscriptions WHERE object = $1
        """, .text("stripe:live:subscription:\(customer.subscriptionID)")
      ) { row in
        let parts = [
          try row.text(0), try row.optionalID(1)?.description ?? "-", try row.text(2),
          try row.text(3), String(try row.integer(4)), String(try row.integer(5)),
          try row.text(6),
        ]
        return parts.joined(separator: " ")
      }
      let breaks = try reader.rows(
        """
        SELECT from_ms, cap_bytes, plan, reason FROM billing.entitlements
        WHERE account_id = $1 ORDER BY from_ms
        """, .id(customer.account)
      ) { row in
        "\(try row.instant(0)) \(try row.integer(1)) \(try row.text(2)) \(try row.text(3))"
      }
      return subscriptions + breaks
    }
  }

  /// The account's schedule as sync reads it: one line per step.
  func schedule(_ account: Identifier) throws -> [String] {
    try explanation(account, at: day0).schedule.map {
      "\($0.from) \($0.planID) \($0.reason.rawValue)"
    }
  }

  func explanation(
    _ account: Identifier, at now: Instant, about moment: Instant? = nil
  ) throws -> EntitlementExplanation {
    try database.read { reader in
      try EntitlementExplanation(
        of: account, at: now, about: moment, catalogue: catalogue, stores: .known, reading: reader)
    }
  }

  func count(_ sql: String) throws -> Int64 {
    try database.read { try $0.first(sql) { try $0.integer(0) } } ?? -1
  }

  private static func makeSealing() -> SealingKeys {
    do {
      return try SealingKeys([Secret([UInt8](repeating: 7, count: 32))])
    } catch {
      preconditionFailure("\(error)")
    }
  }
}

extension ScratchDatabase {
  /// Records that the sync program will erase the account at `moment`; nil: once it is exported.
  func leave(_ account: Identifier, at now: Instant, erasing moment: Instant?) throws {
    let sync = try Database.open(location, owning: .sync)
    defer { sync.close() }
    try sync.write(for: nil) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.account_deletions (account_id, asked_ms, erase_ms) VALUES ($1, $2, $3)
        """, .id(account), .instant(now), .instant(moment))
    }
  }
}

extension Step {
  /// Blocks until the step has its value. A server never does this.
  func wait() throws -> Value {
    switch self {
    case .ready(let value): return value
    case .pending(let start):
      let outcome = Locked<Result<Value, any Error>?>(nil)
      start { result in outcome.signal { $0 = result } }
      let result = outcome.wait(until: .now() + .seconds(30)) { $0 }
      return try #require(result, "no answer within 30 s").get()
    }
  }
}

/// 2026-01-01T00:00:00Z
let day0 = Instant(seconds: 1_767_225_600)

func day(_ number: Double) -> Instant { day0 + .seconds(Int64(number * 86_400)) }

let catalogue = makeCatalogue(version: "test", fallback: nil)

func makeCatalogue(version: String, fallback: String?) -> Catalogue {
  do {
    return try Catalogue(
      version: version, free: Plan(id: "free", title: "Free", byteCount: 10),
      paid: [
        Plan(
          id: "premium", title: "Premium", byteCount: 1000,
          products: [Plan.Product(provider: "stripe", id: "price_premium")])
      ], ignored: [Plan.Product(provider: "stripe", id: "price_shirt")], fallbackPlanID: fallback)
  } catch {
    preconditionFailure("\(error)")
  }
}
