import Base
import Crypto
import JSON
import JWS
import ProviderFakes
import TestCertificates
import Testing

/// A fake App Store with a key that it knows, and short ways to call it.
struct AppleShop {
  /// 2026-03-03T10:02:00.512Z.
  static let start = Instant(milliseconds: 1_772_532_120_512)
  static let owner = Identifier(high: 7, low: 11)
  static let apiKey = P256PrivateKey()
  static let signer = AppleSigner(
    AppleTestChain(notBefore: start - .days(9), notAfter: start + .days(9000)))

  let clock = FakeClock(start)
  let store: FakeAppStore

  init(_ change: (inout FakeAppStore.Settings) -> Void = { _ in }) {
    var settings = FakeAppStore.Settings()
    settings.apiKey = Self.apiKey.publicKey
    change(&settings)
    store = FakeAppStore(clock: clock, signer: Self.signer, settings: settings)
  }

  func buy(_ product: AppleProduct = .premiumMonthly, trialDays: Int64 = 0) -> String {
    store.buy(product, for: Self.owner, trialDays: trialDays)
  }

  func go(_ span: Instant.Span) { clock.advance(by: span) }
  func go(to moment: Instant) { clock.set(moment) }

  /// The types of all notifications, in order.
  var types: [String] { store.deliveries.map { store.type(of: $0) } }

  /// The decoded payload of a notification, with its nested payloads decoded, too.
  func payload(_ delivery: FakeDelivery) throws -> Notification {
    try Notification(store.request(for: delivery, at: delivery.emitted))
  }

  func last() throws -> Notification { try payload(try #require(store.deliveries.last)) }

  struct Notification {
    let outer: JSON
    let transaction: JSON?
    let renewal: JSON?

    init(_ request: FakeRequest) throws {
      let text = try JSON.parse(request.body)["signedPayload"].requireString()
      outer = try AppleShop.verified(text)
      let data = outer["data"]
      transaction = try data["signedTransactionInfo"].string.map { try AppleShop.verified($0) }
      renewal = try data["signedRenewalInfo"].string.map { try AppleShop.verified($0) }
    }
  }

  /// The payload of a JWS, after a check of the leaf's signature with plain cryptography.
  static func verified(_ text: String) throws -> JSON {
    let jws = try CompactJWS(Array(text.utf8))
    #expect(jws.algorithm == "ES256")
    let certificates = try jws.header["x5c"].requireArray().map { try $0.requireString() }
    #expect(certificates.map { Base64.standard.decode($0) } == signer.certificates)
    let leaf = try #require(X509Certificate(der: signer.certificates[0]))
    let key = try #require(leaf.p256PublicKey)
    #expect(key.isValid(signature: jws.signature, for: jws.signingInput))
    return try JSON.parse(jws.payload)
  }

  // MARK: the API

  func token(
    key: P256PrivateKey = apiKey, _ change: (inout [String: JSONValue]) -> Void = { _ in },
    header: (inout [String: JSONValue]) -> Void = { _ in }
  ) -> String {
    let settings = store.settings
    var claims: [String: JSONValue] = [
      "iss": .string(settings.apiIssuerID), "bid": .string(settings.bundleID),
      "aud": "appstoreconnect-v1", "iat": .integer(clock.now.seconds),
      "exp": .integer(clock.now.seconds + 300),
    ]
    change(&claims)
    var fields: [String: JSONValue] = [
      "alg": "ES256", "typ": "JWT", "kid": .string(settings.apiKeyID),
    ]
    header(&fields)
    return CompactJWS.compact(
      header: Self.object(fields), payload: Self.object(claims), sign: key.signature)
  }

  private static func object(_ members: [String: JSONValue]) -> JSONValue {
    .object(members.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) })
  }

  func request(
    _ method: String, _ path: String, token: String? = nil, body: JSONValue? = nil
  ) -> FakeRequest {
    FakeRequest(
      method: method, path: path, headers: [("Authorization", "Bearer \(token ?? self.token())")],
      body: body?.encoded() ?? [])
  }

  func get(_ path: String) throws -> (status: Int, json: JSON) {
    let answer = try #require(store.answer(request("GET", path)))
    return (answer.status, try JSON.parse(answer.body))
  }

  /// The only subscription of the customer.
  func read(_ id: String) throws -> (status: Int64?, transaction: JSON, renewal: JSON) {
    let found = try get("/inApps/v1/subscriptions/\(id)").json["data"][0]["lastTransactions"][0]
    return (
      found["status"].integer,
      try Self.verified(try found["signedTransactionInfo"].requireString()),
      try Self.verified(try found["signedRenewalInfo"].requireString())
    )
  }
}

extension JSON {
  var instant: Instant? { integer.map { Instant(milliseconds: $0) } }
}
