import Base
import Crypto
import HTTPClient
import HTTPServer
import JSON
import LocalServer
import ProviderFakes
import Testing

/// The fake's App Store Server API, compared with Apple's documents.
@Suite struct AppleAPITests {
  private typealias Shop = AppleShop

  @Test func `a read shows what was told last`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.store.change(id, to: .plusMonthly)
    let told = try shop.last()
    let read = try shop.read(id)
    #expect(read.status == told.outer["data"]["status"].integer)
    for name in ["transactionId", "productId", "expiresDate", "appTransactionId"] {
      #expect(read.transaction[name].string == told.transaction?[name].string)
      #expect(read.transaction[name].integer == told.transaction?[name].integer)
    }
    #expect(read.renewal["autoRenewProductId"].string == AppleProduct.plusMonthly.id)
  }

  @Test func `a read is signed later than everything that was told before it`() throws {
    let shop = Shop()
    let id = shop.buy()
    let read = try shop.read(id)
    let told = try #require(shop.last().outer["signedDate"].instant)
    #expect(try #require(read.transaction["signedDate"].instant) > told)
    shop.store.turnOffRenewal(id)
    #expect(
      try #require(shop.last().renewal?["signedDate"].instant)
        > #require(read.renewal["signedDate"].instant))
  }

  @Test func `any transaction of a customer finds all of their subscriptions`() throws {
    let shop = Shop()
    let storage = shop.buy()
    let stickers = shop.store.buy(
      .stickersMonthly, for: Shop.owner, sameCustomerAs: storage)
    _ = shop.buy()
    shop.go(to: shop.store.expiry(of: storage))
    let json = try shop.get(
      "/inApps/v1/subscriptions/\(shop.store.latestTransaction(of: stickers))"
    ).json
    #expect(json["environment"].string == "Production")
    #expect(json["appAppleId"].integer == shop.store.settings.appAppleID)
    let groups = try json["data"].requireArray()
    let ids = groups.map { $0["lastTransactions"][0]["originalTransactionId"].string }
    #expect(ids == [storage, stickers])
  }

  @Test func `statuses can be asked for`() throws {
    let shop = Shop()
    let id = shop.buy()
    func count(_ query: String) throws -> Int? {
      try shop.get("/inApps/v1/subscriptions/\(id)?\(query)").json["data"].array?.count
    }
    #expect(try count("status=1&status=4") == 1)
    #expect(try count("status=2") == 0)
  }

  @Test(arguments: ["ASCENDING", "DESCENDING"])
  func `a history comes in pages of twenty, each transaction once`(sort: String) throws {
    let shop = Shop()
    let id = shop.buy()
    shop.go(.days(31 * 45))
    let all = shop.store.transactions(of: id)
    #expect(all.count > 40)
    var found: [String] = []
    var counts: [Int] = []
    var revision = ""
    while true {
      let json = try shop.get("/inApps/v2/history/\(id)?sort=\(sort)\(revision)").json
      let page = try json["signedTransactions"].requireArray().map {
        try Shop.verified($0.requireString())["transactionId"].requireString()
      }
      found += page
      counts.append(page.count)
      guard json["hasMore"].bool == true else { break }
      revision = "&revision=\(try json["revision"].requireString())"
    }
    #expect(found == (sort == "ASCENDING" ? all : all.reversed()))
    #expect(counts.dropLast().allSatisfy { $0 == 20 })
  }

  @Test func `a refund moves its transaction to the end of the history`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.go(.days(100))
    shop.store.refund(id)
    func ids(_ query: String) throws -> [String?] {
      try shop.get("/inApps/v2/history/\(id)?\(query)").json["signedTransactions"].requireArray()
        .map { try Shop.verified($0.requireString())["transactionId"].string }
    }
    #expect(try ids("sort=ASCENDING").last == id)
    #expect(try ids("revoked=true") == [id])
    #expect(try ids("productType=CONSUMABLE").isEmpty)
  }

  @Test(
    arguments: [
      ("/inApps/v1/subscriptions/2000000999999999", 404, 4_040_010),
      ("/inApps/v1/subscriptions/abc", 400, 4_000_006),
      ("/inApps/v2/history/2000000999999999", 404, 4_040_010),
      ("/inApps/v2/history/2000000999999999?sort=UP", 400, 4_000_021),
      ("/inApps/v9/nothing/1", 400, 4_000_000),
    ])
  func `an error has its number`(path: String, status: Int, code: Int64) throws {
    let (found, json) = try Shop().get(path)
    #expect(found == status)
    #expect(json["errorCode"].integer == code)
    #expect(json["errorMessage"].string != nil)
  }

  @Test func `a token is judged by its key and every claim`() throws {
    let shop = Shop()
    let id = shop.buy()
    func status(_ token: String) -> Int? {
      shop.store.answer(shop.request("GET", "/inApps/v1/subscriptions/\(id)", token: token))?.status
    }
    let now = shop.clock.now.seconds
    #expect(status(shop.token()) == 200)
    #expect(status(shop.token(key: P256PrivateKey())) == 401)
    #expect(status(shop.token { $0["bid"] = "com.example.other" }) == 401)
    #expect(status(shop.token { $0["iss"] = "somebody" }) == 401)
    #expect(status(shop.token { $0["aud"] = "appstoreconnect-v2" }) == 401)
    #expect(status(shop.token { $0["exp"] = .integer(now) }) == 401)
    #expect(status(shop.token { $0["exp"] = .integer(now + 3601) }) == 401)
    #expect(status(shop.token { $0["iat"] = .integer(now + 300) }) == 401)
    #expect(status(shop.token(header: { $0["kid"] = "OTHER" })) == 401)
    #expect(status(shop.token(header: { $0["alg"] = "RS256" })) == 401)
    #expect(status("") == 401)
  }

  @Test func `too many requests are told to wait until a moment in milliseconds`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.store.faults.fail(next: [.status(429, retryAfter: 90), .status(500), .timeout])
    let request = shop.request("GET", "/inApps/v1/subscriptions/\(id)")
    let answer = try #require(shop.store.answer(request))
    #expect(answer.status == 429)
    let until = answer.headers.first { $0.name == "Retry-After" }?.value
    #expect(until == String((shop.clock.now + .seconds(90)).milliseconds))
    #expect(try JSON.parse(answer.body)["errorCode"].integer == 4_290_000)
    #expect(shop.store.answer(request)?.status == 500)
    #expect(shop.store.answer(request) == nil)
    #expect(shop.store.answer(request)?.status == 200)
  }

  @Test func `a replica that lags signs what it knows`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.go(.minutes(10))
    shop.store.refund(id)
    shop.store.faults.setReplicaLag(.seconds(30))
    shop.go(.seconds(20))
    let stale = try shop.read(id)
    #expect(stale.status == 1)
    #expect(stale.transaction["revocationDate"].exists == false)
    #expect(
      try #require(stale.transaction["signedDate"].instant)
        > #require(shop.last().outer["signedDate"].instant))
    shop.go(.seconds(10))
    #expect(try shop.read(id).status == 5)
  }

  @Test func `the past can be read`() throws {
    let shop = Shop()
    let id = shop.buy()
    shop.go(.days(3))
    let token = shop.token()
    shop.go(.seconds(1))
    shop.store.refund(id)
    let request = shop.request("GET", "/inApps/v1/subscriptions/\(id)", token: token)
    let before = shop.store.answer(request, asOf: shop.clock.now - .seconds(1))
    #expect(
      try JSON.parse(before.body)["data"][0]["lastTransactions"][0]["status"].integer == 1)
    let after = shop.store.answer(request, asOf: shop.clock.now)
    #expect(try JSON.parse(after.body)["data"][0]["lastTransactions"][0]["status"].integer == 5)
  }

  @Test func `the history of notifications has pages, filters and attempts`() throws {
    let shop = Shop()
    let id = shop.buy()
    let other = shop.buy()
    for _ in 0..<12 {
      shop.store.turnOffRenewal(id)
      shop.store.turnOnRenewal(id)
    }
    #expect(shop.store.deliver { _ in 200 } == 26)
    shop.store.turnOffRenewal(other)
    #expect(shop.store.deliver { _ in 503 } == 1)
    func ask(_ fields: [JSONValue.Member] = [], _ query: String = "") throws -> JSON {
      let range: [JSONValue.Member] = [
        .init("startDate", .integer((Shop.start - .days(1)).milliseconds)),
        .init("endDate", .integer((Shop.start + .days(1)).milliseconds)),
      ]
      let answer = try #require(
        shop.store.answer(
          shop.request(
            "POST", "/inApps/v1/notifications/history\(query)", body: .object(range + fields))))
      return try JSON.parse(answer.body)
    }
    let first = try ask()
    #expect(first["notificationHistory"].array?.count == 20)
    #expect(first["hasMore"].bool == true)
    let next = "?paginationToken=\(try first["paginationToken"].requireString())"
    let second = try ask([], next)
    #expect(second["notificationHistory"].array?.count == 7)
    #expect(second["hasMore"].bool == false)
    let mine = try ask([.init("transactionId", .string(other))])["notificationHistory"]
    #expect(mine.array?.count == 2)
    let failures = try ask([.init("onlyFailures", true)])["notificationHistory"]
    #expect(failures.array?.count == 1)
    #expect(
      failures[0]["sendAttempts"][0]["sendAttemptResult"].string
        == "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
    let told = try Shop.verified(try failures[0]["signedPayload"].requireString())
    #expect(told["subtype"].string == "AUTO_RENEW_DISABLED")
    let both = try ask([
      .init("transactionId", .string(other)), .init("notificationType", "TEST"),
    ])
    #expect(both["errorCode"].integer == 4_000_018)
  }

  @Test func `the same over a socket`() throws {
    let shop = Shop()
    let id = shop.buy()
    let server = try startServer(shop.store.routes(), name: "apple")
    for path in ["/inApps/v1/subscriptions/\(id)", "/inApps/v2/history/\(id)?sort=DESCENDING"] {
      let reply = try HTTPClient().send(
        "GET", "http://127.0.0.1:\(server.port)\(path)",
        headers: [("Authorization", "Bearer \(shop.token())")], timeout: .seconds(5))
      #expect(reply.status == 200)
    }
  }
}
