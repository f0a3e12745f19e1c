internal import Apple
internal import Base
internal import Crypto
internal import Endpoints
internal import Google
internal import HTTPMessages
internal import HTTPServer
internal import HTTPSignatures
internal import JSON
internal import Storage
internal import Subscriptions

/// `POST /v1/claims`: a device says that a purchase it made is its account's.
///
/// The request is signed as those to the sync API are. What it carries is checked like a delivery
/// and kept as one; the claim itself is the weakest evidence of ownership there is, and refused
/// while another account owns the purchase.
struct ClaimRoute: Sendable {
  let ledger: Ledger
  let stores: Stores
  let policy: SignaturePolicy
  let sealing: SealingKeys
  let clock: Clock

  /// A purchase in the form its store gives it to the app.
  private struct Purchase: Sendable {
    let key: ObjectKey
    let source: PreparedSource
  }

  private struct Input: Sendable {
    let signature: VerifiedSignature
    let purchase: Purchase
    let now: Instant
  }

  private struct Claimed: Sendable {
    let key: ObjectKey
    /// Whether the store has told anything of it yet.
    let isKnown: Bool
    let recorded: Recorded
  }

  /// An App Store transaction has about four thousand bytes.
  private static let bodyByteCountMax = 64 * 1024
  /// Nobody has that many purchases; a stranger's guesses stop here.
  private static let claimCountMax: Int64 = 100

  func route(on database: Database) -> Route {
    Endpoint<VerifiedSignature, Input, Claimed>(
      "POST", "/v1/claims", bodyByteCountMax: Self.bodyByteCountMax,
      admit: { head, _ in try verified(head) },
      prepare: { signature, body in
        guard signature.contentDigest?.matches(body) == true else {
          throw Problem(
            400, "digest_mismatch", "Body differs from its digest",
            "The body received does not have the digest its headers promise.")
        }
        let now = clock.now()
        return Input(signature: signature, purchase: try purchase(body, now: now), now: now)
      },
      work: .write(share: { Identifier(bytes: $0.signature.keyID.bytes.prefix(16)) }) {
        transaction, input in try claim(input, in: transaction)
      },
      respond: { claimed in
        BillingMetrics.shared.count(claimed.recorded)
        return Response.json(
          claimed.isKnown ? 200 : 202,
          [
            "subscription": .string(claimed.key.description),
            "status": claimed.isKnown ? "owned" : "pending",
          ])
      }
    ).route(on: database)
  }

  private func verified(_ head: RequestHead) throws -> VerifiedSignature {
    do throws(SignatureRefusal) {
      return try verify(head, policy: policy, now: clock.now())
    } catch {
      throw error.problem
    }
  }

  // MARK: what is claimed

  private func purchase(_ body: [UInt8], now: Instant) throws -> Purchase {
    let json: JSON
    do { json = try JSON.parse(body).requireObject() } catch { throw invalid(error) }
    switch json["provider"].string {
    case "apple": return try applePurchase(json["transaction"], body: body, now: now)
    case "google": return try googlePurchase(json["token"], body: body, now: now)
    case let provider:
      throw Problem(
        400, "body_invalid", "Body invalid",
        "$.provider: must be apple or google" + (provider == nil ? ", nothing is there" : ""),
        members: [.init("path", "$.provider")])
    }
  }

  private func applePurchase(_ json: JSON, body: [UInt8], now: Instant) throws -> Purchase {
    guard let verifier = stores.apple else { throw AbsentProvider.problem(.apple) }
    let text: String
    do { text = try json.requireString() } catch { throw invalid(error) }
    let verified: VerifiedTransaction
    do throws(AppleRefusal) { verified = try verifier.verify(transaction: text, now: now) } catch {
      throw WebhookRefusal(error).problem
    }
    let reading: AppleTransactionReading
    do throws(AppleDecodingError) { reading = try AppleTransactionReading(verified) } catch {
      switch error {
      case .undecodable(_, let error): throw invalid(error)
      }
    }
    guard reading.fact != nil else {
      throw Problem(
        409, "not_a_subscription", "Not a subscription",
        "The transaction is of a product that is no auto-renewable subscription.")
    }
    return Purchase(
      key: reading.subscription,
      source: PreparedSource(
        DecodedSource(reading, partition: verified.partition, signed: verified.signedDate),
        received: now, head: [], body: body, sealing: sealing))
  }

  /// Nothing is believed of a token but that it is worth reading.
  private func googlePurchase(_ json: JSON, body: [UInt8], now: Instant) throws -> Purchase {
    guard stores.google != nil else { throw AbsentProvider.problem(.google) }
    let text: String
    do { text = try json.requireString() } catch { throw invalid(error) }
    guard let token = PurchaseToken(text) else {
      throw invalid(
        JSONError(code: .wrongType, path: json.path, message: "must be a purchase token"))
    }
    return Purchase(
      key: token.objectKey,
      source: PreparedSource(
        DecodedSource(claimed: token, at: now), received: now, head: [], body: body,
        sealing: sealing))
  }

  private func invalid(_ error: JSONError) -> Problem {
    Problem(
      400, "body_invalid", "Body invalid", "\(error.path): \(error.message)",
      members: [.init("path", .string(error.path))])
  }

  // MARK: whose it is

  private func claim(_ input: Input, in transaction: Transaction) throws -> Claimed {
    let account = try caller(input.signature, reading: transaction)
    let key = input.purchase.key
    let recorded = try ledger.record(input.purchase.source, in: transaction)
    let ownership = try Subscription(key, reading: transaction).ownership
    if ownership.account != account {
      guard ownership.account == nil else {
        throw Problem(
          409, "purchase_owned", "Owned by another account",
          "Another account owns this purchase. Its owner or the operator can transfer it.")
      }
      guard ownership.evidence != .contested else {
        throw Problem(
          409, "purchase_contested", "Ownership disputed",
          "The store names two accounts as the purchaser; the operator must decide.")
      }
      try checkCount(of: account, reading: transaction)
      try ledger.decide(.claim(account, key), at: input.now, in: transaction)
    }
    return Claimed(
      key: key, isKnown: try ledger.knows(key, reading: transaction), recorded: recorded)
  }

  /// The account of the key that signed. Keys and accounts are the sync program's rows.
  private func caller(
    _ signature: VerifiedSignature, reading transaction: Transaction
  ) throws -> Identifier {
    let row = try transaction.first(
      "SELECT account_id, revoked_ms FROM sync.device_keys WHERE public_key = $1",
      .blob(signature.keyID.bytes)
    ) { row in (try row.id(0), try row.optionalInteger(1)) }
    guard let (account, revoked) = row, revoked == nil else {
      throw Problem(
        401, "unknown_key", "Unknown key", "No account has registered this key.",
        headers: [.init("WWW-Authenticate", "Signature realm=\"coffer\"")])
    }
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
