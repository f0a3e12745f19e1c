import Base
import Crypto
import JSON
import JWS
import ProviderFakes
import Testing

/// A fake store with plans, a service account that signs in, and short ways to call it.
struct GoogleShop {
  static let key = RSAPrivateKey()
  static let start = Instant(milliseconds: 1_772_532_120_512)
  static let owner = Identifier(high: 7, low: 11)

  static let monthly = GooglePlan(
    productID: "premium", basePlanID: "monthly", price: GoogleMoney(cents: 299),
    period: .months(1))
  static let yearly = GooglePlan(
    productID: "premium", basePlanID: "yearly", price: GoogleMoney(cents: 3000),
    period: .months(12))
  static let studio = GooglePlan(
    productID: "studio", basePlanID: "monthly", price: GoogleMoney(cents: 999),
    period: .months(1), graceDays: 0)
  static let prepaid = GooglePlan(
    productID: "premium", basePlanID: "prepaid", price: GoogleMoney(cents: 299),
    period: .months(1), isPrepaid: true)

  let clock = FakeClock(start)
  let store: FakePlayStore

  init(_ change: (inout FakePlayStore.Settings) -> Void = { _ in }) {
    var settings = FakePlayStore.Settings()
    settings.serviceKey = Self.key.publicKey
    change(&settings)
    store = FakePlayStore(
      clock: clock, issuer: GoogleIssuer(keys: [Self.key]), settings: settings)
  }

  static func signIn(
    _ store: FakePlayStore, key: RSAPrivateKey = key,
    _ change: (inout [String: JSONValue]) -> Void = { _ in }
  ) -> FakeRequest {
    let now = store.clock.now.seconds
    var claims: [String: JSONValue] = [
      "iss": .string(store.settings.serviceEmail), "aud": .string(store.settings.tokenAudience),
      "scope": "https://www.googleapis.com/auth/androidpublisher", "iat": .integer(now),
      "exp": .integer(now + 3600),
    ]
    change(&claims)
    let assertion = CompactJWS.compact(
      header: ["alg": "RS256", "typ": "JWT"],
      payload: .object(claims.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) })
    ) { key.signature(for: $0) }
    let form =
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
    return FakeRequest(
      method: "POST", path: "/token",
      headers: [("Content-Type", "application/x-www-form-urlencoded")], body: Array(form.utf8))
  }

  /// A new access token.
  var bearer: String {
    let answer = store.answer(Self.signIn(store))
    return answer.flatMap { try? JSON.parse($0.body)["access_token"].string } ?? ""
  }

  /// A call of the publisher's API by the account, with a new sign-in.
  func call(_ method: String, _ path: String, _ body: String = "") -> FakeAnswer? {
    store.answer(
      FakeRequest(
        method: method, path: "/androidpublisher/v3/applications/app.coffer/" + path,
        headers: [("Authorization", "Bearer \(bearer)")], body: Array(body.utf8)))
  }

  func read(_ token: String) throws -> JSON {
    let answer = try #require(call("GET", "purchases/subscriptionsv2/tokens/\(token)"))
    #expect(answer.status == 200)
    return try JSON.parse(answer.body)
  }

  func status(_ token: String) -> Int? {
    call("GET", "purchases/subscriptionsv2/tokens/\(token)")?.status
  }

  /// `ACTIVE 2026-04-03T10:02:00.512Z`: state and expiry as one read shows them.
  func shows(_ token: String) throws -> String {
    let json = try read(token)
    let state = try json["subscriptionState"].requireString().dropFirst(19)
    let expiries = (json["lineItems"].array ?? []).map { $0["expiryTime"].string ?? "-" }
    return ([String(state)] + expiries).joined(separator: " ")
  }

  /// The types of all notifications so far, oldest first.
  var told: [String] {
    store.deliveries.map { delivery in
      let name = store.type(of: delivery)
      return name.hasPrefix("SUBSCRIPTION_") ? String(name.dropFirst(13)) : name
    }
  }

  func days(_ count: Int64) { clock.advance(by: .days(count)) }

  func go(to moment: Instant) { clock.set(moment) }

  /// The end of the first monthly period.
  var end: Instant { Self.start.adding(months: 1) }
}
