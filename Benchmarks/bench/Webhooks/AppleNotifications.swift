import Base
import Crypto
import JSON
import TestCertificates

/// Signed App Store notifications, each a renewal of a different subscription.
///
/// They have the form and the size of the store's: a JWS that contains two more, all with three certificates
/// in their headers.
struct AppleNotifications {
  static let bundleID = "com.example.coffer"
  static let appID: Int64 = 1_234_567_890
  static let productID = "com.example.coffer.premium.month"

  let root: [UInt8]
  let key: P256PrivateKey
  /// The same header for everything that one chain signs.
  private let header: String
  private let now: Instant

  init(now: Instant) {
    let chain = AppleTestChain(notBefore: now - .days(300), notAfter: now + .days(300))
    root = chain.root.der
    key = chain.leaf.key
    header = Base64.url.encode(chain.header.encoded())
    self.now = now
  }

  /// The first `count` notifications after `first`.
  func requests(_ count: Int, from first: Int = 0, forgedBy address: String? = nil) -> Requests {
    var requests = Requests()
    requests.reserve(count, byteCountEach: body(first).count + 400)
    for index in first..<(first + count) {
      append(
        address == nil ? body(index) : forged(index),
        from: address ?? "17.58.0.\(index % 16 + 1)", to: &requests)
    }
    return requests
  }

  func append(_ body: [UInt8], from address: String, to requests: inout Requests) {
    requests.append(
      "POST", "/webhooks/apple", host: "127.0.0.1",
      fields: [
        ("User-Agent", "App Store Server Notifications"), ("Accept", "application/json"),
        ("Content-Type", "application/json"), ("X-Forwarded-For", address),
      ], body: body)
  }

  var bodyByteCount: Int { body(0).count }

  func body(_ index: Int) -> [UInt8] { body(index, at: now) }

  /// The notification about a subscription that was renewed at that moment.
  func body(_ index: Int, at moment: Instant) -> [UInt8] {
    Array("{\"signedPayload\":\"\(sign(payload(index, moment)))\"}".utf8)
  }

  /// Genuine in all but one bit of its outer signature, so as expensive to refuse as a forgery can be.
  private func forged(_ index: Int) -> [UInt8] {
    var bytes = body(index)
    // In the middle of the signature, so that its form stays valid.
    let place = bytes.count - 40
    bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    return bytes
  }

  private func sign(_ payload: JSONValue) -> String {
    let input = header + "." + Base64.url.encode(payload.encoded())
    return input + "." + Base64.url.encode(key.signature(for: Array(input.utf8)))
  }

  private func payload(_ index: Int, _ now: Instant) -> JSONValue {
    let digits = Serial.digits(index)
    let account = "00000000-0000-4000-8000-\(digits)"
    return [
      "notificationType": "DID_RENEW", "notificationUUID": "10000000-0000-4000-8000-\(digits)",
      "data": [
        "appAppleId": .integer(Self.appID), "bundleId": .string(Self.bundleID),
        "bundleVersion": "42", "environment": "Production",
        "signedTransactionInfo": .string(sign(transaction(digits, account, now))),
        "signedRenewalInfo": .string(sign(renewal(digits, account, now))), "status": 1,
      ],
      "version": "2.0", "signedDate": .integer(now.milliseconds),
    ]
  }

  private func transaction(_ digits: String, _ account: String, _ now: Instant) -> JSONValue {
    [
      "transactionId": "211\(digits)", "originalTransactionId": "200\(digits)",
      "webOrderLineItemId": "300\(digits)", "bundleId": .string(Self.bundleID),
      "productId": .string(Self.productID), "subscriptionGroupIdentifier": "21482091",
      "purchaseDate": .integer(now.milliseconds),
      "originalPurchaseDate": .integer((now - .days(60)).milliseconds),
      "expiresDate": .integer((now + .days(30)).milliseconds), "quantity": 1,
      "type": "Auto-Renewable Subscription", "appAccountToken": .string(account),
      "inAppOwnershipType": "PURCHASED", "signedDate": .integer(now.milliseconds),
      "environment": "Production", "transactionReason": "RENEWAL", "storefront": "USA",
      "storefrontId": "143441", "price": 2990, "currency": "USD",
      "appTransactionId": "704\(digits)",
    ]
  }

  private func renewal(_ digits: String, _ account: String, _ now: Instant) -> JSONValue {
    [
      "originalTransactionId": "200\(digits)", "autoRenewProductId": .string(Self.productID),
      "productId": .string(Self.productID), "autoRenewStatus": 1, "renewalPrice": 2990,
      "currency": "USD", "signedDate": .integer(now.milliseconds), "environment": "Production",
      "recentSubscriptionStartDate": .integer((now - .days(60)).milliseconds),
      "renewalDate": .integer((now + .days(30)).milliseconds),
      "appTransactionId": "704\(digits)", "appAccountToken": .string(account),
    ]
  }
}
