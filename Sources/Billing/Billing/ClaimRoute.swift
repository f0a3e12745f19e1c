import Base
import Configuration
import Crypto
import Endpoints
import Flows
import HTTPMessages
import HTTPServer
import JSON
import Ledger
import Requests
import Storage
import Stores
import Subscriptions

/// `POST /v1/claims`: a device states that a purchase it made belongs to its account.
///
/// Its content is checked like a delivery and stored as one. The claim itself is the weakest evidence of
/// ownership, and is refused while another account owns the purchase. What the store did not sign proves nothing
/// before it is read: until then only the pending claim is stored.
struct ClaimRoute: AccountWrite {
  let ledger: Ledger
  let stores: StoreList
  let gate: RequestGate
  let sealing: SealingKeys
  let search: SearchKey?
  let restoring: RestorePolicy
  let forgeries: AddressBudget
  let logsDeliveries: Bool

  /// A purchase in the form that its store gives to the app.
  struct Purchase: Sendable {
    let key: ObjectKey
    let delivery: PreparedDelivery
    /// Whether the store signed the purchase.
    let isProven: Bool
  }

  enum Outcome: Sendable {
    case owned(Recorded)
    /// The store has not reported it yet.
    case pending
    /// The store was asked and does not know it.
    case unknown
    /// Another account owns it, or may own it.
    case refused(Problem)
  }

  /// A signed transaction has about four thousand bytes.
  let bodyByteCountMax = 64 * 1024
  let method = "POST"
  let pattern = "/v1/claims"
  /// No one has that many purchases; this stops a stranger's guesses.
  private static let claimCountMax: Int64 = 100

  func respond(_ outcome: Outcome, to input: AccountInput<Purchase>) throws -> Response {
    let subscription = JSONValue.string(input.body.key.description)
    switch outcome {
    case .owned(let recorded):
      ledger.noteDurable([recorded])
      BillingMetrics.shared.count(recorded, by: .claim)
      let head = input.request.head
      if logsDeliveries { recorded.log(request: head.requestID, trace: head.trace) }
      return .json(200, ["subscription": subscription, "status": "owned"])
    case .pending: return .json(202, ["subscription": subscription, "status": "pending"])
    case .unknown:
      throw Problem(
        404, "purchase_unknown", "Unknown purchase",
        "The store does not know this purchase. You can claim it again.")
    case .refused(let problem): throw problem
    }
  }

  // MARK: what is claimed

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Purchase {
    let (head, now) = (request.head, gate.clock.now())
    let json = try JSON.body(body)
    let claimable = stores.filter { $0.claimMember != nil }
    let name = json["provider"].string
    guard let store = claimable.first(where: { $0.provider.rawValue == name }),
      let member = store.claimMember
    else {
      let names = claimable.map(\.provider.rawValue).joined(separator: " or ")
      throw RequestRefusal.bodyInvalid(
        path: "$.provider", rule: "must be \(names)" + (name == nil ? ", nothing is there" : ""))
    }
    guard let webhook = store.webhook else { throw AbsentProvider.problem(store.provider) }
    // Checked again, because many heads may have come before the first of their bodies.
    if webhook.isDear { try forgeries.refuseForger(head.remoteAddress) }
    let claimed: ClaimedPurchase
    do { claimed = try store.claimed(json[member], at: now) } catch let error as JSONError {
      throw RequestRefusal.bodyInvalid(path: error.path, rule: error.message)
    } catch let refusal as WebhookRefusal {
      if refusal.isForgery { forgeries.spend(head.remoteAddress) }
      throw refusal.problem
    }
    return Purchase(
      key: claimed.subscription,
      delivery: PreparedDelivery(
        claimed.delivery, of: store, received: now, head: [], body: body, sealing: sealing,
        search: search, trace: head.trace),
      isProven: claimed.isProven)
  }

  // MARK: whose it is

  func write(
    _ purchase: Purchase, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    let account = try Caller(transaction, request.credentials, now: now).account
    if let departure = try Departure.find(account, reading: transaction) {
      throw FlowProblem.leaving(departure)
    }
    // The owner must not change before the decision: of two claims at once, the later sees the earlier.
    try LedgerSequence.lock(in: transaction)
    let key = purchase.key
    let ownership = try ledger.ownership(of: key, with: purchase.delivery, reading: transaction)
    if let problem = Self.refusal(ownership, for: account) {
      let restore = Restore(of: key, from: ownership, to: account, at: now)
      if let restore, try restore.isAllowed(by: restoring, in: transaction) {
        var recorded = try ledger.record(purchase.delivery, in: transaction)
        try restore.perform(by: restoring, ledger, in: transaction)
        recorded.add(concerned: account)
        return .owned(recorded)
      }
      try RefusedClaims.note(key, of: account, at: now, in: transaction)
      return .refused(problem)
    }
    guard try purchase.isProven || ledger.knows(key, reading: transaction) else {
      return try pend(purchase, for: account, trace: request.head.trace, at: now, in: transaction)
    }
    var recorded = try ledger.record(purchase.delivery, in: transaction)
    recorded.add(concerned: account)
    // The delivery may name an owner.
    let known = try ledger.reading(transaction).subscription(key).ownership
    if let problem = Self.refusal(known, for: account) { throw problem }
    if known.account != account {
      try checkCount(of: account, reading: transaction)
      try ledger.decide(.claim(account, key), at: now, in: transaction)
    }
    return .owned(recorded)
  }

  /// Stores the claim of a purchase that no store has reported, and requests its read in turn.
  private func pend(
    _ purchase: Purchase, for account: Identifier, trace: TraceContext?, at now: Instant,
    in transaction: Transaction
  ) throws -> Outcome {
    let key = purchase.key
    switch try PendingClaims.state(of: key, for: account, at: now, reading: transaction) {
    case .waiting: return .pending
    case .unknown:
      try PendingClaims.remove(key, of: account, in: transaction)
      return .unknown
    case .none: break
    }
    try checkCount(of: account, reading: transaction)
    let count = try PendingClaims.count(of: account, at: now, reading: transaction)
    guard count < PendingClaims.countMax else {
      throw Problem(
        429, "too_many_claims", "Too many claims",
        "At most \(PendingClaims.countMax) claims of an account can wait for their purchase to be read.",
        retryAfterSeconds: 60)
    }
    try PendingClaims.add(key, for: account, at: now, in: transaction)
    try ledger.requestProof(
      of: key, payload: purchase.delivery.requestPayloads.first ?? nil, lane: count + 1,
      trace: trace, at: now, in: transaction)
    return .pending
  }

  /// Why an account cannot have a purchase; nil if it can, or has it.
  private static func refusal(_ ownership: Ownership, for account: Identifier) -> Problem? {
    if ownership.account == account { return nil }
    if ownership.account != nil {
      return Problem(
        409, "purchase_owned", "Owned by another account",
        "Another account owns this purchase. Only the operator can transfer it.")
    }
    guard ownership.evidence == .contested else { return nil }
    return Problem(
      409, "purchase_contested", "Ownership disputed",
      "The store names two accounts as the buyer. The operator must decide.")
  }

  private func checkCount(of account: Identifier, reading transaction: Transaction) throws {
    let count = try transaction.first(
      "SELECT count(*) FROM billing.decisions WHERE account_id = $1 AND kind = 'claim'",
      .id(account)
    ) { row in try row.integer(0) }
    guard (count ?? 0) < Self.claimCountMax else {
      throw Problem(
        429, "too_many_claims", "Too many claims",
        "An account can claim at most \(Self.claimCountMax) purchases.", retryAfterSeconds: 86_400)
    }
  }
}
