import Base
import Crypto
import JSON
import ProviderFakes
import Testing

/// The publisher's API, the token endpoint and the key set as HTTP.
@Suite struct GoogleAPITests {
  private typealias Shop = GoogleShop

  @Test func `what is false or zero is left out, as proto3 JSON does`() throws {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    shop.store.cancel(token)
    let item = try shop.read(token)["lineItems"][0]
    #expect(item["autoRenewingPlan"].isObject)
    #expect(!item["autoRenewingPlan"]["autoRenewEnabled"].exists)
    let price = item["autoRenewingPlan"]["recurringPrice"]
    #expect(price["units"].string == "2")
    #expect(price["nanos"].integer == 990_000_000)
    #expect(try shop.read(token)["startTime"].string == "2026-03-03T10:02:00.512Z")
  }

  @Test func `acknowledging is idempotent and keeps the first account`() throws {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner, namesOwner: false)
    let path = "purchases/subscriptions/premium/tokens/\(token):acknowledge"
    for account in ["first", "second"] {
      let body = #"{"externalAccountIds":{"obfuscatedAccountId":"\#(account)"}}"#
      #expect(shop.call("POST", path, body)?.status == 204)
    }
    let read = try shop.read(token)
    #expect(read["acknowledgementState"].string == "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED")
    let ids = read["externalAccountIdentifiers"]
    #expect(ids["obfuscatedExternalAccountId"].string == "first")
  }

  @Test func `a pending purchase is not acknowledged`() {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner, isPending: true)
    let answer = shop.call("POST", "purchases/subscriptions/premium/tokens/\(token):acknowledge")
    #expect(answer?.status == 400)
  }

  @Test func `orders are read one by one and many at once`() throws {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    shop.store.acknowledge(token)
    shop.go(to: shop.end)
    let ids = shop.store.orders(of: token)
    let one = try #require(shop.call("GET", "orders/\(ids[1])"))
    #expect(try JSON.parse(one.body)["state"].string == "PROCESSED")
    #expect(try JSON.parse(one.body)["purchaseToken"].string == token)
    let query = ids.map { "orderIds=\($0)" }.joined(separator: "&")
    let many = try #require(shop.call("GET", "orders:batchGet?\(query)"))
    #expect(try JSON.parse(many.body)["orders"].array?.map { $0["orderId"].string } == ids)
    #expect(shop.call("GET", "orders:batchGet")?.status == 400)
  }

  @Test func `voided purchases are listed by page, with subscriptions only on demand`() throws {
    let shop = Shop()
    for _ in 0..<3 {
      let token = shop.store.buy(Shop.monthly, for: Shop.owner)
      shop.store.refund(shop.store.orders(of: token)[0], revoking: true)
    }
    let path = "purchases/voidedpurchases"
    let none = try JSON.parse(try #require(shop.call("GET", path)).body)
    #expect(!none["voidedPurchases"].exists)
    let first = try JSON.parse(try #require(shop.call("GET", path + "?type=1&maxResults=2")).body)
    #expect(first["voidedPurchases"].array?.count == 2)
    #expect(first["voidedPurchases"][0]["voidedSource"].integer == 1)
    let next = try #require(first["tokenPagination"]["nextPageToken"].string)
    let last = try #require(shop.call("GET", path + "?type=1&maxResults=2&token=\(next)"))
    #expect(try JSON.parse(last.body)["voidedPurchases"].array?.count == 1)
    #expect(try !JSON.parse(last.body)["tokenPagination"].exists)
  }

  @Test func `a lagging read shows the state as it was, and what is too new not at all`() throws {
    let shop = Shop()
    shop.store.faults.setReplicaLag(.seconds(90))
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    #expect(shop.status(token) == 404)
    shop.clock.advance(by: .seconds(90))
    #expect(shop.status(token) == 200)
    shop.store.cancel(token)
    #expect(try shop.shows(token) == "ACTIVE \(shop.end)")
    shop.clock.advance(by: .seconds(90))
    #expect(try shop.shows(token) == "CANCELED \(shop.end)")
  }

  @Test func `a story that is over can be read as of every moment in it`() throws {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    shop.days(1)
    shop.store.cancel(token)
    shop.days(100)
    func state(_ moment: Instant) throws -> String? {
      let answer = shop.store.read(token, asOf: moment)
      return try JSON.parse(answer.body)["subscriptionState"].string
    }
    #expect(try state(Shop.start) == "SUBSCRIPTION_STATE_ACTIVE")
    #expect(try state(Shop.start + .days(1)) == "SUBSCRIPTION_STATE_CANCELED")
    #expect(shop.store.read(token, asOf: Shop.start - .seconds(1)).status == 404)
    #expect(shop.store.read(token, asOf: shop.clock.now).status == 410)
  }

  @Test func `scripted failures meet the next calls`() {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    shop.store.faults.fail(next: [.status(429, retryAfter: 7), .timeout, .status(503)])
    let path = "purchases/subscriptionsv2/tokens/\(token)"
    let first = shop.call("GET", path)
    #expect(first?.status == 429)
    #expect(first?.headers.contains { $0 == ("Retry-After", "7") } == true)
    #expect(shop.call("GET", path) == nil)
    #expect(shop.status(token) == 503)
    #expect(shop.status(token) == 200)
  }

  @Test func `a token can be made to look unknown or gone`() {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    for status in [404, 410] {
      shop.store.refuseReads(of: token, status: status)
      #expect(shop.status(token) == status)
    }
    shop.store.refuseReads(of: token, status: nil)
    #expect(shop.status(token) == 200)
  }

  @Test func `without an access token, or with one that is over, the answer is 401`() {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    let path = "/androidpublisher/v3/applications/app.coffer/purchases/subscriptionsv2/tokens/"
    let bearer = shop.bearer
    func status(_ headers: [(name: String, value: String)]) -> Int? {
      shop.store.answer(FakeRequest(method: "GET", path: path + token, headers: headers))?.status
    }
    #expect(status([]) == 401)
    #expect(status([("Authorization", "Bearer \(bearer)")]) == 200)
    shop.clock.advance(by: .hours(1))
    #expect(status([("Authorization", "Bearer \(bearer)")]) == 401)
  }

  @Test func `another application's purchases are not found`() {
    let shop = Shop()
    let path = "/androidpublisher/v3/applications/app.other/purchases/subscriptionsv2/tokens/x"
    let answer = shop.store.answer(
      FakeRequest(
        method: "GET", path: path, headers: [("Authorization", "Bearer \(shop.bearer)")]))
    #expect(answer?.status == 404)
  }

  @Test func `an assertion by another key gets no access token`() {
    let shop = Shop()
    #expect(shop.store.answer(Shop.signIn(shop.store))?.status == 200)
    #expect(shop.store.answer(Shop.signIn(shop.store, key: RSAPrivateKey()))?.status == 400)
  }

  @Test(arguments: ["iss", "aud", "scope", "iat", "exp"])
  func `an assertion with another claim gets no access token`(claim: String) {
    let shop = Shop()
    let request = Shop.signIn(shop.store) { claims in
      let later = JSONValue.integer(shop.clock.now.seconds + 7200)
      claims[claim] = ["iat", "exp"].contains(claim) ? later : "other"
    }
    #expect(shop.store.answer(request)?.status == 400)
  }

  @Test func `the key set says how long to keep it, and can be down`() throws {
    let shop = Shop()
    let request = FakeRequest(method: "GET", path: "/oauth2/v3/certs")
    let answer = try #require(shop.store.answer(request))
    #expect(
      answer.headers.contains {
        $0 == ("Cache-Control", "public, max-age=19504, must-revalidate, no-transform")
      })
    shop.store.keySetFaults.fail(next: [.status(503), .timeout])
    #expect(shop.store.answer(request)?.status == 503)
    #expect(shop.store.answer(request) == nil)
    #expect(shop.store.answer(request)?.status == 200)
  }
}
