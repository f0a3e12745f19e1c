internal import Base
internal import Crypto
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import HTTPSignatures
internal import JSON
internal import Ledger
internal import Storage
internal import Stores
internal import Subscriptions

/// `POST /v1/claims`: a device says that a purchase it made is its account's.
///
/// The request is signed as those to the sync API are. What it carries is checked like a delivery
/// and kept as one; the claim itself is the weakest evidence of ownership there is, and refused
/// while another account owns the purchase. What its store did not sign proves nothing before it was
/// read: until then the claim is pending, and nothing but that is kept.
struct ClaimRoute: WriteEndpoint {
  let ledger: Ledger
  let stores: StoreList
  let policy: SignaturePolicy
  let sealing: SealingKeys
  let search: SearchKey?
  let clock: Clock
  let forgeries: AddressBudget
  let logsDeliveries: Bool

  /// A purchase in the form its store gives it to the app.
  struct Purchase: Sendable {
    let key: ObjectKey
    let delivery: PreparedDelivery
    /// Whether the store signed what came.
    let isProven: Bool
  }

  /// Who asks: as signed, and from where.
  struct Caller: Sendable {
    let signature: VerifiedSignature
    let address: String
    let request: String
  }

  struct Input: Sendable {
    let caller: Caller
    let purchase: Purchase
    let now: Instant
  }

  enum Outcome: Sendable {
    case owned(Recorded)
    /// The store has told nothing of it yet.
    case pending
    /// The store was asked, and does not know it.
    case unknown
    case unknownKey
    /// Another account owns it, or may.
    case refused(Refusal)
  }

  /// A signed transaction has about four thousand bytes.
  let bodyByteCountMax = 64 * 1024
  let method = "POST"
  let pattern = "/v1/claims"
  /// Nobody has that many purchases; a stranger's guesses stop here.
  private static let claimCountMax: Int64 = 100

  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> Caller {
    try forgeries.refuseForger(head.remoteAddress)
    return Caller(
      signature: try verified(head), address: head.remoteAddress, request: head.requestID)
  }

  func lane(_ caller: Caller) -> Identifier? {
    Identifier(bytes: caller.signature.keyID.bytes.prefix(16))
  }

  func prepare(_ caller: Caller, _ body: [UInt8]) throws -> Input {
    guard caller.signature.contentDigest?.matches(body) == true else {
      throw Problem(
        400, "digest_mismatch", "Body differs from its digest",
        "The body received does not have the digest its headers promise.")
    }
    let now = clock.now()
    return Input(caller: caller, purchase: try purchase(body, of: caller, now: now), now: now)
  }

  func respond(_ outcome: Outcome, to input: Input) throws -> Response {
    let subscription = JSONValue.string(input.purchase.key.description)
    switch outcome {
    case .owned(let recorded):
      ledger.noteDurable([recorded])
      BillingMetrics.shared.count(recorded)
      if logsDeliveries { recorded.log(request: input.caller.request) }
      return .json(200, ["subscription": subscription, "status": "owned"])
    case .pending: return .json(202, ["subscription": subscription, "status": "pending"])
    case .unknown:
      throw Problem(
        404, "purchase_unknown", "Unknown purchase",
        "The store was asked and does not know this purchase. It may be claimed anew.")
    case .refused(let refusal): throw refusal.problem
    case .unknownKey:
      forgeries.spend(input.caller.address)
      throw Problem(
        401, "unknown_key", "Unknown key", "No account has registered this key.",
        headers: [.init("WWW-Authenticate", "Signature realm=\"coffer\"")])
    }
  }

  private func verified(_ head: RequestHead) throws -> VerifiedSignature {
    do throws(SignatureRefusal) {
      return try verify(head, policy: policy, now: clock.now())
    } catch {
      forgeries.spend(head.remoteAddress)
      throw error.problem
    }
  }

  // MARK: what is claimed

  private func purchase(_ body: [UInt8], of caller: Caller, now: Instant) throws -> Purchase {
    let json: JSON
    do { json = try JSON.parse(body).requireObject() } catch { throw invalid(error) }
    let claimable = stores.filter { $0.claimMember != nil }
    let name = json["provider"].string
    guard let store = claimable.first(where: { $0.provider.rawValue == name }),
      let member = store.claimMember
    else {
      let names = claimable.map(\.provider.rawValue).joined(separator: " or ")
      throw Problem(
        400, "body_invalid", "Body invalid",
        "$.provider: must be \(names)" + (name == nil ? ", nothing is there" : ""),
        members: [.init("path", "$.provider")])
    }
    guard let webhook = store.webhook else { throw AbsentProvider.problem(store.provider) }
    // Again, as many heads may have come before the first of their bodies.
    if webhook.isDear { try forgeries.refuseForger(caller.address) }
    let claimed: ClaimedPurchase
    do { claimed = try store.claimed(json[member], at: now) } catch let error as JSONError {
      throw invalid(error)
    } catch let refusal as WebhookRefusal {
      if refusal.isForgery { forgeries.spend(caller.address) }
      throw refusal.problem
    }
    return Purchase(
      key: claimed.subscription,
      delivery: PreparedDelivery(
        claimed.delivery, of: store, received: now, head: [], body: body, sealing: sealing,
        search: search),
      isProven: claimed.isProven)
  }

  private func invalid(_ error: JSONError) -> Problem {
    Problem(
      400, "body_invalid", "Body invalid", "\(error.path): \(error.message)",
      members: [.init("path", .string(error.path))])
  }

  // MARK: whose it is

  func transact(_ transaction: Transaction, _ input: Input) throws -> Outcome {
    guard let account = try account(of: input.caller.signature, reading: transaction) else {
      return .unknownKey
    }
    let key = input.purchase.key
    let ownership = try ledger.ownership(
      of: key, with: input.purchase.delivery, reading: transaction)
    if let refusal = Refusal(ownership, for: account) {
      try RefusedClaims.note(key, of: account, at: input.now, in: transaction)
      return .refused(refusal)
    }
    guard try input.purchase.isProven || ledger.knows(key, reading: transaction) else {
      return try pend(input, for: account, in: transaction)
    }
    let recorded = try ledger.record(input.purchase.delivery, in: transaction)
    if try !isOwner(account, of: key, reading: transaction) {
      try checkCount(of: account, reading: transaction)
      try ledger.decide(.claim(account, key), at: input.now, in: transaction)
    }
    return .owned(recorded)
  }

  /// A purchase that no store has told anything of: noted, and read when its place comes.
  private func pend(
    _ input: Input, for account: Identifier, in transaction: Transaction
  ) throws -> Outcome {
    let (key, now) = (input.purchase.key, input.now)
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
        "At most \(PendingClaims.countMax) claims of an account wait for their purchase to be read.",
        retryAfterSeconds: 60)
    }
    try PendingClaims.add(key, for: account, at: now, in: transaction)
    try ledger.requestProof(
      of: key, payload: input.purchase.delivery.requestPayloads.first ?? nil, lane: count + 1,
      at: now,
      in: transaction)
    return .pending
  }

  /// Why an account cannot have a purchase.
  enum Refusal: Sendable {
    case owned, contested

    /// Nil where it can have it, or has it.
    init?(_ ownership: Ownership, for account: Identifier) {
      if ownership.account == account { return nil }
      if ownership.account != nil {
        self = .owned
      } else if ownership.evidence == .contested {
        self = .contested
      } else {
        return nil
      }
    }

    var problem: Problem {
      switch self {
      case .owned:
        Problem(
          409, "purchase_owned", "Owned by another account",
          "Another account owns this purchase. Its owner or the operator can transfer it.")
      case .contested:
        Problem(
          409, "purchase_contested", "Ownership disputed",
          "The store names two accounts as the purchaser; the operator must decide.")
      }
    }
  }

  /// Whether it is the account's already; throws where it is, or may be, somebody else's.
  private func isOwner(
    _ account: Identifier, of key: ObjectKey, reading transaction: Transaction
  ) throws -> Bool {
    let ownership = try ledger.reading(transaction).subscription(key).ownership
    if let refusal = Refusal(ownership, for: account) { throw refusal.problem }
    return ownership.account == account
  }

  /// The account of the key that signed; nil where none has it. Keys and accounts are the sync
  /// program's rows.
  private func account(
    of signature: VerifiedSignature, reading transaction: Transaction
  ) throws -> Identifier? {
    let row = try transaction.first(
      "SELECT account_id, revoked_ms FROM sync.device_keys WHERE public_key = $1",
      .blob(signature.keyID.bytes)
    ) { row in (try row.id(0), try row.optionalInteger(1)) }
    guard let (account, revoked) = row, revoked == nil else { return nil }
    return account
  }

  private func checkCount(of account: Identifier, reading transaction: Transaction) throws {
    let count = try transaction.first(
      "SELECT count(*) FROM billing.decisions WHERE account_id = $1 AND kind = 'claim'",
      .id(account)
    ) { row in try row.integer(0) }
    guard (count ?? 0) < Self.claimCountMax else {
      throw Problem(
        429, "too_many_claims", "Too many claims",
        "An account claims at most \(Self.claimCountMax) purchases.", retryAfterSeconds: 86_400)
    }
  }
}
