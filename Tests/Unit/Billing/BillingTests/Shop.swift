import Answers
import Apple
import Base
import Billing
import ClaimingDevice
import Configuration
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import KnownStores
import Ledger
import Storage
import Stores
import Subscriptions
import TestEngines
import Testing
import Tiers

/// Billing of an app that is sold in the App Store, over a real database.
final class Shop {
  let database: Database
  private let scratch: ScratchDatabase
  private let clock = Locked(day(1))
  private let rules: LedgerRules
  private let service: BillingService

  init(
    _ engine: TestEngine = .sqlite, catalogue: Catalogue = AppleSample.catalogue,
    sandbox: Set<Identifier> = [], restoring: RestorePolicy = .refuse
  ) throws {
    scratch = try ScratchDatabase(engine, with: .schemas)
    database = try Database.open(scratch.location, owning: .billing)
    rules = LedgerRules(catalogue: catalogue, sandboxAccounts: sandbox)
    service = BillingService(
      database: database, rules: rules, sealing: Harness.sealing,
      clock: Clock { [clock] in clock.withLock { $0 } },
      stores: StoreList.known(with: AppleStore(verifier: AppleSample.verifier)),
      clients: ClaimingDevice.policy, restoring: restoring)
  }

  deinit { database.close() }

  var now: Instant {
    get { clock.withLock { $0 } }
    set { clock.withLock { $0 = newValue } }
  }

  func device(of account: Identifier) throws -> ClaimingDevice {
    try ClaimingDevice(of: account, scratch.location)
  }

  func post(_ claim: JSONValue, by device: ClaimingDevice) throws -> (Int, String) {
    now = max(now, day(2))
    return try device.claim(claim, at: now, through: service.routes())
  }

  func postText(_ body: String, by device: ClaimingDevice) throws -> (status: Int, word: String) {
    try device.claim(Array(body.utf8), at: now, through: service.routes())
  }

  /// Delivers a notification; returns the status of the answer.
  func notify(_ id: String, _ transaction: String, at now: Instant) throws -> Int {
    try deliver(AppleSample.notification(id, transaction, signed: now), at: now).status
  }

  func deliver(
    _ body: [UInt8], at now: Instant, from address: String = "17.0.0.1"
  ) throws -> (status: Int, word: String) {
    self.now = max(self.now, now)
    return try deliver(body, from: address, through: service.routes())
  }

  func deliver(
    _ body: [UInt8], from address: String, through routes: [Route]
  ) throws -> (status: Int, word: String) {
    let head = RequestHead(
      method: "POST", target: "/webhooks/apple", headers: Headers([]), authority: "billing",
      remoteAddress: address)
    let route = try #require(routes.first { $0.pattern == head.target })
    let response: Response
    do {
      response = try route.admit(head, []).wait().finish(body).wait()
    } catch {
      response = problem(for: error, head).response(requestID: "r")
    }
    guard case .bytes(let bytes) = response.body else { return (response.status, "") }
    let json = try JSON.parse(bytes)
    let word = json["status"].string ?? json["type"].string ?? ""
    return (response.status, word.split(separator: ":").last.map(String.init) ?? word)
  }

  var routes: [Route] { service.routes() }

  func decide(_ decision: Decision) throws {
    let (ledger, now) = (Ledger(stores: .known, rules: rules), now)
    try database.write(for: nil) { transaction in
      _ = try ledger.decide(decision, at: now, in: transaction)
    }
  }

  func explanation(of account: Identifier, at moment: Instant) throws -> EntitlementExplanation {
    try database.read { reader in
      try EntitlementExplanation(
        of: account, at: moment, catalogue: rules.catalogue, stores: .known, reading: reader)
    }
  }

  func cap(of account: Identifier, at moment: Instant) throws -> Int64 {
    try explanation(of: account, at: moment).current.capByteCount
  }

  func owner(of key: ObjectKey) throws -> Identifier? {
    try database.read { reader in
      try reader.first(
        "SELECT owner FROM billing.subscriptions WHERE object = $1", .text(key.description)
      ) { row in try row.optionalID(0) } ?? nil
    }
  }

  func count(_ sql: String) throws -> Int64 {
    try database.read { reader in try reader.first(sql) { row in try row.integer(0) } } ?? -1
  }

  /// Sets the account's usage, as the sync program would.
  func fill(_ account: Identifier, byteCount: Int64) throws {
    let sync = try Database.open(scratch.location, owning: .sync)
    defer { sync.close() }
    try sync.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.accounts SET usage_bytes = $2 WHERE id = $1", .id(account),
        .integer(byteCount))
    }
  }

  /// Opens a session for the device's key, as the sync program would; returns its token.
  func session(of device: ClaimingDevice, expires: Instant) throws -> String {
    let sync = try Database.open(scratch.location, owning: .sync)
    defer { sync.close() }
    let token = "session-\(Random.identifier())"
    try sync.write(for: nil) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.sessions (token_hash, account_id, public_key, expires_ms)
        SELECT $1, account_id, public_key, $2 FROM sync.device_keys WHERE public_key = $3
        """, .blob(SHA256.hash(Array(token.utf8))), .instant(expires), .blob(device.publicKey))
    }
    return token
  }

  /// Records a change by the account, as the sync program would.
  func show(_ account: Identifier, at moment: Instant) throws {
    let sync = try Database.open(scratch.location, owning: .sync)
    defer { sync.close() }
    try sync.write(for: nil) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.usage_entries (owner_id, seq, delta_bytes, reason, file_id, at_ms)
        VALUES ($1, 1, 0, 'content_changed', $1, $2)
        """, .id(account), .instant(moment))
    }
  }

  /// Records that the account will be erased, as the sync program would.
  func leave(_ account: Identifier) throws {
    try scratch.leave(account, at: now, erasing: now + .days(7))
  }

  /// Removes the account's keys, as the sync program would.
  func forget(_ account: Identifier) throws {
    let sync = try Database.open(scratch.location, owning: .sync)
    defer { sync.close() }
    try sync.write(for: nil) { transaction in
      _ = try transaction.execute(
        "DELETE FROM sync.device_keys WHERE account_id = $1", .id(account))
    }
  }
}
