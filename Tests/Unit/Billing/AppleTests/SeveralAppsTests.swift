import Apple
import Base
import Crypto
import HTTPMessages
import JSON
import ProviderAPI
import Stores
import Subscriptions
import TestCertificates
import Testing
import Tiers

/// Several apps of one team, each with its own bundle id.
struct SeveralAppsTests {
  private static let other = AppleApp(bundleID: "com.example.notes.mac", appAppleID: 99)
  private static let apps = [
    AppleApp(bundleID: Sample.bundleID, appAppleID: Sample.appID), other,
  ]
  private static let verifier = verifier(of: apps)

  private static func verifier(of apps: [AppleApp]) -> AppleVerifier {
    AppleVerifier(AppleTrust(roots: [Sample.chain.root.der], apps: apps)!)
  }

  private static func body(
    bundle: String, app: Int64?, transaction: String? = nil
  ) -> [UInt8] {
    Sample.body(data: [
      "bundleId": .string(bundle), "appAppleId": app.map { .integer($0) } ?? .null,
      "signedTransactionInfo": Sample.transaction(["bundleId": .string(transaction ?? bundle)]),
    ])
  }

  @Test func `notifications of each app are believed, each with its own number`() {
    let (first, second) = (Sample.bundleID, Self.other.bundleID)
    #expect(refusal(Self.body(bundle: first, app: Sample.appID), by: Self.verifier) == nil)
    #expect(refusal(Self.body(bundle: second, app: 99), by: Self.verifier) == nil)
    #expect(
      refusal(Self.body(bundle: second, app: Sample.appID), by: Self.verifier) == .wrongApp)
    #expect(
      refusal(Self.body(bundle: "com.example.other", app: 99), by: Self.verifier) == .wrongBundle)
    let mixed = Self.body(bundle: first, app: Sample.appID, transaction: second)
    #expect(refusal(mixed, by: Self.verifier) == .inner(.transaction, .wrongBundle))
  }

  /// The App Store Server API of each app, chosen by the token's `bid`.
  private final class Servers: ProviderTransport {
    /// By bundle id: the answers by target.
    let answers: [String: [String: [UInt8]]]
    /// The bundle id whose tokens are refused.
    let refused: String?
    let asked = Locked<[String]>([])

    init(_ answers: [String: [String: [UInt8]]], refused: String? = nil) {
      self.answers = answers
      self.refused = refused
    }

    func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
      let token = request.headers.first { $0.0 == "Authorization" }?.1 ?? ""
      let claims = token.split(separator: ".").dropFirst().first.flatMap {
        Base64.url.decode(String($0))
      }
      let bundle = claims.flatMap { try? JSON.parse($0)["bid"].string } ?? ""
      asked.withLock { $0.append(bundle) }
      if bundle == refused {
        return APIReply(status: 401, headers: Headers([]), body: [], elapsed: .milliseconds(1))
      }
      let target = String(request.url.dropFirst("https://apple.test".count))
      let body = answers[bundle]?[target]
      return APIReply(
        status: body == nil ? 404 : 200, headers: Headers([]),
        body: body ?? Array(#"{"errorCode":4040010}"#.utf8), elapsed: .milliseconds(1))
    }
  }

  private static func store(_ servers: Servers) throws -> AppleStore {
    let apis = try apps.map { app in
      AppleAPI(
        base: "https://apple.test", environment: .live,
        key: try #require(
          AppleAPIKey(
            keyID: "ABC123DEFG", issuerID: "57246542-96fe-1a63-e053-0824d011072a",
            bundleID: app.bundleID, pem: P256PrivateKey().pem)),
        verifier: verifier(of: [app]), transport: servers, clock: .fixed(Sample.now))
    }
    return AppleStore(verifier: verifier, apis: [.live: apis])
  }

  private static func answer(_ bundle: String, _ members: [(String, JSONValue)]) -> [UInt8] {
    Sample.object(
      [("environment", "Production"), ("bundleId", .string(bundle))] + members, [:]
    ).encoded()
  }

  private static func answers(of bundle: String) -> [String: [UInt8]] {
    let transaction = Sample.transaction(["bundleId": .string(bundle)])
    let last: JSONValue = [
      "status": 1, "originalTransactionId": .string(Sample.original),
      "signedTransactionInfo": transaction, "signedRenewalInfo": Sample.renewal(),
    ]
    return [
      "/inApps/v1/subscriptions/\(Sample.original)": answer(
        bundle,
        [
          (
            "data",
            [["subscriptionGroupIdentifier": "21000001", "lastTransactions": .array([last])]]
          )
        ]),
      "/inApps/v2/history/\(Sample.original)?productType=AUTO_RENEWABLE&sort=DESCENDING": answer(
        bundle,
        [
          ("signedTransactions", .array([transaction])), ("hasMore", false), ("revision", "end"),
        ]),
    ]
  }

  private static func read(_ servers: Servers) throws -> StoreAnswer {
    let key = ObjectKey("apple:live:subscription:\(Sample.original)")!
    return try store(servers).read(
      StoreRead(key, readNumber: 1, secret: nil) { StoreRead.Known(reasons: [], parts: []) })
  }

  @Test(arguments: 0..<2)
  func `a purchase is read for the app that it is of`(index: Int) throws {
    let bundle = Self.apps[index].bundleID
    let servers = Servers([bundle: Self.answers(of: bundle)])
    #expect(try !Self.read(servers).facts.isEmpty)
    let before = Self.apps.prefix(index).map(\.bundleID)
    #expect(servers.asked.withLock { $0 } == before + [bundle, bundle])
  }

  @Test func `a purchase of no app of ours is unknown, after each was asked once`() throws {
    let servers = Servers([:])
    #expect(throws: APIFailure.notFound) { try Self.read(servers) }
    #expect(servers.asked.withLock { $0 } == Self.apps.map(\.bundleID))
  }

  @Test func `an app that the store refuses hides no purchase of another app`() throws {
    let bundle = Self.other.bundleID
    let servers = Servers([bundle: Self.answers(of: bundle)], refused: Sample.bundleID)
    #expect(try !Self.read(servers).facts.isEmpty)
  }

  @Test func `a purchase may be of the app that the store refuses, so it is not unknown`() throws {
    let servers = Servers([:], refused: Sample.bundleID)
    #expect(throws: APIFailure.misconfigured("the provider answers 401")) {
      try Self.read(servers)
    }
  }

  /// A proxy, or someone else's server, in place of Apple's.
  @Test func `what answers for one app about another is not believed`() throws {
    let servers = Servers([Sample.bundleID: Self.answers(of: Self.other.bundleID)])
    #expect(throws: APIFailure.self) { try Self.read(servers) }
  }

  @Test func `each app has lists of its own, and the first keeps its names`() throws {
    let names = try Self.store(Servers([:])).listings.map(\.name)
    #expect(
      names == [
        "live_failures", "live_notifications", "live_failures_2", "live_notifications_2",
      ])
  }
}
