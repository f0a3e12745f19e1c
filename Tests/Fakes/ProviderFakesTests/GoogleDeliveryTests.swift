import Base
import Crypto
import JSON
import JWS
import ProviderFakes
import Testing

/// The pushes of Pub/Sub, and their signatures.
@Suite struct GoogleDeliveryTests {
  private typealias Shop = GoogleShop

  private func envelope(_ request: FakeRequest) throws -> JSON { try JSON.parse(request.body) }

  private func token(_ request: FakeRequest) throws -> CompactJWS {
    let field = try #require(request.header("Authorization"))
    return try CompactJWS(Array(field.dropFirst(7).utf8))
  }

  private func delivery(_ shop: Shop) throws -> FakeDelivery {
    _ = shop.store.buy(Shop.monthly, for: Shop.owner)
    return try #require(shop.store.deliveries.last)
  }

  @Test func `the envelope wraps the notification in padded base64`() throws {
    let shop = Shop()
    let delivery = try delivery(shop)
    let body = try envelope(shop.store.request(for: delivery, at: Shop.start))
    #expect(body["subscription"].string == shop.store.settings.subscription)
    #expect(body["message"]["messageId"].string == delivery.id)
    #expect(body["message"]["publishTime"].string == Shop.start.description)
    #expect(!body["deliveryAttempt"].exists)
    let data = try #require(body["message"]["data"].string.flatMap(Base64.standard.decode))
    let inner = try JSON.parse(data)
    #expect(inner["packageName"].string == "app.coffer")
    #expect(inner["eventTimeMillis"].string == String(Shop.start.milliseconds))
    #expect(inner["subscriptionNotification"]["notificationType"].integer == 4)
  }

  @Test func `its token is RS256 under a key of the set, for our audience and account`() throws {
    let shop = Shop()
    let request = shop.store.request(for: try delivery(shop), at: Shop.start)
    let jws = try token(request)
    let keys = try JSON.parse(shop.store.issuer.keySet.encoded())["keys"]
    let key = try #require(keys.array?.first { $0["kid"].string == jws.header["kid"].string })
    let modulus = try #require(key["n"].string.flatMap(Base64.url.decode))
    let exponent = try #require(key["e"].string.flatMap(Base64.url.decode))
    let rsa = try #require(RSAPublicKey(modulus: modulus, exponent: exponent))
    #expect(jws.algorithm == "RS256")
    #expect(rsa.isValid(signature: jws.signature, for: jws.signingInput))
    let claims = try JSON.parse(jws.payload)
    #expect(claims["iss"].string == "https://accounts.google.com")
    #expect(claims["aud"].string == shop.store.settings.audience)
    #expect(claims["email"].string == shop.store.settings.pushEmail)
    #expect(claims["email_verified"].bool == true)
    #expect(claims["exp"].integer == Shop.start.seconds + 3600)
  }

  @Test func `a repeated delivery keeps its id and data, and gets a token of its moment`() throws {
    let shop = Shop()
    let delivery = try delivery(shop)
    let first = shop.store.request(for: delivery, at: Shop.start)
    let second = shop.store.request(for: delivery, at: Shop.start + .hours(5))
    #expect(first.body == second.body)
    let issued = try JSON.parse(token(second).payload)["iat"].integer
    #expect(issued == (Shop.start + .hours(5)).seconds)
  }

  @Test func `after a rotation new tokens name the new key, and the set holds both`() throws {
    let shop = Shop()
    let next = RSAPrivateKey()
    shop.store.issuer.rotate(to: next)
    let request = shop.store.request(for: try delivery(shop), at: Shop.start)
    #expect(try token(request).header["kid"].string == GoogleIssuer.keyID(next.publicKey))
    let set = try JSON.parse(shop.store.issuer.keySet.encoded())
    #expect(set["keys"].array?.count == 2)
  }

  @Test func `a refused message waits, ever longer, and an accepted one is gone`() throws {
    let shop = Shop()
    _ = try delivery(shop)
    var statuses: [Int] = []
    for _ in 0..<7 {
      statuses.append(shop.store.deliver { _ in 503 })
      shop.clock.advance(by: .seconds(10))
    }
    // At 0 s, 10 s, 30 s; the next would be at 70 s.
    #expect(statuses == [1, 1, 0, 1, 0, 0, 0])
    #expect(shop.store.deliver { _ in 204 } == 1)
    shop.days(1)
    #expect(shop.store.deliver { _ in 204 } == 0)
  }

  @Test func `nobody's message is dropped after seven days`() throws {
    let shop = Shop()
    _ = try delivery(shop)
    shop.store.acknowledge(shop.store.truths[0].token)
    shop.days(7)
    #expect(shop.store.dueDeliveries.isEmpty)
  }

  @Test func `after five refusals a message is in the dead-letter topic and comes back anew`()
    throws
  {
    let shop = Shop { $0.attemptsMax = 5 }
    let delivery = try delivery(shop)
    var attempts: [Int64?] = []
    for _ in 0..<8 {
      _ = shop.store.deliver { request in
        attempts.append(try? envelope(request)["deliveryAttempt"].integer)
        return 500
      }
      shop.clock.advance(by: .minutes(10))
    }
    #expect(attempts == [1, 2, 3, 4, 5])
    #expect(shop.store.deadLetterCount == 1)
    let again = try #require(shop.store.redriveDeadLetters().first)
    #expect(again.id != delivery.id)
    let (old, new) = (
      try envelope(shop.store.request(for: delivery, at: shop.clock.now)),
      try envelope(shop.store.request(for: again, at: shop.clock.now))
    )
    #expect(old["message"]["data"].string == new["message"]["data"].string)
    #expect(
      new["message"]["attributes"]["CloudPubSubDeadLetterSourceDeliveryCount"].string == "5")
    #expect(shop.store.deadLetterCount == 0)
  }

  @Test func `what is not about subscriptions has its own member`() throws {
    let shop = Shop()
    shop.store.sendTestNotification()
    shop.store.sellOneTimeProduct("stickers")
    shop.store.askForRefundReview("GPA.1-2-3-4")
    let members = try shop.store.deliveries.map { delivery in
      let body = try envelope(shop.store.request(for: delivery, at: Shop.start))
      let data = try #require(body["message"]["data"].string.flatMap(Base64.standard.decode))
      return try JSON.parse(data).members?.last?.name
    }
    #expect(
      members == [
        "testNotification", "oneTimeProductNotification", "pendingRefundReviewNotification",
      ])
  }
}
