import Apple
import Base
import JSON
import TestCertificates

/// One app, one chain of certificates and one moment, shared by the tests.
enum Sample {
  static let bundleID = "com.example.notes"
  static let appID: Int64 = 1_234_567_890
  static let now = Instant(milliseconds: 1_780_000_000_123)
  static let original = "2000000123456789"
  static let account = Identifier("8f14e45f-ceea-467f-9d8a-1c2b3a4d5e6f")!

  static let chain = newChain()

  static func newChain(
    root: TestCertificate? = nil, _ spoil: (inout AppleTestChain.Plans) -> Void = { _ in }
  ) -> AppleTestChain {
    AppleTestChain(notBefore: now - .days(200), notAfter: now + .days(200), root: root, spoil)
  }

  static func verifier(
    _ chain: AppleTestChain = chain, appID: Int64? = appID
  ) -> AppleVerifier {
    AppleVerifier(
      AppleTrust(roots: [chain.root.der], bundleID: bundleID, appAppleID: appID)!)
  }

  /// A body's members, with some replaced; nil removes a member.
  typealias Changes = [String: JSONValue?]

  static func transaction(
    _ changes: Changes = [:], chain: AppleTestChain = chain
  ) -> JSONValue {
    .string(chain.sign(transactionPayload(changes)))
  }

  static func transactionPayload(_ changes: Changes = [:]) -> JSONValue {
    object(
      [
        ("transactionId", "2000000123456790"), ("originalTransactionId", .string(original)),
        ("webOrderLineItemId", "2000000055555555"), ("bundleId", .string(bundleID)),
        ("productId", "notes.pro.monthly"), ("subscriptionGroupIdentifier", "21000001"),
        ("purchaseDate", date(.days(-1))), ("originalPurchaseDate", date(.days(-31))),
        ("expiresDate", date(.days(29))), ("quantity", 1),
        ("type", "Auto-Renewable Subscription"),
        ("appAccountToken", .string(account.description)), ("inAppOwnershipType", "PURCHASED"),
        ("signedDate", date(.seconds(-2))), ("environment", "Production"),
        ("transactionReason", "RENEWAL"), ("storefront", "DEU"), ("storefrontId", "143443"),
        ("price", 4990), ("currency", "EUR"), ("appTransactionId", "704000000000000001"),
      ], changes)
  }

  static func renewal(_ changes: Changes = [:], chain: AppleTestChain = chain) -> JSONValue {
    .string(chain.sign(renewalPayload(changes)))
  }

  static func renewalPayload(_ changes: Changes = [:]) -> JSONValue {
    object(
      [
        ("originalTransactionId", .string(original)), ("productId", "notes.pro.monthly"),
        ("autoRenewProductId", "notes.pro.monthly"), ("autoRenewStatus", 1),
        ("renewalPrice", 4990), ("currency", "EUR"), ("renewalDate", date(.days(29))),
        ("recentSubscriptionStartDate", date(.days(-31))),
        ("signedDate", date(.seconds(-1))), ("environment", "Production"),
        ("appTransactionId", "704000000000000001"),
      ], changes)
  }

  static func data(_ changes: Changes = [:], chain: AppleTestChain = chain) -> JSONValue {
    object(
      [
        ("appAppleId", .integer(appID)), ("bundleId", .string(bundleID)), ("bundleVersion", "42"),
        ("environment", "Production"), ("signedTransactionInfo", transaction(chain: chain)),
        ("signedRenewalInfo", renewal(chain: chain)), ("status", 1),
      ], changes)
  }

  static func payload(_ changes: Changes = [:], data: JSONValue) -> JSONValue {
    object(
      [
        ("notificationType", "DID_RENEW"),
        ("notificationUUID", "6a3c0c1e-7d0b-4c6e-9b3e-2f1d0a9b8c7d"), ("version", "2.0"),
        ("signedDate", .integer(now.milliseconds)), ("data", data),
      ], changes)
  }

  /// The body of a webhook with these members changed.
  static func body(
    _ changes: Changes = [:], data: Changes = [:], chain: AppleTestChain = chain
  ) -> [UInt8] {
    body(signed: chain.sign(payload(changes, data: self.data(data, chain: chain))))
  }

  static func body(signed text: String) -> [UInt8] {
    let body: JSONValue = ["signedPayload": .string(text)]
    return body.encoded()
  }

  /// Payloads that no reader may guess the meaning of.
  static let unreadable = [
    #"{"signedDate":1,"signedDate":2}"#, "no json", #"["signedDate"]"#,
    String(repeating: "[", count: 100),
  ]

  static func date(_ span: Instant.Span) -> JSONValue { .integer((now + span).milliseconds) }

  static func object(_ members: [(String, JSONValue)], _ changes: Changes) -> JSONValue {
    var changes = changes
    var result: [JSONValue.Member] = []
    for (name, value) in members {
      switch changes.removeValue(forKey: name) {
      case nil: result.append(JSONValue.Member(name, value))
      case .some(nil): break
      case .some(let new?): result.append(JSONValue.Member(name, new))
      }
    }
    for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
      if let value { result.append(JSONValue.Member(name, value)) }
    }
    return .object(result)
  }
}

/// Why a body is refused; nil if it is accepted.
func refusal(
  _ body: [UInt8], by verifier: AppleVerifier = Sample.verifier(), now: Instant = Sample.now
) -> AppleRefusal? {
  do throws(AppleRefusal) {
    _ = try verifier.verify(body: body, now: now)
    return nil
  } catch { return error }
}
