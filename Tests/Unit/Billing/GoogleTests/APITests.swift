import Base
import Configuration
import Crypto
import Google
import HTTPMessages
import JSON
import ProviderAPI
import SeededRandom
import Stores
import Subscriptions
import Testing
import Tiers

/// Reads of purchases over a scripted transport.
struct APITests {
  private static let token = PurchaseToken("token.AO-J1Oz/0123 +456".filter { $0 != " " })!

  /// Answers requests, and records them.
  private final class Script: ProviderTransport {
    let requests = Locked<[(method: String, url: String, bearer: String?)]>([])
    private let answer: @Sendable (APIRequest, Int) throws(APIFailure) -> (Int, String)

    init(_ answer: @escaping @Sendable (APIRequest, Int) throws(APIFailure) -> (Int, String)) {
      self.answer = answer
    }

    func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
      let count = requests.withLock { requests in
        requests.append(
          (
            request.method, request.url,
            request.headers.first { $0.0 == "Authorization" }?.1
          ))
        return requests.count
      }
      if request.url.hasSuffix("/token") {
        return reply(200, #"{"access_token":"secret-\#(count)","expires_in":3599}"#)
      }
      let (status, body) = try answer(request, count)
      let reply = reply(status, body)
      if let failure = reply.transientFailure { throw failure }
      return reply
    }

    private func reply(_ status: Int, _ body: String) -> APIReply {
      APIReply(
        status: status, headers: Headers([]), body: Array(body.utf8), elapsed: .milliseconds(1))
    }
  }

  private func api(_ script: Script, now: Instant = Sample.now) throws -> GoogleAPI {
    let file: JSONValue = [
      "type": "service_account", "client_email": "a@b", "private_key_id": "1",
      "private_key": .string(String(decoding: Sample.key.pem.exposed, as: UTF8.self)),
      "token_uri": "https://oauth2.example/token",
    ]
    let account = try #require(ServiceAccount(keyFile: Secret(file.encoded())))
    return GoogleAPI(
      package: "app.coffer", account: account, transport: script, clock: .fixed(now))
  }

  /// A purchase with the members that every purchase has, and the given ones.
  private static func answer(_ members: String = "") -> String {
    var text = String(members.dropFirst().dropLast())
    if !text.contains("subscriptionState") {
      text = #""subscriptionState":"SUBSCRIPTION_STATE_PENDING""# + (text.isEmpty ? "" : ",") + text
    }
    if !text.contains("lineItems") { text += #","lineItems":[{"productId":"p"}]"# }
    return "{\(text)}"
  }

  private func purchase(_ json: String) throws -> GooglePurchase {
    let script = Script { request, _ throws(APIFailure) in
      request.url.contains("/orders/") ? (404, "") : (200, Self.answer(json))
    }
    let answer = try api(script).read(token: Self.token, readNumber: 3)
    guard case .purchase(let purchase)? = answer.facts.first?.object.base as? GoogleObject else {
      throw APIFailure.malformed("no purchase")
    }
    #expect(answer.facts.first?.asOf == .readNumber(3))
    return purchase
  }

  @Test(arguments: [
    "{}", #"{"subscriptionState":"SUBSCRIPTION_STATE_ACTIVE"}"#,
    #"{"lineItems":[{"productId":"p"}]}"#,
    #"{"subscriptionState":"","lineItems":[{"productId":"p"}]}"#,
    #"{"subscriptionState":"SUBSCRIPTION_STATE_ACTIVE","lineItems":[]}"#,
  ])
  func `an answer without a state or items is no purchase`(text: String) throws {
    let script = Script { _, _ throws(APIFailure) in (200, text) }
    let api = try api(script)
    #expect(throws: APIFailure.self) { try api.read(token: Self.token, readNumber: 1) }
  }

  @Test func `a purchase with next to nothing in it is none that gives anything`() throws {
    let bare = try purchase(#"{"subscriptionState":"novel"}"#)
    #expect(bare.state == .other("UNSPECIFIED"))
    #expect(bare.startTime == nil && !bare.isAcknowledged)
  }

  @Test(arguments: [
    ("2026-03-01T10:00:00Z", 0), ("2026-03-01T10:00:00.5Z", 500),
    ("2026-03-01T10:00:00.123456789Z", 123), ("2026-03-01T11:00:00.5+01:00", 500),
  ])
  func `times have up to nine digits of a second`(text: String, milliseconds: Int64) throws {
    let read = try purchase(#"{"startTime":"\#(text)"}"#)
    #expect(read.startTime == Instant(milliseconds: 1_772_359_200_000 + milliseconds))
  }

  @Test(arguments: [
    "2026-02-30T10:00:00Z", "2026-03-01T25:00:00Z", "2026-03-01T10:00:00", "2026-03-01 10:00:00Z",
    "2026-03-01T10:00:00.Z", "2026-03-01T10:00:00.1234567890Z", "2026-03-01T10:00:00+1:00", "",
  ])
  func `a time that is none makes the answer malformed`(text: String) {
    #expect(throws: APIFailure.self) { try purchase(#"{"startTime":"\#(text)"}"#) }
  }

  @Test func `the person who bought is not kept`() throws {
    let read = try purchase(
      #"{"subscriptionState":"SUBSCRIPTION_STATE_ACTIVE","subscribeWithGoogleInfo":{"#
        + #""emailAddress":"ada@example.com","givenName":"Ada"}}"#)
    let stored = String(decoding: GoogleObject.purchase(read).stored().encoded(), as: UTF8.self)
    #expect(!stored.contains("ada") && !stored.contains("Ada"))
  }

  @Test func `the person who bought stands in no transcript, and all else word for word`() throws {
    let person =
      #"{"profileName":"Ada, {\"Lovelace\"}","emailAddress":"ada@example.com","other":[1,{}]}"#
    let script = Script { request, _ throws(APIFailure) in
      request.url.contains("/orders/")
        ? (200, #"{"orderId":"GPA.1","buyerAddress":{"buyerPostcode":"N1"},"tax":{"nanos":5}}"#)
        : (
          200,
          #"{ "a\u0062":1.50, "subscribeWith\u0047oogleInfo": \#(person) ,"kind":"x, y","#
            + #""subscriptionState":"S","lineItems":[{"productId":"p"}]}"#
        )
    }
    let answer = try api(script).read(token: Self.token, readNumber: 1, orders: ["GPA.1"])
    let text = String(decoding: answer.transcript, as: UTF8.self)
    for word in ["Ada", "ada@", "oogleInfo", "buyer", "N1"] { #expect(!text.contains(word)) }
    let json = try JSON.parse(answer.transcript)
    #expect(text.contains(#""answer":{ "a\u0062":1.50,"kind":"x, y","subscriptionState""#))
    #expect(json[1]["answer"]["tax"]["nanos"].integer == 5)
  }

  @Test func `whatever stands around the person stays byte for byte`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "APITests.person"))
    func value(_ depth: Int) -> JSONValue {
      let many = 0..<Int.random(in: 0...3, using: &random)
      switch Int.random(in: 0...(depth < 4 ? 4 : 2), using: &random) {
      case 0: return .integer(.random(in: .min ... .max, using: &random))
      case 1: return .bool(.random(using: &random))
      case 2:
        let letters = Array(#""\{}[],:é"#)
        return .string(String((0..<8).map { _ in letters.randomElement(using: &random)! }))
      case 3: return .array(many.map { _ in value(depth + 1) })
      default: return .object(many.map { .init("\"{\($0)", value(depth + 1)) })
      }
    }
    for _ in 0..<300 {
      let others =
        (0..<Int.random(in: 0...4, using: &random)).map { number in
          JSONValue.Member("},\"\(number)", value(0))
        } + [
          .init("subscriptionState", "SUBSCRIPTION_STATE_ACTIVE"),
          .init("lineItems", [["productId": "p"]]),
        ]
      var all = others
      for name in ["subscribeWithGoogleInfo", "buyerAddress"] {
        let place = Int.random(in: 0...all.count, using: &random)
        all.insert(.init(name, value(0)), at: place)
      }
      let text = String(decoding: JSONValue.object(all).encoded(), as: UTF8.self)
      let script = Script { _, _ throws(APIFailure) in (200, text) }
      let answer = try api(script).read(token: Self.token, readNumber: 1)
      #expect(answer.transcript == expected(.object(others)))
    }
  }

  private func expected(_ answer: JSONValue) -> [UInt8] {
    let path = "/purchases/subscriptionsv2/tokens/<token>"
    let parts: JSONValue = [["path": .string(path), "answer": answer]]
    return parts.encoded()
  }

  @Test func `empty texts are absent ones, as proto3 has it`() throws {
    let read = try purchase(
      #"{"linkedPurchaseToken":"","outOfAppPurchaseContext":{"expiredPurchaseToken":""},"#
        + #""externalAccountIdentifiers":{"obfuscatedExternalAccountId":""},"lineItems":[{"#
        + #""productId":"premium","latestSuccessfulOrderId":"","#
        + #""offerDetails":{"basePlanId":""}}]}"#)
    #expect(read.replaces == nil && read.continues == nil && read.account == nil)
    #expect(read.items.map { $0.basePlanID } == [nil])
    #expect(read.items.map { $0.latestOrderID } == [nil])
  }

  @Test func `a purchase that names itself replaces nothing`() throws {
    let token = String(decoding: Self.token.secret.exposed, as: UTF8.self)
    let read = try purchase(
      #"{"linkedPurchaseToken":"\#(token)","#
        + #""outOfAppPurchaseContext":{"expiredPurchaseToken":"\#(token)"}}"#)
    #expect(read.replaces == nil && read.continues == nil)
  }

  @Test func `orders are shown a hundred at a time, and where one is unknown its hundred is not`()
    throws
  {
    let script = Script { request, _ throws(APIFailure) in
      let ids = request.url.split(separator: "?").last?.split(separator: "&")
        .compactMap { $0.split(separator: "=").last }
      guard let ids, ids.count <= 100, !ids.contains("GPA.unknown") else {
        return (404, #"{"error":{"code":404}}"#)
      }
      let orders = ids.map {
        #"{"orderId":"\#($0)","purchaseToken":"token.AO-J1Oz/0123+456","state":"PROCESSED"}"#
      }
      return (200, #"{"orders":[\#(orders.joined(separator: ",")),{"orderId":"GPA.x"},7]}"#)
    }
    let ids = (0..<230).map { "GPA.\($0)" } + ["GPA.unknown"]
    let keys = ids.map {
      ObjectKey(provider: .google, environment: .live, kind: .order, id: $0)
    }
    let facts = try GoogleStore(verifier: nil, apis: [api(script)]).parts(named: keys)
    #expect(facts.map(\.key) == Array(keys.prefix(200)))
    #expect(script.requests.withLock { $0.filter { $0.url.contains(":batchGet") }.count } == 3)
  }

  @Test func `orders that cannot be asked for now are no answer`() throws {
    let script = Script { _, _ throws(APIFailure) in (503, "") }
    let store = GoogleStore(verifier: nil, apis: [try api(script)])
    let key = ObjectKey(provider: .google, environment: .live, kind: .order, id: "GPA.1")
    #expect(throws: APIFailure.self) { try store.parts(named: [key]) }
    #expect(try store.parts(named: []) == [])
  }

  @Test(arguments: [false, true])
  func `a shallow read leaves out the orders that are known, and reads others`(
    isShallow: Bool
  ) throws {
    let item = #"{"productId":"p","latestSuccessfulOrderId":"GPA.1..1"}"#
    let script = Script { request, _ throws(APIFailure) in
      request.url.contains("/orders/")
        ? (404, "") : (200, Self.answer(#"{"lineItems":[\#(item)]}"#))
    }
    let known = ["GPA.1..0", "GPA.1"].map {
      ObjectKey(provider: .google, environment: .live, kind: .order, id: $0)
    }
    let request = StoreRead(
      Self.token.objectKey, readNumber: 1, secret: Self.token.secret, isShallow: isShallow
    ) { .init(reasons: ["order:GPA.9"], parts: known) }
    _ = try GoogleStore(verifier: nil, apis: [api(script)]).read(request)
    let orders = script.requests.withLock { requests in
      requests.compactMap { $0.url.split(separator: "/orders/").dropFirst().last }.map(String.init)
    }
    #expect(orders == ["GPA.1..1", "GPA.9"] + (isShallow ? [] : ["GPA.1..0", "GPA.1"]))
  }

  @Test func `of too many orders the current one is read, and the rest noted`() throws {
    let script = Script { request, _ throws(APIFailure) in
      guard let order = request.url.split(separator: "/").last, order.hasPrefix("GPA") else {
        let items = #"{"lineItems":[{"productId":"p","latestSuccessfulOrderId":"GPA.Z"}]}"#
        return (200, Self.answer(items))
      }
      return (200, #"{"orderId":"\#(order)","state":"PROCESSED"}"#)
    }
    let older = (10..<60).map { "GPA.\($0)" }
    let answer = try api(script).read(token: Self.token, readNumber: 1, orders: older)
    #expect(answer.facts.contains { $0.key.id == "GPA.Z" })
    #expect(answer.notes == ["order_missing"])
    #expect(script.requests.withLock { $0.count } == 22)
  }

  @Test func `an obfuscated id that is no account of ours is noted and ignored`() throws {
    let script = Script { _, _ throws(APIFailure) in
      (200, Self.answer(#"{"externalAccountIdentifiers":{"obfuscatedExternalAccountId":"alice"}}"#))
    }
    let answer = try api(script).read(token: Self.token, readNumber: 1)
    #expect(answer.notes == ["malformed_account"])
  }

  /// The end that the purchase shows; `now` is 2026-05-28.
  private func ended(_ state: String, _ items: (end: String, renews: Bool)...) throws -> String? {
    let lines = items.map { end, renews in
      #"{"productId":"p","expiryTime":"\#(end)","autoRenewingPlan":{"autoRenewEnabled":\#(renews)}}"#
    }
    let read = try purchase(
      #"{"subscriptionState":"SUBSCRIPTION_STATE_\#(state)","startTime":"2026-03-01T10:00:00Z","#
        + #""lineItems":[\#(lines.joined(separator: ","))]}"#)
    return read.ended?.description
  }

  @Test func `a purchase without access tells when it ended, one with access does not`() throws {
    let end = "2026-05-01T10:00:00Z"
    for state in ["EXPIRED", "ON_HOLD", "PAUSED"] {
      #expect(try ended(state, (end, true)) == end)
    }
    for state in ["ACTIVE", "IN_GRACE_PERIOD", "CANCELED", "PENDING", "NEW"] {
      #expect(try ended(state, (end, true)) == nil)
    }
  }

  @Test func `a hold began with the first item that was not paid for`() throws {
    let (may, june) = ("2026-05-01T10:00:00Z", "2026-06-20T10:00:00Z")
    #expect(try ended("ON_HOLD", (june, true), (may, true)) == may)
    #expect(try ended("ON_HOLD", (may, true), ("2026-03-01T10:00:00Z", false)) == may)
  }

  @Test(arguments: ["EXPIRED", "ON_HOLD", "PAUSED"])
  func `an end that has not come tells nothing of the past`(state: String) throws {
    #expect(try ended(state, ("2026-06-20T10:00:00Z", true)) == nil)
  }

  @Test func `a paused purchase tells when it resumes by itself`() throws {
    let read = try purchase(
      #"{"subscriptionState":"SUBSCRIPTION_STATE_PAUSED","startTime":"2026-03-01T10:00:00Z","#
        + #""pausedStateContext":{"autoResumeTime":"2026-07-01T10:00:00Z"},"#
        + #""lineItems":[{"productId":"p","expiryTime":"2026-05-01T10:00:00Z","#
        + #""autoRenewingPlan":{"autoRenewEnabled":true}}]}"#)
    #expect(read.resumes?.description == "2026-07-01T10:00:00Z")
    let object = GoogleObject.purchase(read)
    let json = try JSON.parse(object.stored().encoded())
    #expect(try GoogleObject(stored: json, kind: .purchase) == object)
  }

  @Test func `an ended purchase round-trips through its stored form`() throws {
    let object = GoogleObject.purchase(
      GooglePurchase(state: .expired, startTime: Sample.now, items: [], ended: Sample.now))
    let json = try JSON.parse(object.stored().encoded())
    #expect(try GoogleObject(stored: json, kind: .purchase) == object)
  }

  @Test func `a purchase round-trips through its stored form`() throws {
    let read = try purchase(
      #"{"subscriptionState":"SUBSCRIPTION_STATE_IN_GRACE_PERIOD","startTime":"2026-03-01T10:00:00Z","#
        + #""acknowledgementState":"ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED","testPurchase":{},"#
        + #""linkedPurchaseToken":"older","lineItems":[{"productId":"premium","#
        + #""expiryTime":"2026-04-01T10:00:00Z","autoRenewingPlan":{"autoRenewEnabled":true},"#
        + #""offerDetails":{"basePlanId":"monthly"},"latestSuccessfulOrderId":"GPA.1",""#
        + #"offerPhase":{"freeTrial":{}}}]}"#)
    let object = GoogleObject.purchase(read)
    let json = try JSON.parse(object.stored().encoded())
    #expect(try GoogleObject(stored: json, kind: .purchase) == object)
    #expect(read.replaces == PurchaseToken("older")?.objectKey.id)
  }

  @Test func `one access token serves many reads, and is asked for again before its end`() throws {
    let script = Script { _, _ throws(APIFailure) in (200, Self.answer()) }
    let api = try api(script)
    for readNumber in 1...5 {
      _ = try api.read(token: Self.token, readNumber: Int64(readNumber))
    }
    #expect(script.requests.withLock { $0.filter { $0.url.hasSuffix("/token") }.count } == 1)
  }

  @Test func `a token that Google does not take is replaced once`() throws {
    let script = Script { request, _ throws(APIFailure) in
      let isFirst = request.headers.contains { $0.1 == "Bearer secret-1" }
      return isFirst ? (401, "") : (200, Self.answer())
    }
    _ = try api(script).read(token: Self.token, readNumber: 1)
    #expect(script.requests.withLock { $0.count } == 4)
  }

  @Test(arguments: [
    (401, APIFailure.misconfigured("the provider answers 401")),
    (403, .misconfigured("the provider answers 403")), (404, .notFound), (410, .gone),
    (400, .refused(status: 400, "the provider answers 400")),
    (409, .transient("Google answers 409", retryAfter: nil)),
    (429, .transient("the provider answers 429", retryAfter: nil)),
    (503, .transient("the provider answers 503", retryAfter: nil)),
  ])
  func `each status means what Google's error codes say`(status: Int, failure: APIFailure) throws {
    let script = Script { _, _ throws(APIFailure) in (status, #"{"error":{}}"#) }
    let api = try api(script)
    #expect(throws: failure) { try api.read(token: Self.token, readNumber: 1) }
  }

  @Test(arguments: [400, 404, 410], ["", "{}", "<html>"])
  func `what is no error of Google's says nothing of a purchase`(status: Int, body: String) throws {
    let api = try api(Script { _, _ throws(APIFailure) in (status, body) })
    #expect(
      throws: APIFailure.misconfigured("something else than Google's API answers \(status)")
    ) {
      try api.read(token: Self.token, readNumber: 1)
    }
  }

  @Test(arguments: [403, 404, 410, 400])
  func `an order that cannot be read does not fail the read of its purchase`(status: Int) throws {
    let script = Script { request, _ throws(APIFailure) in
      request.url.contains("/orders/") ? (status, "") : (200, Self.answer())
    }
    let answer = try api(script).read(token: Self.token, readNumber: 1, orders: ["GPA.7"])
    #expect(answer.notes == ["order_missing"])
    #expect(answer.facts.count == 1)
  }

  @Test func `tokens stand percent-encoded in addresses and in no transcript or error`() throws {
    let script = Script { _, _ throws(APIFailure) in (200, Self.answer()) }
    let answer = try api(script).read(token: Self.token, readNumber: 1)
    let urls = script.requests.withLock { $0.map { $0.url } }
    #expect(urls.contains { $0.hasSuffix("token.AO-J1Oz%2F0123%2B456") })
    #expect(!String(decoding: answer.transcript, as: UTF8.self).contains("AO-J1O"))
  }

  @Test(arguments: [
    ("The subscription is expired.", "The subscription is expired."),
    ("No token.AO-J1Oz/0123+456 here.", "the provider answers 400"),
    ("two\\nlines", "the provider answers 400"),
    (String(repeating: "a", count: 201), "the provider answers 400"),
  ])
  func `what Google does not do it says why, and never with the token in it`(
    message: String, told: String
  ) throws {
    let script = Script { _, _ throws(APIFailure) in
      (400, #"{"error":{"code":400,"message":"\#(message)"}}"#)
    }
    let api = try api(script)
    #expect(throws: APIFailure.refused(status: 400, told)) {
      try api.stopRenewal(token: Self.token)
    }
  }

  @Test(arguments: 0..<5, [("", true), ("{}", true), ("<html>Log in</html>", false)])
  func
    `what Google was told is done where it says nothing or JSON, not where somebody else answers`(
      index: Int, answer: (body: String, isDone: Bool)
    ) throws
  {
    let api = try api(Script { _, _ throws(APIFailure) in (200, answer.body) })
    let told: Result<Void, APIFailure> = Result { () throws(APIFailure) in
      switch index {
      case 0: try api.stopRenewal(token: Self.token)
      case 1: try api.revoke(token: Self.token)
      case 2: try api.refund(order: "GPA.1")
      case 3:
        try api.acknowledge(
          token: Self.token, productID: "p",
          account: Identifier("0b50dfbe-8c5b-4a7c-9f36-1f2d3b6f0a01")!)
      default:
        try api.reviewRefund(
          order: "GPA.1", token: Secret("t"),
          RefundEvidence(usedMilliunits: 1, hasFreePlan: true, preference: .decline))
      }
    }
    switch told {
    case .success: #expect(answer.isDone)
    case .failure(let failure):
      #expect(!answer.isDone)
      #expect(failure == .malformed("it is no JSON"))
    }
  }

  @Test func `an acknowledgement names product, token and account`() throws {
    let script = Script { _, _ throws(APIFailure) in (200, "") }
    try api(script).acknowledge(
      token: Self.token, productID: "premium",
      account: Identifier("0b50dfbe-8c5b-4a7c-9f36-1f2d3b6f0a01")!)
    let last = script.requests.withLock { $0.last }
    #expect(last?.method == "POST")
    #expect(
      last?.url.hasSuffix(
        "/purchases/subscriptions/premium/tokens/token.AO-J1Oz%2F0123%2B456:acknowledge") == true)
  }

  @Test(arguments: [
    "", "{}", #"{"type":"authorized_user"}"#,
    #"{"type":"service_account","client_email":"a","private_key_id":"1","private_key":"x","token_uri":"https://a"}"#,
  ])
  func `a file that is no service account's key is refused`(text: String) {
    #expect(ServiceAccount(keyFile: Secret(text)) == nil)
  }

  @Test(arguments: [
    ("https://oauth2.example/token", true), ("http://127.0.0.1:9/token", true),
    ("http://127.0.0.1:x@evil.example/token", false), ("http://oauth2.example/token", false),
    ("http://localhost:1@evil.example/token", false), ("https://a:b@oauth2.example/token", false),
  ])
  func `a token is asked for over TLS unless it is on this machine`(url: String, taken: Bool) {
    let file: JSONValue = [
      "type": "service_account", "client_email": "a@b", "private_key_id": "1",
      "private_key": .string(String(decoding: Sample.key.pem.exposed, as: UTF8.self)),
      "token_uri": .string(url),
    ]
    #expect((ServiceAccount(keyFile: Secret(file.encoded())) != nil) == taken)
  }
}
