import Apple
import Base
import Crypto
import HTTPMessages
import JSON
import JWS
import ProviderAPI
import Stores
import Subscriptions
import Testing
import Tiers

/// The read client, with answers made here.
struct APITests {
  private static let statuses = "/inApps/v1/subscriptions/\(Sample.original)"
  private static let history =
    "/inApps/v2/history/\(Sample.original)?productType=AUTO_RENEWABLE&sort=DESCENDING"
  private static let pem = P256PrivateKey().pem
  private static let date = "Thu, 28 May 2026 20:26:40 GMT"

  /// One subscription in its second month.
  private static let answers: [String: Answer] = [
    statuses: .json(statusesAnswer()), history: .json(historyAnswer(["1", "2"])),
  ]

  private static func envelope(_ members: [(String, JSONValue)]) -> JSONValue {
    Sample.object(
      [
        ("environment", "Production"), ("bundleId", .string(Sample.bundleID)),
        ("appAppleId", .integer(Sample.appID)),
      ] + members, [:])
  }

  private static func statusesAnswer(_ changes: Sample.Changes = [:]) -> JSONValue {
    let last = Sample.object(
      [
        ("status", 1), ("originalTransactionId", .string(Sample.original)),
        ("signedTransactionInfo", Sample.transaction()), ("signedRenewalInfo", Sample.renewal()),
      ], changes)
    return envelope([
      (
        "data",
        [["subscriptionGroupIdentifier": "21000001", "lastTransactions": .array([last])]]
      )
    ])
  }

  private static func historyAnswer(
    _ ids: [String], next: String? = nil, _ changes: Sample.Changes = [:]
  ) -> JSONValue {
    let transactions = ids.map { id in
      Sample.transaction(changes.merging(["transactionId": .string(id)]) { $1 })
    }
    return envelope([
      ("signedTransactions", .array(transactions)), ("hasMore", .bool(next != nil)),
      ("revision", .string(next ?? "end")),
    ])
  }

  private func api(
    _ transport: Transport, environment: StoreEnvironment = .live,
    clock: Clock = .fixed(Sample.now)
  ) throws -> AppleAPI {
    let key = AppleAPIKey(
      keyID: "ABC123DEFG", issuerID: "57246542-96fe-1a63-e053-0824d011072a",
      bundleID: Sample.bundleID, pem: Self.pem)
    return AppleAPI(
      base: "https://apple.test", environment: environment, key: try #require(key),
      verifier: Sample.verifier(), transport: transport, clock: clock)
  }

  private func record(_ changes: [String: Answer] = [:]) throws -> StoreAnswer {
    let answers = Self.answers.merging(changes) { $1 }
    return try api(Transport(answers)).record(of: Sample.original)
  }

  private func failure(_ changes: [String: Answer]) throws -> APIFailure? {
    do {
      _ = try record(changes)
      return nil
    } catch let error as APIFailure { return error }
  }

  @Test func `a record is the statuses and the history`() throws {
    let answer = try record()
    #expect(
      Set(answer.facts.map(\.key.description)) == [
        "apple:live:transaction:2000000123456790", "apple:live:renewal:\(Sample.original)",
        "apple:live:status:\(Sample.original)", "apple:live:transaction:1",
        "apple:live:transaction:2",
      ])
    #expect(answer.notes.isEmpty)
  }

  @Test func `a status is as old as the older signature beside it`() throws {
    let status = try record().facts.first { $0.key.kind == .status }
    #expect(status?.asOf == .moment(Sample.now - .seconds(2)))
  }

  @Test func `a read began before its first answer`() throws {
    let date = try #require(Instant(httpDate: Self.date))
    #expect(try record().began == date - .milliseconds(250))
  }

  @Test func `what was answered is kept word for word`() throws {
    let json = try JSON.parse(try record().transcript)
    #expect(json[0]["target"].string == Self.statuses)
    #expect(json[1]["answer"]["revision"].string == "end")
  }

  @Test func `pages follow one another by their revision`() throws {
    let answer = try record([
      Self.history: .json(Self.historyAnswer(["3"], next: "r/2")),
      Self.history + "&revision=r%2F2": .json(Self.historyAnswer(["2"], next: "r3")),
      Self.history + "&revision=r3": .json(Self.historyAnswer(["1"])),
    ])
    let transactions = answer.facts.filter { $0.key.kind == .transaction }
    #expect(transactions.map(\.key.id) == ["2000000123456790", "3", "2", "1"])
  }

  @Test func `a history without end is cut short and says so`() throws {
    var pages: [String: Answer] = [
      Self.history: .json(Self.historyAnswer(["0"], next: "1"))
    ]
    for page in 1...60 {
      pages[Self.history + "&revision=\(page)"] = .json(
        Self.historyAnswer(["\(page)"], next: "\(page + 1)"))
    }
    let answer = try record(pages)
    #expect(answer.notes == ["history_cut_short"])
    #expect(answer.facts.count == 3 + 50)
  }

  @Test func `a page that names itself as the next one is malformed`() throws {
    let failure = try failure([
      Self.history: .json(Self.historyAnswer(["1"], next: "x")),
      Self.history + "&revision=x": .json(Self.historyAnswer(["1"], next: "x")),
    ])
    #expect(failure == .malformed("a page that is not the last names no next one"))
  }

  @Test func `an answer's transaction of another root is refused`() throws {
    let forged = Sample.transaction(chain: Sample.newChain())
    let failure = try failure([
      Self.statuses: .json(Self.statusesAnswer(["signedTransactionInfo": forged]))
    ])
    #expect(failure == .malformed("what the API signed is refused: wrong-root"))
  }

  @Test func `an answer's renewal of another subscription is refused`() throws {
    let other = Sample.renewal(["originalTransactionId": "7"])
    let failure = try failure([
      Self.statuses: .json(Self.statusesAnswer(["signedRenewalInfo": other]))
    ])
    #expect(failure == .malformed("a transaction and a renewal of two subscriptions"))
  }

  @Test func `an answer about another app is a wrong configuration`() throws {
    let other = Sample.transaction(["bundleId": "com.example.other"])
    let failure = try failure([
      Self.statuses: .json(Self.statusesAnswer(["signedTransactionInfo": other]))
    ])
    #expect(failure == .misconfigured("the API answers about another app: wrong-bundle"))
  }

  @Test func `an answer of the other environment is a wrong configuration`() throws {
    let api = try api(Transport(Self.answers), environment: .sandbox)
    #expect(throws: APIFailure.misconfigured("the API answers for the other environment")) {
      try api.record(of: Sample.original)
    }
  }

  @Test(
    arguments: [
      (404, 4_040_010, .notFound), (404, 4_040_005, .notFound), (404, 4_040_001, .notFound),
      (404, 4_040_002, .transient("the App Store answers error 4040002", retryAfter: nil)),
      (404, 4_040_004, .transient("the App Store answers error 4040004", retryAfter: nil)),
      (404, 4_040_006, .transient("the App Store answers error 4040006", retryAfter: nil)),
      (404, 4_040_003, .misconfigured("the App Store answers error 4040003")),
      (400, 4_000_006, .refused(status: 400, "the App Store answers error 4000006")),
      (500, 5_000_001, .transient("the App Store answers error 5000001", retryAfter: nil)),
      (404, nil, .misconfigured("something else than the App Store answers 404")),
      (410, nil, .misconfigured("something else than the App Store answers 410")),
      (400, nil, .misconfigured("something else than the App Store answers 400")),
      (403, nil, .misconfigured("the provider answers 403")),
      (503, nil, .transient("the provider answers 503", retryAfter: nil)),
      (403, 4_030_004, .refused(status: 403, "the App Store says that it cannot be extended")),
      (403, 4_030_005, .refused(status: 403, "the App Store extended it twice within 365 days")),
    ] as [(Int, Int64?, APIFailure)])
  func `an error is what its code says, and without one no word of the store's`(
    status: Int, code: Int64?, expected: APIFailure
  ) throws {
    let body: JSONValue = code.map { ["errorCode": .integer($0), "errorMessage": "x"] } ?? "x"
    #expect(try failure([Self.statuses: Answer(status: status, body: body.encoded())]) == expected)
  }

  @Test func `a rate limit is waited for until the moment that it names`() throws {
    let date = try #require(Instant(httpDate: Self.date))
    let until = String((date + .seconds(90)).milliseconds)
    let body: JSONValue = ["errorCode": 4_290_000]
    let answer = Answer(status: 429, body: body.encoded(), retryAfter: until)
    #expect(
      try failure([Self.statuses: answer])
        == .transient("the App Store answers error 4290000", retryAfter: .seconds(90)))
  }

  @Test(arguments: ["", "<html>", "[]", "null"])
  func `an answer that is no object is malformed`(body: String) throws {
    guard case .malformed? = try failure([Self.statuses: Answer(body: Array(body.utf8))]) else {
      Issue.record("\(body) was read")
      return
    }
  }

  @Test func `a subscription without a history is not taken for a missing one`() throws {
    let missing = Answer(status: 404, body: Array(#"{"errorCode":4040010}"#.utf8))
    let failure = try failure([Self.history: missing])
    #expect(failure == .refused(status: 404, "a subscription has a status but no history"))
  }

  @Test func `the token says who asks and for which app`() throws {
    let transport = Transport(Self.answers)
    _ = try api(transport).record(of: Sample.original)
    let header = try #require(transport.tokens.first)
    #expect(header.hasPrefix("Bearer "))
    let jws = try CompactJWS(Array(header.dropFirst(7).utf8))
    #expect(jws.algorithm == "ES256")
    #expect(jws.header["kid"].string == "ABC123DEFG")
    #expect(jws.header["typ"].string == "JWT")
    let claims = try JSON.parse(jws.payload)
    #expect(claims["iss"].string == "57246542-96fe-1a63-e053-0824d011072a")
    #expect(claims["aud"].string == "appstoreconnect-v1")
    #expect(claims["bid"].string == Sample.bundleID)
    #expect(claims["iat"].integer == Sample.now.seconds)
    #expect(claims["exp"].integer == Sample.now.seconds + 300)
    let key = try #require(P256PrivateKey(pem: Self.pem)).publicKey
    #expect(key.isValid(signature: jws.signature, for: jws.signingInput))
  }

  @Test func `a token serves until a minute before its end`() throws {
    let now = Locked(Sample.now)
    let transport = Transport(Self.answers)
    let api = try api(transport, clock: Clock { now.withLock { $0 } })
    _ = try api.record(of: Sample.original)
    now.withLock { $0 = $0 + .milliseconds(239_999) }
    _ = try api.record(of: Sample.original)
    #expect(Set(transport.tokens).count == 1)
    now.withLock { $0 = $0 + .milliseconds(1) }
    _ = try api.record(of: Sample.original)
    #expect(Set(transport.tokens).count == 2)
  }

  @Test func `a refused token is replaced once`() throws {
    let transport = Transport(Self.answers)
    transport.refusals.withLock { $0 = 1 }
    _ = try api(transport).record(of: Sample.original)
    #expect(transport.tokens.count == 3)
    #expect(transport.tokens[0] != transport.tokens[1])
    transport.refusals.withLock { $0 = 2 }
    let api = try api(transport)
    #expect(throws: APIFailure.misconfigured("the provider answers 401")) {
      try api.record(of: Sample.original)
    }
  }

  @Test func `only the list of what failed asks for nothing else`() throws {
    let transport = Transport([
      "/inApps/v1/notifications/history": .json([
        "notificationHistory": .array([]), "hasMore": false,
      ])
    ])
    let store = AppleStore(verifier: Sample.verifier(), apis: [.live: [try api(transport)]])
    for listing in store.listings {
      _ = try store.page(StorePageRequest(listing, since: nil, until: Sample.now, place: nil))
    }
    let bodies = transport.bodies.withLock { $0 }
    #expect(try bodies.map { try JSON.parse($0)["onlyFailures"].bool } == [true, nil])
  }

  @Test func `an id cannot change the path`() throws {
    let transport = Transport([:])
    let api = try api(transport)
    #expect(throws: APIFailure.notFound) { try api.record(of: "../a?b#c") }
    #expect(transport.targets == ["/inApps/v1/subscriptions/..%2Fa%3Fb%23c"])
  }

  @Test func `a key of another kind is none`() {
    #expect(
      AppleAPIKey(keyID: "a", issuerID: "b", bundleID: "c", pem: Secret("no key")) == nil)
  }

  struct Answer: Sendable {
    var status = 200
    var body: [UInt8]
    var retryAfter: String?

    static func json(_ value: JSONValue) -> Answer { Answer(body: value.encoded()) }
  }

  /// Answers by target; any other target is unknown.
  final class Transport: ProviderTransport {
    let answers: [String: Answer]
    let requests = Locked<[(target: String, token: String)]>([])
    let bodies = Locked<[[UInt8]]>([])
    /// The number of requests that are answered 401 first.
    let refusals = Locked(0)

    init(_ answers: [String: Answer]) { self.answers = answers }

    var tokens: [String] { requests.withLock { $0.map(\.token) } }
    var targets: [String] { requests.withLock { $0.map(\.target) } }

    func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
      let target = String(request.url.dropFirst("https://apple.test".count))
      let token = request.headers.first { $0.0 == "Authorization" }?.1 ?? ""
      requests.withLock { $0.append((target, token)) }
      bodies.withLock { $0.append(request.body ?? []) }
      let isRefused = refusals.withLock { count in
        defer { count = max(0, count - 1) }
        return count > 0
      }
      let answer =
        isRefused
        ? Answer(status: 401, body: [])
        : answers[target] ?? Answer(status: 404, body: Array(#"{"errorCode":4040010}"#.utf8))
      let wait = answer.retryAfter.map { [("Retry-After", $0)] } ?? []
      return APIReply(
        status: answer.status, headers: Headers([("Date", APITests.date)] + wait),
        body: answer.body, elapsed: .milliseconds(250))
    }
  }
}
