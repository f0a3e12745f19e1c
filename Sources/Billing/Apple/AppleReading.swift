import Base
import JSON
import ProviderAPI
import Stores
import Subscriptions
import Tiers

/// A read in progress: its requests and their results so far.
struct AppleReading {
  private(set) var answer = StoreAnswer()

  private let api: AppleAPI

  /// Enough for a thousand transactions, or monthly ones of eighty years.
  private static let pageCountMax = 50
  private static let limits = JSONLimits(
    byteCountMax: CurlTransport.bodyByteCountMax, valueCountMax: 1 << 16)

  init(_ api: AppleAPI) { self.api = api }

  /// Get All Subscription Statuses: the last transaction, renewal info and status of each.
  mutating func readStatuses(_ id: String) throws(APIFailure) {
    let json = try get("/inApps/v1/subscriptions/\(PercentEncoding.encode(id))")
    for group in try malformed({ () throws(JSONError) in try json["data"].requireArray() }) {
      let last = group["lastTransactions"]
      for item in try malformed({ () throws(JSONError) in try last.requireArray() }) {
        try readStatus(item)
      }
    }
  }

  /// Get Transaction History, newest first. If it is cut short, the oldest are missing.
  mutating func readHistory(_ id: String) throws(APIFailure) {
    let path =
      "/inApps/v2/history/\(PercentEncoding.encode(id))?productType=AUTO_RENEWABLE&sort=DESCENDING"
    var revision: String?
    for _ in 0..<Self.pageCountMax {
      let json = try get(path + (revision.map { "&revision=\(PercentEncoding.encode($0))" } ?? ""))
      let texts = try malformed { () throws(JSONError) in
        try json["signedTransactions"].requireArray().map { (text) throws(JSONError) in
          try text.requireString()
        }
      }
      for text in texts {
        var decoder = AppleDecoder(environment: api.environment)
        _ = try read(.transaction, text, &decoder)
        answer.add(decoder)
      }
      guard json["hasMore"].bool == true else { return }
      guard let next = json["revision"].string, next != revision, next.utf8.count <= 1024 else {
        throw .malformed("a page that is not the last names no next one")
      }
      revision = next
    }
    answer.notes.insert(AppleNote.historyCutShort.rawValue)
  }

  /// The subscription that a signed transaction belongs to.
  func subscription(of text: String) throws(APIFailure) -> ObjectKey {
    var decoder = AppleDecoder(environment: api.environment)
    return try read(.transaction, text, &decoder).0
  }

  // MARK: parts

  /// Reads a status. It is not signed, so it is as old as the older of the two payloads next to it.
  private mutating func readStatus(_ item: JSON) throws(APIFailure) {
    var decoder = AppleDecoder(environment: api.environment)
    var subscriptions: Set<ObjectKey> = []
    var dates: [Instant] = []
    let parts: [(AppleRefusal.Part, name: String)] = [
      (.transaction, "signedTransactionInfo"), (.renewal, "signedRenewalInfo"),
    ]
    for (part, name) in parts {
      guard let text = item[name].string else { continue }
      let (subscription, date) = try read(part, text, &decoder)
      subscriptions.insert(subscription)
      dates.append(date)
    }
    guard subscriptions.count <= 1 else {
      throw .malformed("a transaction and a renewal of two subscriptions")
    }
    let number = try malformed { () throws(JSONError) in try item["status"].requireInteger() }
    decoder.readStatus(number, of: subscriptions.first, asOf: dates.min() ?? .distantPast)
    answer.add(decoder)
  }

  private func read(
    _ part: AppleRefusal.Part, _ text: String, _ decoder: inout AppleDecoder
  ) throws(APIFailure) -> (ObjectKey, Instant) {
    let verified: VerifiedPart
    do {
      verified = try api.verifier.verify(part, text, now: api.clock.now())
    } catch { throw failure(error) }
    try checkEnvironment(verified.environment)
    let key = try malformed { () throws(JSONError) -> ObjectKey in
      switch part {
      case .transaction: return try decoder.readTransaction(verified.signed)
      case .renewal: return try decoder.readRenewal(verified.signed)
      }
    }
    return (key, verified.signedDate)
  }

  private func checkEnvironment(_ environment: StoreEnvironment) throws(APIFailure) {
    guard environment == api.environment else {
      throw .misconfigured("the API answers for the other environment")
    }
  }

  private func failure(_ refusal: AppleRefusal) -> APIFailure {
    refusal.isAboutAnotherApp
      ? .misconfigured("the API answers about another app: \(refusal.name)")
      : .malformed("what the API signed is refused: \(refusal.name)")
  }

  // MARK: requests

  private mutating func get(_ target: String) throws(APIFailure) -> JSON {
    let reply = try api.send("GET", target)
    let json = try reply.object(limits: Self.limits)
    let environment: StoreEnvironment
    do {
      try api.verifier.checkBundle(json)
      environment = try AppleVerifier.environment(json["environment"].string)
    } catch { throw failure(error) }
    try checkEnvironment(environment)
    if answer.transcript.isEmpty { answer.began = reply.date.map { $0 - reply.elapsed } }
    answer.keep(reply.body, asked: ["target": .string(target)])
    return json
  }
}

extension AppleAPI {
  /// The reply to a success. A token that the store refuses is replaced once: our clock may have been set.
  func send(
    _ method: String, _ target: String, _ body: JSONValue? = nil
  ) throws(APIFailure) -> APIReply {
    func reply(to token: Secret) throws(APIFailure) -> APIReply {
      try transport.send(APIRequest(method, base + target, by: token, json: body?.encoded()))
    }
    let token = key.token(at: clock.now())
    let first = try reply(to: token)
    guard first.status == 401 else { return try first.appleSuccess() }
    key.forget(token)
    return try reply(to: key.token(at: clock.now())).appleSuccess()
  }
}

extension APIReply {
  /// This reply, if it is of a success. A reply without a code is not from the App Store and says nothing about
  /// a purchase.
  ///
  /// https://developer.apple.com/documentation/appstoreserverapi/error-codes
  func appleSuccess() throws(APIFailure) -> APIReply {
    guard !(200..<300).contains(status) else { return self }
    guard let code = try? JSON.parseForeign(body)["errorCode"].integer else {
      do { return try successful() } catch {
        throw error.isAboutObject ? .stranger(inPlaceOf: "the App Store", status) : error
      }
    }
    switch code {
    case 4_040_002, 4_040_004, 4_040_006, 4_290_000, 5_000_000...5_000_001:
      throw .transient("the App Store answers error \(code)", retryAfter: retryAfter)
    case 4_040_001, 4_040_005, 4_040_010: throw .notFound
    case 4_030_004: throw .refused(status: status, "the App Store says that it cannot be extended")
    case 4_030_005:
      throw .refused(status: status, "the App Store extended it twice within 365 days")
    case 4_000_002, 4_040_003: throw .misconfigured("the App Store answers error \(code)")
    default:
      do { return try successful() } catch {
        guard case .refused(let status, _) = error else { throw error }
        throw .refused(status: status, "the App Store answers error \(code)")
      }
    }
  }
}
