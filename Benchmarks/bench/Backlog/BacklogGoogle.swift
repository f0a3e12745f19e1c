import Base
import HTTPMessages
import HTTPServer
import JSON
import LocalServer

/// Google as a backlog needs it: its keys, access tokens, purchases and orders, without a delay.
struct BacklogGoogle {
  private let server: HTTPServer
  private let read = Locked<Set<Int>>([])

  init(_ plan: BacklogPlan, _ notifications: GoogleNotifications) throws(BenchError) {
    let read = read
    let keys = notifications.keySet
    let root = "/androidpublisher/v3/applications/\(GoogleNotifications.package)"
    let routes = [
      Self.route("GET", "/certs") { _ in keys },
      Self.route("POST", "/token") { _ in
        ["access_token": "ya29.bench", "expires_in": 3599, "token_type": "Bearer"]
      },
      Self.route("GET", "\(root)/purchases/subscriptionsv2/tokens/{token}") { captures in
        let index = Self.index(captures.first, after: ".")
        read.withLock { _ = $0.insert(index) }
        return Self.purchase(index, plan)
      },
      Self.route("GET", "\(root)/orders/{order}") { captures in
        Self.order(captures.first.map(String.init) ?? "")
      },
    ]
    do { server = try startServer(routes, name: "bench") } catch {
      throw .server("the bench's own server does not start: \(error)")
    }
  }

  var url: String { "http://127.0.0.1:\(server.port)" }

  /// The number of purchases that were read at least once.
  var readCount: Int { read.withLock { $0.count } }

  func stop() { server.drain(within: .seconds(1)) }

  static func route(
    _ method: String, _ pattern: String,
    _ answer: @escaping @Sendable ([Substring]) -> JSONValue
  ) -> Route {
    Route(method, pattern) { _, captures in
      let response = Response.json(200, answer(captures))
      let body: Admission.Body = method == "GET" ? .none : .memory(byteCountMax: 1 << 16)
      return .ready(Admission(body: body, finish: { _ in .ready(response) }))
    }
  }

  /// The number at the end of a token or an order.
  static func index(_ name: Substring?, after mark: Character) -> Int {
    name?.split(separator: mark).last.flatMap { Int($0) } ?? 0
  }

  /// A paid order.
  static func order(_ id: String) -> JSONValue {
    [
      "orderId": .string(id), "state": "PROCESSED",
      "purchaseToken": .string(
        GoogleNotifications.purchaseToken(index(id[...], after: "-"))),
    ]
  }

  /// The purchase after its renewal.
  private static func purchase(_ index: Int, _ plan: BacklogPlan) -> JSONValue {
    purchase(
      of: index, from: plan.monthEnd(index) - BacklogPlan.month, to: plan.paidEnd(index),
      order: "GPA.3300-\(index)")
  }

  static func purchase(
    of index: Int, from start: Instant, to end: Instant, order: String
  ) -> JSONValue {
    [
      "kind": "androidpublisher#subscriptionPurchaseV2",
      "startTime": .string(start.description),
      "regionCode": "US", "subscriptionState": "SUBSCRIPTION_STATE_ACTIVE",
      "acknowledgementState": "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED",
      "externalAccountIdentifiers": [
        "obfuscatedExternalAccountId": .string(BacklogPlan.account(index))
      ],
      "lineItems": [
        [
          "productId": .string(GoogleNotifications.productID),
          "expiryTime": .string(end.description),
          "latestSuccessfulOrderId": .string(order),
          "autoRenewingPlan": ["autoRenewEnabled": true],
          "offerDetails": ["basePlanId": "month"],
        ]
      ],
      "etag": "bench",
    ]
  }
}
