package import Base
import Crypto
package import HTTPServer
import JSON

/// The Greenfield API as the server provides it: key, permissions, paging, errors, faults on demand.
extension FakeBTCPay {
  /// The API's routes for our own HTTP server.
  package func routes() -> [Route] {
    let invoices = "/api/v1/stores/{store}/invoices"
    return FakeRoutes.routes([("GET", invoices), ("GET", "\(invoices)/{id}")]) { self.answer($0) }
  }

  /// Answers a request at the clock's time; nil is a timeout.
  package func answer(_ request: FakeRequest) -> FakeAnswer? {
    catchUp()
    return answer(request, asOf: clock.now)
  }

  /// The answer at another moment: a past one, or a future one if no one does anything until then.
  package func answer(_ request: FakeRequest, asOf moment: Instant) -> FakeAnswer? {
    let reply = Reply(moment: moment)
    switch faults.failureOfNextRequest() {
    case .timeout: return nil
    case .status(let status, let retryAfter):
      return reply(
        status, ["code": "unavailable", "message": "Not now."],
        retryAfter.map { [("Retry-After", String($0))] } ?? [])
    case nil: break
    }
    let token = "token " + String(decoding: settings.apiKey.exposed, as: UTF8.self)
    guard constantTimeEqual(Array((request.header("authorization") ?? "").utf8), Array(token.utf8))
    else {
      return reply(
        401,
        ["code": "unauthenticated", "message": "Authentication is required for accessing this"])
    }
    let target = GoogleTarget(request.path)
    guard request.method == "GET", (5...6).contains(target.segments.count),
      target.segments[0...2] == ["api", "v1", "stores"], target.segments[4] == "invoices"
    else { return FakeAnswer(status: 404) }
    guard target.segments[3] == settings.storeID else {
      return reply(
        403,
        [
          "code": "missing-permission", "message": "Insufficient API Permissions.",
          "missingPermission": "btcpay.store.canviewinvoices",
        ])
    }
    let rows = world(asOf: moment).invoices.filter { !$0.isDeleted }
    if target.segments.count == 5 {
      let page = page(of: rows, target)
      hear(of: page, at: moment)
      return reply(200, .array(page.map { $0.json(store: settings.storeID) }))
    }
    guard let row = rows.first(where: { $0.id == target.segments[5] }) else {
      return reply(
        404, ["code": "invoice-not-found", "message": "The invoice was not found"])
    }
    hear(of: [row], at: moment)
    return reply(200, row.json(store: settings.storeID))
  }

  /// The present answer to a read of an account's invoices.
  package func list(of account: Identifier) -> FakeAnswer {
    catchUp()
    let target = GoogleTarget("/?orderId=\(account)&includeArchived=true")
    let page = page(of: world(asOf: clock.now).invoices.filter { !$0.isDeleted }, target)
    return Reply(moment: clock.now)(200, .array(page.map { $0.json(store: settings.storeID) }))
  }

  /// Newest first; without `take`, all of them.
  private func page(
    of rows: [BTCPayWorld.Invoice], _ target: GoogleTarget
  ) -> [BTCPayWorld.Invoice] {
    func number(_ name: String) -> Int? { target.values(name).first.flatMap { Int($0) } }
    let orders = target.values("orderId")
    let start = number("startDate").map { Instant(seconds: Int64($0)) } ?? .distantPast
    let hasArchived = target.values("includeArchived") == ["true"]
    let found = rows.reversed().filter { row in
      (hasArchived || !row.isArchived) && row.created >= start
        && (orders.isEmpty || row.orderID.map { orders.contains($0) } ?? false)
    }
    return Array(found.dropFirst(number("skip") ?? 0).prefix(number("take") ?? .max))
  }

  /// A reader learns which invoices have settled.
  private func hear(of rows: [BTCPayWorld.Invoice], at moment: Instant) {
    state.withLock { state in
      for row in rows where row.status == .settled {
        state.hear(row.id, settledAt: Instant(seconds: moment.seconds))
      }
    }
  }

  private struct Reply {
    let moment: Instant

    func callAsFunction(
      _ status: Int, _ json: JSONValue, _ headers: [(name: String, value: String)] = []
    ) -> FakeAnswer {
      let own = [
        (name: "Content-Type", value: "application/json; charset=utf-8"),
        (name: "Date", value: moment.httpDate),
      ]
      return FakeAnswer(status: status, headers: own + headers, body: json.indented())
    }
  }
}
