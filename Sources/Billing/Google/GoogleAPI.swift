package import Base
import Configuration
import JSON
package import ProviderAPI
package import Stores
import Subscriptions

/// Reads purchases from the Google Play Developer API, acknowledges them, and carries out operators' orders.
///
/// Every call blocks. The transport bounds each request in time and size, and each answer here is bounded in
/// requests. Any thread may call it. https://developers.google.com/android-publisher
package struct GoogleAPI: Sendable {
  package static let standardBase = "https://androidpublisher.googleapis.com"

  let root: String
  /// The package name in front of its products' ids; nil for the oldest app, whose ids have no prefix.
  let qualifier: String?
  private let account: ServiceAccount
  private let transport: any ProviderTransport
  private let clock: Clock

  /// A purchase has one current order per item, and voided orders in addition.
  private static let orderCountMax = 20
  private static let limits = JSONLimits(byteCountMax: 1 << 20, valueCountMax: 1 << 14)
  private static let batchLimits = JSONLimits(
    byteCountMax: CurlTransport.bodyByteCountMax, valueCountMax: 1 << 18)

  /// `base` has no slash at its end. `isFurther` is for an app other than the oldest, whose
  /// products are named with their package: `com.example.second/premium`.
  package init(
    base: String = GoogleAPI.standardBase, package: String, isFurther: Bool = false,
    account: ServiceAccount, transport: any ProviderTransport, clock: Clock
  ) {
    qualifier = isFurther ? package : nil
    root = "\(base)/androidpublisher/v3/applications/\(PercentEncoding.encode(package))"
    self.account = account
    self.transport = transport
    self.clock = clock
  }

  /// Reads the purchase as it is now, with its known orders, but not those in `without`.
  ///
  /// An order that Google does not return is noted and does not fail the read. Linked purchases are only named,
  /// because each has its own reads.
  package func read(
    token: PurchaseToken, readNumber: Int64, orders: [String] = [], without: Set<String> = []
  ) throws(APIFailure) -> StoreAnswer {
    var answer = StoreAnswer()
    var decoder = PurchaseDecoder(readNumber: readNumber, now: clock.now(), package: qualifier)
    let path = "/purchases/subscriptionsv2/tokens/"
    let reply = try authorized("GET", root + path + PercentEncoding.encode(token.text), body: nil)
    let purchase = try read(reply, told: path + "<token>", &answer)
    do { try decoder.readPurchase(purchase, of: token) } catch {
      throw .malformed("the purchase: \(error)")
    }
    let all = (decoder.orders + orders).filter { !without.contains($0) }
    for order in wanted(all, &decoder) {
      let path = "/orders/\(PercentEncoding.encode(order))"
      // A failure here concerns the way to Google, not the order.
      let reply = try authorized("GET", root + path, body: nil)
      do throws(APIFailure) {
        let json = try read(reply, told: path, &answer)
        do { try decoder.readOrder(json, of: token) } catch {
          throw .malformed("an order: \(error)")
        }
      } catch {
        decoder.note(.orderMissing)
      }
    }
    answer.facts = decoder.facts
    answer.requests = decoder.linked.map {
      ReadRequest($0.objectKey, reason: "linked", secret: $0.secret, isFirstOnly: true)
    }
    answer.terms = decoder.facts.flatMap { [SearchTerm](orders: $0) }
    answer.notes = Set(decoder.notes.map(\.rawValue))
    return answer
  }

  /// Each order once. If there are too many, the first ones.
  private func wanted(_ orders: [String], _ decoder: inout PurchaseDecoder) -> [String] {
    var seen: Set<String> = []
    let wanted = orders.filter { seen.insert($0).inserted }
    if wanted.count > Self.orderCountMax { decoder.note(.orderMissing) }
    return Array(wanted.prefix(Self.orderCountMax))
  }

  /// Keeps the URL short enough for anything between us and Google.
  private static let batchCount = 100

  /// Orders as they are now. A batch that contains an order unknown to Google is left out, and so is anything
  /// that cannot be read.
  ///
  /// https://developers.google.com/android-publisher/api-ref/rest/v3/orders/batchget
  func orders(_ ids: [String]) throws(APIFailure) -> [Fact] {
    var facts: [Fact] = []
    for start in stride(from: 0, to: ids.count, by: Self.batchCount) {
      let batch = ids[start..<min(start + Self.batchCount, ids.count)]
      let query = batch.map { "orderIds=\(PercentEncoding.encode($0))" }.joined(separator: "&")
      let reply: APIReply
      do throws(APIFailure) {
        reply = try accepted(authorized("GET", root + "/orders:batchGet?" + query, body: nil))
      } catch {
        switch error {
        case .refused, .notFound, .gone: continue
        case .transient, .misconfigured, .malformed: throw error
        }
      }
      let json = try? JSON.parseForeign(reply.body, limits: Self.batchLimits)
      for order in json?["orders"].array ?? [] {
        guard let token = try? order["purchaseToken"].requireToken() else { continue }
        var decoder = PurchaseDecoder(readNumber: 0, now: clock.now(), package: qualifier)
        try? decoder.readOrder(order, of: token)
        facts += decoder.facts
      }
    }
    return facts
  }

  /// Reports to Google that the purchase was delivered. Repeating it changes nothing.
  package func acknowledge(
    token: PurchaseToken, productID: String, account owner: Identifier
  ) throws(APIFailure) {
    let body: JSONValue = [
      "externalAccountIds": ["obfuscatedAccountId": .string(owner.description)]
    ]
    let product = productID.split(separator: "/").last.map(String.init) ?? productID
    let path =
      "/purchases/subscriptions/\(PercentEncoding.encode(product))/tokens/\(PercentEncoding.encode(token.text)):acknowledge"
    try done(authorized("POST", root + path, body: body.encoded()))
  }

  /// Stops all billing. The customer may undo it.
  package func stopRenewal(token: PurchaseToken) throws(APIFailure) {
    let type: JSONValue = ["cancellationType": "USER_REQUESTED_STOP_RENEWALS"]
    try order(token, "cancel", ["cancellationContext": type])
  }

  /// Ends the purchase now, and refunds the last payment.
  package func revoke(token: PurchaseToken) throws(APIFailure) {
    try order(token, "revoke", ["revocationContext": ["fullRefund": .object([])]])
  }

  /// Refunds an order's payment. The purchase continues.
  package func refund(order id: String) throws(APIFailure) {
    let path = "/orders/\(PercentEncoding.encode(id)):refund?revoke=false"
    try obeyed(authorized("POST", root + path, body: []))
  }

  /// Extends the purchase, unless it ends at a moment other than `knownEnd`: a repeated order takes effect once.
  package func extend(
    token: PurchaseToken, by span: Instant.Span, knownEnd: Instant?
  ) throws(APIFailure) {
    let path = "/purchases/subscriptionsv2/tokens/"
    let reply = try authorized("GET", root + path + PercentEncoding.encode(token.text), body: nil)
    var answer = StoreAnswer()
    let purchase = try read(reply, told: path + "<token>", &answer)
    var decoder = PurchaseDecoder(readNumber: 0, now: clock.now(), package: qualifier)
    do { try decoder.readPurchase(purchase, of: token) } catch {
      throw .malformed("the purchase: \(error)")
    }
    guard case .purchase(let content)? = decoder.facts.first?.object.base as? GoogleObject,
      content.end == knownEnd
    else {
      throw .refused(
        status: 0, "it ends at another time than was known; look again, it is read next")
    }
    // https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2/defer
    let etag = try malformed { () throws(JSONError) in try purchase["etag"].requireString() }
    let context: JSONValue = [
      "deferDuration": .string("\(span.milliseconds / 1000)s"), "etag": .string(etag),
    ]
    try order(token, "defer", ["deferralContext": context])
  }

  /// Answers Google's question before it decides on a refund of an order.
  ///
  /// https://developers.google.com/android-publisher/api-ref/rest/v3/orders/reviewrefund
  package func reviewRefund(
    order id: String, token: Secret, _ evidence: RefundEvidence
  ) throws(APIFailure) {
    let preference: JSONValue =
      switch evidence.preference {
      case .decline: "DECLINE"
      case .grant: "APPROVE"
      case .off, .usage, .prorate: "NEUTRAL"
      }
    let body: JSONValue = [
      "pendingRefundToken": .string(String(decoding: token.exposed, as: UTF8.self)),
      "refundPreference": preference, "sampleContentProvided": .bool(evidence.hasFreePlan),
      "consumptionPercentageMilliunits": .integer(evidence.usedMilliunits),
    ]
    let path = "/orders/\(PercentEncoding.encode(id)):reviewrefund"
    try done(authorized("POST", root + path, body: body.encoded()))
  }

  private func order(
    _ token: PurchaseToken, _ verb: String, _ body: JSONValue
  ) throws(APIFailure) {
    let path = "/purchases/subscriptionsv2/tokens/\(PercentEncoding.encode(token.text)):\(verb)"
    try obeyed(authorized("POST", root + path, body: body.encoded()), about: token)
  }

  private static let wordsByteCountMax = 200

  /// Throws Google's refusal in its own words, unless they repeat the token.
  private func obeyed(_ reply: APIReply, about token: PurchaseToken? = nil) throws(APIFailure) {
    do { try done(reply) } catch {
      guard case .refused(let status, let reason) = error else { throw error }
      let words = (try? JSON.parseForeign(reply.body, limits: Self.limits))?["error"]["message"]
        .string
      guard let words, 1...Self.wordsByteCountMax ~= words.utf8.count,
        words.utf8.allSatisfy({ 0x20...0x7E ~= $0 }),
        token.map({ !words.contains($0.text) }) ?? true
      else { throw .refused(status: status, reason) }
      throw .refused(status: status, words)
    }
  }

  /// Throws unless Google itself confirmed what was requested, with an empty body or JSON.
  private func done(_ reply: APIReply) throws(APIFailure) {
    let body = try accepted(reply).body
    guard body.isEmpty || (try? JSON.parseForeign(body, limits: Self.limits)) != nil else {
      throw .malformed("it is no JSON")
    }
  }

  // MARK: requests

  private func read(
    _ reply: APIReply, told: String, _ answer: inout StoreAnswer
  ) throws(APIFailure) -> JSON {
    let reply = try accepted(reply)
    let json = try reply.object(limits: Self.limits)
    let package = qualifier.map { [JSONValue.Member("package", .string($0))] } ?? []
    answer.keep(
      PersonalMembers.removed(from: reply.body, parsed: json),
      asked: .object([.init("path", .string(told))] + package))
    return json
  }

  /// A reply with a 2xx status. If Google does not know our app, or if something other than its API answers,
  /// nothing is said about the purchase.
  func accepted(_ reply: APIReply) throws(APIFailure) -> APIReply {
    do { return try reply.successful() } catch {
      guard error.isAboutObject else { throw error }
      guard let json = try? JSON.parseForeign(reply.body, limits: Self.limits)["error"],
        json.isObject
      else { throw .stranger(inPlaceOf: "Google's API", reply.status) }
      let reasons = json["errors"].array?.compactMap { $0["reason"].string } ?? []
      guard !reasons.contains("applicationNotFound") else {
        throw .misconfigured("Google Play knows no app of the configured package")
      }
      throw error
    }
  }

  /// Sends a request. A token that Google refuses is replaced once. A 409 is caused by another request.
  func authorized(
    _ method: String, _ url: String, body: [UInt8]?
  ) throws(APIFailure) -> APIReply {
    let token = try account.token(at: clock.now(), through: transport)
    var reply = try transport.send(APIRequest(method, url, by: token, json: body))
    if reply.status == 401 {
      account.forget(token)
      let token = try account.token(at: clock.now(), through: transport)
      reply = try transport.send(APIRequest(method, url, by: token, json: body))
    }
    guard reply.status != 409 else {
      throw .transient("Google answers 409", retryAfter: reply.retryAfter)
    }
    return reply
  }
}
