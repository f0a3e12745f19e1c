import Apple
import Base
import Billing
import JSON
import TestCertificates
import Tiers

/// One app in the App Store, its test chain, and objects signed with it.
enum AppleSample {
  static let bundleID = "com.example.coffer"
  static let appID: Int64 = 1_234_567_890
  static let product = "com.example.coffer.premium.monthly"
  static let extra = "com.example.coffer.extra.monthly"
  static let chain = AppleTestChain(notBefore: day0 - .days(200), notAfter: day0 + .days(900))

  static var verifier: AppleVerifier {
    AppleVerifier(
      AppleTrust(roots: [chain.root.der], bundleID: bundleID, appAppleID: appID)!)
  }

  static let catalogue = makeCatalogue(premium)
  /// One that also sells an add-on, which is larger than the plan.
  static let catalogueWithExtra = makeCatalogue(
    premium,
    Plan(
      id: "extra", title: "Extra", byteCount: 5000, isAddition: true,
      products: [Plan.Product(provider: "apple", id: extra)]))

  private static let premium = Plan(
    id: "premium", title: "Premium", byteCount: 1000,
    products: [Plan.Product(provider: "apple", id: product)])

  private static func makeCatalogue(_ paid: Plan...) -> Catalogue {
    do {
      return try Catalogue(
        version: "apple-test", free: Plan(id: "free", title: "Free", byteCount: 10), paid: paid)
    } catch {
      preconditionFailure("\(error)")
    }
  }

  /// A signed transaction for a month that begins on the day.
  static func transaction(
    _ original: String, day start: Double, account: Identifier? = nil,
    environment: String = "Production", product: String = product, signed: Instant,
    chain: AppleTestChain = chain
  ) -> String {
    var members: [JSONValue.Member] = [
      .init("transactionId", .string("\(original)\(Int64(start))")),
      .init("originalTransactionId", .string(original)), .init("bundleId", .string(bundleID)),
      .init("productId", .string(product)), .init("type", "Auto-Renewable Subscription"),
      .init("purchaseDate", .integer(day(start).milliseconds)),
      .init("expiresDate", .integer(day(start + 30).milliseconds)),
      .init("inAppOwnershipType", "PURCHASED"), .init("environment", .string(environment)),
      .init("signedDate", .integer(signed.milliseconds)),
    ]
    if let account { members.append(.init("appAccountToken", .string(account.description))) }
    return chain.sign(JSONValue.object(members))
  }

  /// The body of a notification around a transaction.
  static func notification(
    _ id: String, _ transaction: String, environment: String = "Production", signed: Instant,
    bundleID: String = bundleID, chain: AppleTestChain = chain
  ) -> [UInt8] {
    let payload: JSONValue = [
      "notificationType": "SUBSCRIBED", "subtype": "INITIAL_BUY",
      "notificationUUID": .string(id), "version": "2.0",
      "signedDate": .integer(signed.milliseconds),
      "data": [
        "appAppleId": .integer(appID), "bundleId": .string(bundleID),
        "environment": .string(environment), "status": 1,
        "signedTransactionInfo": .string(transaction),
      ],
    ]
    let body: JSONValue = ["signedPayload": .string(chain.sign(payload))]
    return body.encoded()
  }
}
