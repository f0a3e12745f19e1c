import Base
import Crypto
import Google
import HTTPMessages
import JSON
import ProviderAPI
import Stores
import Subscriptions
import Testing
import Tiers

/// Several apps, each with its own package: product ids are unique only within a package.
struct SeveralPackagesTests {
  private static let token = PurchaseToken("token.AO-J1Oz/0123+456")!
  private static let packages = ["app.coffer", "app.coffer.tv"]
  private static let purchase =
    #"{"subscriptionState":"SUBSCRIPTION_STATE_ACTIVE","linkedPurchaseToken":"older","lineItems":[{"productId":"premium","offerDetails":{"basePlanId":"monthly"}}]}"#

  /// A Google where one package has the purchase, and the others answer in some way that they do not know it.
  private final class Play: ProviderTransport {
    let owner: String?
    let unknown: (Int, String)
    /// The answer of the oldest app's package instead.
    let first: (Int, String)
    let asked = Locked<[String]>([])

    init(_ owner: String?, unknown: (Int, String), first: (Int, String)? = nil) {
      (self.owner, self.unknown, self.first) = (owner, unknown, first ?? unknown)
    }

    func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
      if request.url.hasSuffix("/token") {
        return reply(200, #"{"access_token":"secret","expires_in":3599}"#)
      }
      let path = request.url.split(separator: "/applications/").last.map(String.init) ?? ""
      asked.withLock { $0.append(path) }
      guard let owner, path.hasPrefix(owner + "/") else {
        let answer = path.hasPrefix(SeveralPackagesTests.packages[0] + "/") ? first : unknown
        return reply(answer.0, answer.1)
      }
      return reply(200, request.method == "GET" ? SeveralPackagesTests.purchase : "")
    }

    private func reply(_ status: Int, _ body: String) -> APIReply {
      APIReply(
        status: status, headers: Headers([]), body: Array(body.utf8), elapsed: .milliseconds(1))
    }
  }

  private static let notFound = (404, #"{"error":{"code":404,"message":"unknown"}}"#)
  private static let forbidden = (403, #"{"error":{"code":403,"message":"no permission"}}"#)
  private static let refused = (400, #"{"error":{"code":400,"message":"another package"}}"#)

  private static func store(_ play: Play) throws -> GoogleStore {
    let file: JSONValue = [
      "type": "service_account", "client_email": "a@b", "private_key_id": "1",
      "private_key": .string(String(decoding: Sample.key.pem.exposed, as: UTF8.self)),
      "token_uri": "https://oauth2.example/token",
    ]
    let account = try #require(ServiceAccount(keyFile: Secret(file.encoded())))
    return GoogleStore(
      verifier: nil,
      apis: packages.enumerated().map { index, package in
        GoogleAPI(
          package: package, isFurther: index > 0, account: account, transport: play,
          clock: .fixed(Sample.now))
      })
  }

  private static let request = request(by: "")

  /// A read; `package` is stored before the token.
  private static func request(by package: String) -> StoreRead {
    let secret = Secret(Array(package.utf8) + Array(token.secret.exposed))
    return StoreRead(token.objectKey, readNumber: 3, secret: secret) {
      StoreRead.Known(reasons: [], parts: [])
    }
  }

  private static func products(_ answer: StoreAnswer) -> [String] {
    answer.facts.flatMap { fact -> [String] in
      guard case .purchase(let purchase)? = fact.object.base as? GoogleObject else { return [] }
      return purchase.items.map(\.productID)
    }
  }

  @Test(arguments: [0, 1], [404, 400])
  func `a purchase is read for its app, and products of a further one are named with the package`(
    index: Int, status: Int
  ) throws {
    let play = Play(
      Self.packages[index], unknown: status == 404 ? Self.notFound : Self.refused)
    let store = try Self.store(play)
    let answer = try store.read(Self.request)
    #expect(Self.products(answer) == [index == 0 ? "premium" : "app.coffer.tv/premium"])
    #expect(play.asked.withLock { $0.count } == index + 1)
    let linked = answer.requests.compactMap { $0.secret?.exposed }.map {
      String(decoding: $0, as: UTF8.self)
    }
    #expect(linked == [index == 0 ? "older" : "app.coffer.tv older"])
    let kept = KeptMessage(
      deliveryID: "read", environment: .live, received: Sample.now, isForeign: false,
      body: answer.transcript)
    let again = try store.answered(again: kept, to: Self.token.objectKey, readNumber: 3)
    #expect(Self.products(again) == Self.products(answer))
  }

  @Test func `the app that a notification named is asked first`() throws {
    let play = Play(Self.packages[1], unknown: Self.notFound)
    _ = try Self.store(play).read(Self.request(by: Self.packages[1] + " "))
    #expect(play.asked.withLock { $0.map { String($0.prefix(14)) } } == ["app.coffer.tv/"])
  }

  @Test func `a purchase of an app that left the settings is looked for in the others`() throws {
    let play = Play(Self.packages[0], unknown: Self.notFound)
    #expect(
      Self.products(try Self.store(play).read(Self.request(by: "app.gone "))) == ["premium"])
  }

  @Test func `an app that may not be read hides no other's purchase`() throws {
    let play = Play(Self.packages[1], unknown: Self.forbidden)
    #expect(
      Self.products(try Self.store(play).read(Self.request)) == ["app.coffer.tv/premium"])
  }

  @Test func `while an app may not be read, no purchase counts as unknown`() throws {
    let play = Play(nil, unknown: Self.notFound, first: Self.forbidden)
    #expect {
      try Self.store(play).read(Self.request)
    } throws: { error in
      guard case .misconfigured = error as? APIFailure else { return false }
      return true
    }
  }

  @Test
  func `orders of several apps are read with their purchases, as one batch takes one app's only`()
    throws
  {
    let play = Play(Self.packages[0], unknown: Self.refused)
    let order = ObjectKey(provider: .google, environment: .live, kind: .order, id: "GPA.1")
    #expect(try Self.store(play).parts(named: [order]).isEmpty)
    #expect(play.asked.withLock { $0.isEmpty })
  }

  @Test func `what an app's purchase is told bears the id that Google knows`() throws {
    let play = Play(Self.packages[1], unknown: Self.notFound)
    let store = try Self.store(play)
    let answer = try store.read(Self.request)
    var record = GoogleRecord(id: Self.token.objectKey.id)
    for fact in answer.facts {
      guard let object = fact.object.base as? GoogleObject else { continue }
      record.insert(object, id: fact.key.id, asOf: fact.asOf, delivery: 1)
    }
    try store.acknowledge(
      Self.request, record, for: Identifier(bytes: Array(repeating: 1, count: 16))!)
    let last = play.asked.withLock { $0.last } ?? ""
    #expect(
      last.hasPrefix("app.coffer.tv/purchases/subscriptions/premium/tokens/")
        && last.hasSuffix(":acknowledge"), "\(last)")
  }

  @Test func `a purchase of no app of ours is what the oldest app's answer says`() throws {
    let play = Play(nil, unknown: Self.refused)
    #expect(throws: APIFailure.self) { try Self.store(play).read(Self.request) }
    #expect(play.asked.withLock { $0.count } == Self.packages.count)
  }

  @Test func `each app has a list of its own, and the oldest keeps its name`() throws {
    let store = try Self.store(Play(nil, unknown: Self.notFound))
    #expect(store.listings.map(\.name) == ["voided_purchases", "voided_purchases_2"])
    let play = Play(Self.packages[1], unknown: Self.notFound)
    _ = try Self.store(play).page(
      StorePageRequest(store.listings[1], since: nil, until: Sample.now, place: nil))
    #expect(play.asked.withLock { $0.first?.hasPrefix("app.coffer.tv/purchases/voided") } == true)
  }
}
