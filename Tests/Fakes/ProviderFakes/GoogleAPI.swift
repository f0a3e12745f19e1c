package import Base
package import HTTPServer
import JSON

/// The HTTP side: the publisher's API, the token endpoint and the key set.
extension FakePlayStore {
  /// Answers one request to any of the three; nil: no answer ever comes.
  package func answer(_ request: FakeRequest) -> FakeAnswer? {
    let path = GoogleTarget(request.path)
    switch path.segments {
    case ["oauth2", "v3", "certs"]:
      return faulty(keySetFaults) {
        Self.json(
          200, issuer.keySet,
          [
            (
              "Cache-Control",
              "public, max-age=\(settings.keySetMaxAge), must-revalidate, no-transform"
            )
          ])
      }
    case ["token"]: return faulty(tokenFaults) { token(request) }
    default:
      return faulty(faults) {
        guard isAuthorized(request) else {
          return Self.error(401, "authError", "Request had invalid authentication credentials.")
        }
        let prefix = ["androidpublisher", "v3", "applications"]
        guard path.segments.starts(with: prefix), path.segments.count > 4,
          path.segments[3] == settings.packageName
        else {
          return Self.error(404, "applicationNotFound", "No application was found.")
        }
        let answer = publisher(request, path, Array(path.segments[4...]))
        guard request.method == "GET" || !faults.losesAnswer() else { return Self.unserved(500) }
        return answer
      }
    }
  }

  package func routes() -> [Route] {
    let base = "/androidpublisher/v3/applications/{package}"
    return FakeRoutes.routes(
      [
        ("GET", "/oauth2/v3/certs"), ("POST", "/token"),
        ("GET", "\(base)/purchases/subscriptionsv2/tokens/{token}"),
        ("POST", "\(base)/purchases/subscriptionsv2/tokens/{token}"),
        ("POST", "\(base)/purchases/subscriptions/{id}/tokens/{token}"),
        ("GET", "\(base)/purchases/voidedpurchases"), ("GET", "\(base)/orders:batchGet"),
        ("GET", "\(base)/orders/{order}"), ("POST", "\(base)/orders/{order}"),
      ]
    ) { self.answer($0) }
  }

  private func faulty(_ faults: FakeFaults, _ answer: () -> FakeAnswer) -> FakeAnswer? {
    switch faults.failureOfNextRequest() {
    case nil: return answer()
    case .timeout: return nil
    case .status(let status, let retryAfter):
      return Self.unserved(
        status, retryAfter.map { [(name: "Retry-After", value: String($0))] } ?? [])
    }
  }

  private static func unserved(
    _ status: Int, _ headers: [(name: String, value: String)] = []
  ) -> FakeAnswer {
    let reason = status == 429 ? "rateLimitExceeded" : "backendError"
    return error(status, reason, "The request could not be served.", headers)
  }

  private func isAuthorized(_ request: FakeRequest) -> Bool {
    guard let field = request.header("authorization"), field.hasPrefix("Bearer ") else {
      return false
    }
    let token = String(field.dropFirst(7))
    let now = clock.now
    return state.withLock { ($0.accessTokens[token] ?? .distantPast) > now }
  }

  // MARK: the publisher's API

  private func publisher(
    _ request: FakeRequest, _ target: GoogleTarget, _ path: [String]
  ) -> FakeAnswer {
    switch (request.method, path.count, path[0]) {
    case ("GET", 4, "purchases") where path[1] == "subscriptionsv2": return read(path[3])
    case ("POST", 4, "purchases") where path[1] == "subscriptionsv2":
      return order(path[3], request.body)
    case ("POST", 5, "purchases") where path[1] == "subscriptions":
      return acknowledge(path[4], request.body)
    case ("GET", 2, "purchases") where path[1] == "voidedpurchases":
      return voided(target, asOf: clock.now)
    case ("GET", 1, "orders:batchGet"):
      return orders(target.values("orderIds"), asOf: clock.now - faults.replicaLag)
    case ("GET", 2, "orders"): return readOrder(path[1], asOf: clock.now - faults.replicaLag)
    case ("POST", 2, "orders"):
      return path[1].hasSuffix(":reviewrefund")
        ? review(path[1], request.body) : refund(path[1], target)
    default: return Self.error(404, "notFound", "There is no such method.")
    }
  }

  private func read(_ token: String) -> FakeAnswer {
    if let status = state.withLock({ $0.refusals[token] }) { return Self.refusal(status) }
    return read(token, asOf: clock.now - faults.replicaLag)
  }

  /// The answer of `purchases.subscriptionsv2.get` at a past moment, without faults.
  ///
  /// With it, a simulation can mix the reads and deliveries of a finished story in any order.
  package func read(_ token: String, asOf moment: Instant) -> FakeAnswer {
    act { state in
      guard let sale = state.play.sale(token, asOf: moment) else { return Self.refusal(404) }
      if let ended = sale.ended, ended + GoogleTerms.retention <= moment {
        return Self.refusal(410)
      }
      return Self.json(200, sale.json)
    }
  }

  private static func refusal(_ status: Int) -> FakeAnswer {
    status == 410
      ? error(410, "purchaseTokenNoLongerValid", "The purchase token is no longer valid.")
      : error(status, "purchaseTokenNotFound", "The purchase token was not found.")
  }

  /// The answer of `orders.get` at a past moment, without faults.
  package func readOrder(_ id: String, asOf moment: Instant) -> FakeAnswer {
    act { state in
      guard let order = state.play.order(id, asOf: moment) else {
        return Self.error(404, "orderNotFound", "The order was not found.")
      }
      return Self.json(200, order.json)
    }
  }

  /// The answer of `orders.batchGet` at a past moment, without faults.
  package func orders(_ target: String, asOf moment: Instant) -> FakeAnswer {
    orders(GoogleTarget(target).values("orderIds"), asOf: moment)
  }

  private func orders(_ ids: [String], asOf moment: Instant) -> FakeAnswer {
    guard (1...1000).contains(ids.count) else {
      return Self.error(400, "invalid", "From 1 to 1000 order ids are needed.")
    }
    return act { state in
      var found: [JSONValue] = []
      for id in ids {
        guard let order = state.play.order(id, asOf: moment) else {
          return Self.error(404, "orderNotFound", "An order was not found.")
        }
        found.append(order.json)
      }
      return Self.json(200, ["orders": .array(found)])
    }
  }

  private func acknowledge(_ name: String, _ body: [UInt8]) -> FakeAnswer {
    guard name.hasSuffix(":acknowledge") else {
      return Self.error(404, "notFound", "There is no such method.")
    }
    let token = String(name.dropLast(":acknowledge".utf8.count))
    let fields = body.isEmpty ? nil : try? JSON.parse(body)
    guard body.isEmpty || fields != nil else {
      return Self.error(400, "parseError", "The body is no JSON.")
    }
    let accountID = fields?["externalAccountIds"]["obfuscatedAccountId"].string
    guard (accountID ?? "").utf8.count <= 64 else {
      return Self.error(400, "invalid", "The account id is too long.")
    }
    return act { state in
      guard state.play.sales[token] != nil else { return Self.refusal(404) }
      guard state.play.acknowledge(token, accountID: accountID) else {
        return Self.error(400, "invalid", "The purchase is not in a state to be acknowledged.")
      }
      return FakeAnswer(status: 204)
    }
  }

  /// The seller's orders about a subscription: `cancel`, `revoke`, `defer`.
  private func order(_ name: String, _ body: [UInt8]) -> FakeAnswer {
    let parts = name.split(separator: ":", maxSplits: 1).map(String.init)
    guard parts.count == 2, let fields = try? JSON.parse(body) else {
      return Self.error(400, "badRequest", "The request cannot be read.")
    }
    let (token, now) = (parts[0], clock.now)
    return act { state in
      guard let sale = state.play.sales[token] else { return Self.refusal(404) }
      switch parts[1] {
      case "cancel" where sale.state != .expired:
        let kind = fields["cancellationContext"]["cancellationType"].string
        let isDeveloper = kind == "DEVELOPER_REQUESTED_STOP_PAYMENTS"
        state.play.cancel(token, isDeveloper ? .developer : .user(now))
      case "revoke" where sale.state != .expired: state.play.revoke(token, .refund)
      case "defer" where sale.state == .active:
        let context = fields["deferralContext"]
        guard context["etag"].string == sale.etag,
          let seconds = context["deferDuration"].string.flatMap({ Int64($0.dropLast()) })
        else { return Self.error(409, "concurrentUpdate", "The etag is not the present one.") }
        state.play.postpone(token, by: .seconds(seconds))
      default: return Self.error(400, "invalid", "The purchase is in no state for that.")
      }
      return Self.json(200, .object([]))
    }
  }

  private func refund(_ name: String, _ target: GoogleTarget) -> FakeAnswer {
    guard name.hasSuffix(":refund") else {
      return Self.error(404, "notFound", "There is no such method.")
    }
    let id = String(name.dropLast(":refund".utf8.count))
    return act { state in
      guard let order = state.play.orders[id], order.state == .processed else {
        return Self.error(400, "invalid", "The order cannot be refunded.")
      }
      state.play.refund(id, revoking: target.values("revoke") == ["true"])
      return FakeAnswer(status: 204)
    }
  }

  /// The seller's review before a refund, by the token that requested it.
  private func review(_ name: String, _ body: [UInt8]) -> FakeAnswer {
    let id = String(name.dropLast(":reviewrefund".utf8.count))
    guard let fields = try? JSON.parse(body),
      ["DECLINE", "APPROVE", "NEUTRAL"].contains(fields["refundPreference"].string ?? ""),
      fields["sampleContentProvided"].bool != nil,
      fields["consumptionPercentageMilliunits"].integer.map({ 0...100_000 ~= $0 }) ?? true
    else { return Self.error(400, "invalid", "The review cannot be read.") }
    return act { state in
      let isAsked = state.play.notifications.contains { notification in
        guard case .refundReview(let token, id) = notification.about else { return false }
        return token == fields["pendingRefundToken"].string
      }
      guard isAsked else { return Self.error(404, "notFound", "Nothing was asked of that.") }
      state.refundReviews.append(.init(order: id, json: fields))
      return Self.json(200, .object([]))
    }
  }

  /// The answer of `purchases.voidedpurchases.list` at a past moment, without faults.
  package func voided(_ target: String, asOf moment: Instant) -> FakeAnswer {
    voided(GoogleTarget(target), asOf: moment)
  }

  private func voided(_ target: GoogleTarget, asOf now: Instant) -> FakeAnswer {
    func moment(_ name: String, _ standard: Instant) -> Instant {
      target.values(name).first.flatMap { Int64($0) }.map { Instant(milliseconds: $0) } ?? standard
    }
    let from = moment("startTime", now - .days(30))
    let to = moment("endTime", now - faults.replicaLag)
    let size = target.values("maxResults").first.flatMap { Int($0) } ?? 1000
    let start = target.values("token").first.flatMap { Int($0) } ?? 0
    guard from >= now - .days(30), from <= to, (1...1000).contains(size), start >= 0 else {
      return Self.error(400, "invalid", "The times must lie within the last 30 days.")
    }
    return act { state in
      let isAll = target.values("type") == ["1"]
      let rows = isAll ? state.play.voided.filter { from <= $0.voided && $0.voided <= to } : []
      let page = rows.dropFirst(start).prefix(size)
      var answer = GoogleMembers()
      if !page.isEmpty { answer.add("voidedPurchases", .array(page.map(\.json))) }
      if start + page.count < rows.count {
        answer.add("tokenPagination", ["nextPageToken": .string(String(start + page.count))])
      }
      return Self.json(200, answer.json)
    }
  }
}
