import Base
import Crypto
import HTTPMessages
import HTTPServer
import JSON
import ProviderFakes

/// Stripe as a reconciliation needs it: its events and subscriptions, page by page, and the objects of a
/// subscription. It answers at once, and counts requests.
final class ReconcileStripe: Sendable {
  private static let pageLength = 100

  let key = "sk_live_" + Hex.encode(Random.bytes(16))
  private let plan: ReconcilePlan
  private let secret: Secret
  private let subscription: EventTemplate
  private let invoice: EventTemplate
  private let indices: [Int]
  /// Newest first.
  private let events: [ReconcilePlan.Event]
  private let places: [String: Int]
  private let state = Locked(State())

  private struct State {
    /// Whether the renewals have happened.
    var isRenewed = false
    var requestCount = 0
  }

  init(_ plan: ReconcilePlan, secret: String) throws(BenchError) {
    self.plan = plan
    self.secret = Secret(secret)
    let indices = plan.indices(of: .stripe)
    self.indices = indices
    subscription = try EventTemplate(
      objectOf: "customer.subscription.updated", directory: WebhookBench.files)
    invoice = try EventTemplate(objectOf: "invoice.paid", directory: WebhookBench.files)
    places = Dictionary(
      uniqueKeysWithValues: indices.enumerated().map { (Self.serial($1), $0) })
    let oldest = plan.months.now - .days(30)
    events = indices.flatMap { index in
      [false, true].flatMap { isRenewal in
        (0..<2).map { ReconcilePlan.Event(index: index, isRenewal: isRenewal, part: $0) }
      }
    }
    .filter { event in
      (!event.isRenewal || plan.isRenewed(event.index))
        && plan.begin(event.index, isRenewal: event.isRenewal) > oldest
    }
    .sorted { a, b in
      let (x, y) = (
        plan.begin(a.index, isRenewal: a.isRenewal), plan.begin(b.index, isRenewal: b.isRenewal)
      )
      return x == y ? a.order > b.order : x > y
    }
  }

  private static func serial(_ index: Int) -> String { Serial.digits(index) }

  /// Shows the renewals from now on, and counts requests from 0.
  func renew() { state.withLock { $0 = State(isRenewed: true) } }

  /// Returns the number of requests, and counts from 0 again.
  func takeRequestCount() -> Int {
    state.withLock { state in
      defer { state.requestCount = 0 }
      return state.requestCount
    }
  }

  // MARK: objects

  /// The event as it is delivered and listed.
  private func body(_ event: ReconcilePlan.Event) -> [UInt8] {
    let begin = plan.begin(event.index, isRenewal: event.isRenewal)
    let (type, object) =
      event.part == 0
      ? ("customer.subscription.updated", self.subscription(event.index, event.isRenewal))
      : ("invoice.paid", self.invoice(event.index, event.isRenewal))
    return Array(
      """
      {"id":"\(Self.name(event))","object":"event","api_version":"2026-07-29.dahlia",\
      "created":\(begin.seconds),"livemode":true,"pending_webhooks":1,"type":"\(type)",\
      "request":{"id":null,"idempotency_key":null},"data":{"object":
      """.utf8) + object + Array("}}".utf8)
  }

  private static func name(_ event: ReconcilePlan.Event) -> String {
    "evt_1S\(Serial.padded(UInt64(event.order)))KzVw7Qp"
  }

  private func subscription(_ index: Int, _ isRenewal: Bool) -> [UInt8] {
    object(subscription, index, isRenewal)
  }

  private func invoice(_ index: Int, _ isRenewal: Bool) -> [UInt8] {
    object(invoice, index, isRenewal)
  }

  private func object(
    _ template: EventTemplate, _ index: Int, _ isRenewal: Bool
  ) -> [UInt8] {
    let invoice = ReconcilePlan.Event(index: index, isRenewal: isRenewal, part: 1)
    return template.body(
      order: Serial.padded(UInt64(invoice.order)), serial: Self.serial(index),
      at: plan.begin(index, isRenewal: isRenewal))
  }

  /// Appends the deliveries from before the loss.
  func append(_ index: Int, signed: Instant, to requests: inout Requests) {
    for part in 0..<2 {
      let body = body(ReconcilePlan.Event(index: index, isRenewal: false, part: part))
      let stamp = "\(signed.seconds)"
      let code = HMACSHA256.code(key: secret, Array("\(stamp).".utf8), body)
      requests.append(
        "POST", StripeEvents.target, host: "127.0.0.1",
        fields: [
          ("Content-Type", "application/json; charset=utf-8"),
          ("Stripe-Signature", "t=\(stamp),v1=\(Hex.encode(code))"),
        ], body: body)
    }
  }

  // MARK: the API

  var routes: [Route] {
    let lists = ["events", "subscriptions", "checkout/sessions", "invoices", "refunds", "disputes"]
    let patterns =
      lists.map { "/v1/\($0)" } + [
        "/v1/invoice_payments", "/v1/subscriptions/{id}", "/v1/customers/{id}",
      ]
    return patterns.map { pattern in
      Route("GET", pattern) { head, captures in
        let response = self.answer(pattern, captures.first.map(String.init), Query(head.target))
        return .ready(Admission(body: .none, finish: { _ in .ready(response) }))
      }
    }
  }

  private func answer(_ pattern: String, _ id: String?, _ query: Query) -> Response {
    let isRenewed = state.withLock { state in
      state.requestCount += 1
      return state.isRenewed
    }
    switch pattern {
    case "/v1/events": return listed(eventPage(query, isRenewed))
    case "/v1/subscriptions": return listed(subscriptionPage(query, isRenewed))
    case "/v1/subscriptions/{id}":
      guard let index = index(id) else { return .json(404, ["error": ["type": "none"]]) }
      return reply(subscription(index, isRenewed && plan.isRenewed(index)))
    case "/v1/customers/{id}":
      return reply(
        Array(
          #"{"id":"\#(id ?? "")","object":"customer","livemode":true,"metadata":{}}"#.utf8))
    case "/v1/invoices": return listed((invoices(query, isRenewed), false))
    default: return listed(([], false))
    }
  }

  private func index(_ id: String?) -> Int? {
    id.flatMap { places[String($0.dropFirst("sub_1S".count).prefix(12))] }.map { indices[$0] }
  }

  private func invoices(_ query: Query, _ isRenewed: Bool) -> [[UInt8]] {
    guard let index = index(query["subscription"]) else { return [] }
    let renewals = isRenewed && plan.isRenewed(index) ? [true, false] : [false]
    return renewals.map { invoice(index, $0) }
  }

  private func eventPage(_ query: Query, _ isRenewed: Bool) -> (items: [[UInt8]], hasMore: Bool) {
    let start = query["starting_after"].flatMap { last in
      events.firstIndex { Self.name($0) == last }.map { $0 + 1 }
    }
    let oldest = query["created[gte]"].flatMap { Int64($0) } ?? .min
    let rest = events[(start ?? 0)...].lazy.filter { [plan] event in
      (isRenewed || !event.isRenewal)
        && plan.begin(event.index, isRenewal: event.isRenewal).seconds >= oldest
    }
    let page = Array(rest.prefix(Self.pageLength + 1))
    return (page.prefix(Self.pageLength).map(body), page.count > Self.pageLength)
  }

  private func subscriptionPage(
    _ query: Query, _ isRenewed: Bool
  ) -> (items: [[UInt8]], hasMore: Bool) {
    let last = query["starting_after"].flatMap { index($0) }.map { places[Self.serial($0)]! + 1 }
    let start = last ?? 0
    let page = indices.dropFirst(start).prefix(Self.pageLength)
    return (
      page.map { subscription($0, isRenewed && plan.isRenewed($0)) },
      start + page.count < indices.count
    )
  }

  private func listed(_ page: (items: [[UInt8]], hasMore: Bool)) -> Response {
    reply(
      Array(#"{"object":"list","has_more":\#(page.hasMore),"data":["#.utf8)
        + page.items.joined(separator: Array(",".utf8)) + Array("]}".utf8))
  }

  private func reply(_ body: [UInt8]) -> Response {
    Response(
      status: 200,
      headers: [("Content-Type", "application/json"), ("Date", Instant.now.httpDate)],
      body: .bytes(body))
  }
}

/// The fields of a request's query.
private struct Query {
  private let fields: [String: String]

  init(_ target: String) {
    let query = target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
    fields = Dictionary(
      query.split(separator: "&").compactMap { pair in
        let sides = pair.split(separator: "=", maxSplits: 1)
        guard sides.count == 2 else { return nil }
        let name = sides[0].replacing("%5B", with: "[").replacing("%5D", with: "]")
        return (String(name), String(sides[1]))
      }, uniquingKeysWith: { $1 })
  }

  subscript(name: String) -> String? { fields[name] }
}
