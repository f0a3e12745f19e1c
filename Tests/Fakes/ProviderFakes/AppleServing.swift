package import Base
import Crypto
package import HTTPServer
import JSON
import JWS

/// The App Store Server API: bearer tokens, reads, errors by number, and faults on demand.
extension FakeAppStore {
  /// The API's routes for our own HTTP server.
  package func routes() -> [Route] {
    FakeRoutes.routes([
      ("GET", "/inApps/v1/subscriptions/{id}"), ("GET", "/inApps/v2/history/{id}"),
      ("GET", "/inApps/v1/lookup/{id}"), ("POST", "/inApps/v1/notifications/history"),
      ("PUT", "/inApps/v1/subscriptions/extend/{id}"),
      ("PUT", "/inApps/v2/transactions/consumption/{id}"),
    ]) { self.answer($0) }
  }

  /// Answers one request at the clock's time; nil: no answer ever comes.
  ///
  /// A lagging answer is still signed now, as a replica that is behind would sign it.
  package func answer(_ request: FakeRequest) -> FakeAnswer? {
    let now = clock.now
    switch faults.failureOfNextRequest() {
    case .timeout: return nil
    case .status(let status, let retryAfter):
      // Unlike other APIs, the time is not given in seconds.
      let until = retryAfter.map { String((now + .seconds($0)).milliseconds) }
      return reply(
        AppleError.general(for: status), now, until.map { [("Retry-After", $0)] } ?? [])
    case nil: break
    }
    let signed = act { $0.stamp() }
    return answer(request, world(asOf: now - faults.replicaLag), signed: signed, now: now)
  }

  /// The API's answer at a past moment, without faults.
  ///
  /// With it, a simulation can mix the reads and deliveries of a finished story in any order.
  package func answer(_ request: FakeRequest, asOf moment: Instant) -> FakeAnswer {
    var world = world(asOf: moment)
    world.run(until: moment)
    return answer(request, world, signed: world.stamp(), now: moment)
  }

  private func answer(
    _ request: FakeRequest, _ world: AppStoreWorld, signed: Instant, now: Instant
  ) -> FakeAnswer {
    guard isAuthorized(request, now) else {
      return FakeAnswer(
        status: 401, headers: [("Content-Type", "text/plain"), ("Date", now.httpDate)],
        body: Array("Unauthenticated\n".utf8))
    }
    let target = GoogleTarget(request.path)
    let reads = AppleReads(world: world, signer: signer, signed: signed)
    do throws(AppleError) {
      switch (request.method, target.segments.count, target.segments.dropLast()) {
      case ("GET", 4, ["inApps", "v1", "subscriptions"]):
        return json(try reads.statuses(target), now)
      case ("GET", 4, ["inApps", "v2", "history"]): return json(try reads.history(target), now)
      case ("GET", 4, ["inApps", "v1", "lookup"]): return json(reads.lookup(target), now)
      case ("POST", 4, ["inApps", "v1", "notifications"]) where target.segments[3] == "history":
        return json(try notificationHistory(target, request.body, world, now), now)
      case ("PUT", 5, ["inApps", "v1", "subscriptions", "extend"]):
        let answer = json(try extend(target.segments[4], request.body), now)
        return faults.losesAnswer() ? reply(.general(for: 500), now) : answer
      case ("PUT", 5, ["inApps", "v2", "transactions", "consumption"]):
        try takeConsumption(of: target.segments[4], request.body)
        return FakeAnswer(status: 202, headers: [("Date", now.httpDate)])
      default: throw .general
      }
    } catch { return reply(error, now) }
  }

  private func json(_ value: JSONValue, _ now: Instant) -> FakeAnswer {
    FakeAnswer(
      status: 200, headers: [("Content-Type", "application/json"), ("Date", now.httpDate)],
      body: value.encoded())
  }

  private func reply(
    _ error: AppleError, _ now: Instant, _ headers: [(name: String, value: String)] = []
  ) -> FakeAnswer {
    let body: JSONValue = [
      "errorCode": .integer(error.code), "errorMessage": .string(error.message),
    ]
    return FakeAnswer(
      status: error.status,
      headers: [("Content-Type", "application/json"), ("Date", now.httpDate)] + headers,
      body: body.encoded())
  }

  // MARK: who asks

  /// Whether the store's rules allow the bearer token.
  private func isAuthorized(_ request: FakeRequest, _ now: Instant) -> Bool {
    guard let field = request.header("authorization"), field.hasPrefix("Bearer "),
      let key = settings.apiKey, let jws = try? CompactJWS(Array(field.utf8.dropFirst(7))),
      jws.algorithm == "ES256", jws.header["kid"].string == settings.apiKeyID,
      jws.header["typ"].string == "JWT",
      key.isValid(signature: jws.signature, for: jws.signingInput),
      let claims = try? JSON.parse(jws.payload), let issued = claims["iat"].integer,
      let expiry = claims["exp"].integer
    else { return false }
    return claims["iss"].string == settings.apiIssuerID
      && claims["bid"].string == settings.bundleID
      && claims["aud"].string == "appstoreconnect-v1"
      && issued <= now.seconds + 60 && now.seconds < expiry && expiry <= issued + 3600
  }

  // MARK: notifications

  private static let pageCount = 20

  /// Get Notification History.
  private func notificationHistory(
    _ target: GoogleTarget, _ body: [UInt8], _ world: AppStoreWorld, _ now: Instant
  ) throws(AppleError) -> JSONValue {
    guard let fields = try? JSON.parse(body) else { throw .general }
    guard let from = fields["startDate"].integer else { throw .invalidStart }
    guard let to = fields["endDate"].integer else { throw .invalidEnd }
    guard from >= (now - .days(180)).milliseconds else { throw .startTooOld }
    guard from < to else { throw .startAfterEnd }
    let (type, id) = (fields["notificationType"].string, fields["transactionId"].string)
    guard type == nil || id == nil else { throw .tooManyFilters }
    let subtype = fields["notificationSubtype"].string
    let onlyFailures = fields["onlyFailures"].bool ?? false
    let start = Int(target.values("paginationToken").first ?? "0")
    guard let start, start >= 0 else { throw .invalidPaginationToken }
    let subscription = id.flatMap { world.find($0)?.id }
    let found = world.notices.filter { notice in
      let attempts = attempts(notice)
      return (from...to).contains(notice.signed.milliseconds)
        && (type == nil || notice.type == type) && (subtype == nil || notice.subtype == subtype)
        && (id == nil || (subscription != nil && notice.original == subscription))
        && (!onlyFailures || !(attempts.last?.isSuccess ?? true))
    }
    let page = found.dropFirst(start).prefix(Self.pageCount)
    let hasMore = start + page.count < found.count
    return .apple([
      ("paginationToken", hasMore ? .string(String(start + page.count)) : nil),
      ("hasMore", .bool(hasMore)),
      (
        "notificationHistory",
        .array(
          page.map { notice in
            [
              "sendAttempts": .array(attempts(notice).map(\.json)),
              "signedPayload": .string(signedPayload(of: notice.delivery, at: notice.signed)),
            ]
          })
      ),
    ])
  }
}

// MARK: what the seller tells

extension FakeAppStore {
  /// Extend a Subscription Renewal Date.
  private func extend(_ id: String, _ body: [UInt8]) throws(AppleError) -> JSONValue {
    guard let fields = try? JSON.parse(body) else { throw .general }
    guard let days = fields["extendByDays"].integer, 1...90 ~= days else { throw .invalidDays }
    guard let code = fields["extendReasonCode"].integer, 0...3 ~= code else {
      throw .invalidReason
    }
    guard let name = fields["requestIdentifier"].string, 1...128 ~= name.utf8.count else {
      throw .invalidRequestIdentifier
    }
    let result: Result<Instant, AppleError> = act { world in
      guard world.ids.contains(id) else { return .failure(.originalNotFound) }
      guard world[id].phase == .running else { return .failure(.notExtendable) }
      guard world.isExtendable(id) else { return .failure(.extendedTwice) }
      world.extend(id, days: days)
      return .success(world[id].last.expires)
    }
    return .apple([
      ("originalTransactionId", .string(id)), ("webOrderLineItemId", .string("1")),
      ("success", true), ("effectiveDate", .apple(try result.get())),
    ])
  }

  /// Send Consumption Information, version 2.
  private func takeConsumption(of transaction: String, _ body: [UInt8]) throws(AppleError) {
    guard let fields = try? JSON.parse(body) else { throw .general }
    guard fields["customerConsented"].bool == true else { throw .noConsent }
    let isDelivered = fields["deliveryStatus"].string == "DELIVERED"
    let isWhole =
      fields["sampleContentProvided"].bool != nil
      && fields["consumptionPercentage"].integer.map { 0...100_000 ~= $0 } ?? true
      && fields["refundPreference"].string.map {
        ["DECLINE", "GRANT_FULL", "GRANT_PRORATED"].contains($0)
      } ?? true
    guard isDelivered, isWhole else { throw .invalidConsumption }
    guard act({ $0.find(transaction) }) != nil else { throw .notFound }
    note(consumption: fields, of: transaction)
  }
}

extension AppleAttempt {
  fileprivate var json: JSONValue {
    ["attemptDate": .apple(at), "sendAttemptResult": .string(result)]
  }
}

/// An error of the API. The first three digits of the code are the status.
struct AppleError: Error {
  let code: Int64
  let message: String

  var status: Int { Int(code / 10_000) }

  private init(_ code: Int64, _ message: String) {
    self.code = code
    self.message = message
  }

  static let general = Self(4_000_000, "Bad request.")
  static let invalidRevision = Self(4_000_005, "Invalid request revision.")
  static let invalidTransaction = Self(4_000_006, "Invalid transaction id.")
  static let invalidStart = Self(4_000_013, "Invalid request. The start date is invalid.")
  static let invalidEnd = Self(4_000_014, "Invalid request. The end date is invalid.")
  static let startTooOld = Self(4_000_012, "Invalid request. The start date is too old.")
  static let startAfterEnd = Self(4_000_016, "Invalid request. The start date is after the end.")
  static let invalidPaginationToken = Self(4_000_015, "Invalid request. Invalid paginationToken.")
  static let tooManyFilters = Self(4_000_018, "Invalid request. Too many filters.")
  static let invalidDays = Self(4_000_009, "Invalid extend by days value.")
  static let invalidReason = Self(4_000_010, "Invalid extend reason code.")
  static let invalidRequestIdentifier = Self(4_000_011, "Invalid request identifier.")
  static let noConsent = Self(
    4_000_035, "Invalid request. The customer consented field is invalid.")
  static let invalidConsumption = Self(4_000_037, "Invalid request. A field is invalid.")
  static let notExtendable = Self(4_030_004, "Forbidden. The subscription cannot be extended.")
  static let extendedTwice = Self(
    4_030_005, "Forbidden. The subscription reached the maximum count of extensions.")
  static let originalNotFound = Self(4_040_005, "Original transaction id not found.")
  static let invalidSort = Self(4_000_021, "Invalid request. The sort parameter is invalid.")
  static let notFound = Self(4_040_010, "Transaction id not found.")

  /// The error for a failure that a test scripted.
  static func general(for status: Int) -> AppleError {
    switch status {
    case 429: Self(4_290_000, "Rate limit exceeded.")
    case 500: Self(5_000_001, "An unknown error occurred. Please try again.")
    default: Self(Int64(status) * 10_000, "The request could not be served.")
    }
  }
}
