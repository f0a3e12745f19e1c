import Base
import HTTPMessages
import ProviderAPI
import ProviderFakes
import Stores
import Stripe
import Subscriptions
import Testing
import Tiers

/// Ending a subscription again after the answer to the first attempt was lost.
struct EndingOrderTests {
  /// A Stripe that has no such subscription to delete, and shows it with the given status.
  private final class EndedStripe: ProviderTransport {
    private let status: String?
    private let asked = Locked<[String]>([])

    init(_ status: String?) { self.status = status }

    var requests: [String] { asked.withLock { $0 } }

    func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
      asked.withLock { $0.append(request.method) }
      let shown = request.method == "GET" ? status : nil
      let body =
        shown.map { #"{"id":"sub_1","object":"subscription","status":"\#($0)"}"# }
        ?? #"{"error":{"type":"invalid_request_error","code":"resource_missing"}}"#
      return APIReply(
        status: shown == nil ? 404 : 200,
        headers: Headers([("Date", Instant(seconds: 1_790_000_000).httpDate)]),
        body: Array(body.utf8), elapsed: .milliseconds(1))
    }
  }

  private func end(_ status: String?) throws {
    let store = StripeStore(
      secrets: WebhookSecrets([Secret("whsec_test")]),
      api: StripeAPI(
        base: "https://stripe.fake", key: Secret("sk_live_test"), environment: .live,
        transport: EndedStripe(status)))
    let key = ObjectKey(provider: .stripe, environment: .live, kind: .subscription, id: "sub_1")
    try store.perform(
      .end, StoreRead(key, readNumber: 0, secret: nil) { .init(reasons: [], parts: []) },
      StripeRecord(id: "sub_1"))
  }

  @Test func `what has ended was ended as it was ordered`() throws { try end("canceled") }

  @Test(arguments: [nil, "active"])
  func `what is not there, or goes on, is refused`(status: String?) {
    #expect(throws: APIFailure.notFound) { try end(status) }
  }

  @Test(arguments: [
    ("active", StripeEnding.withPeriod), ("trialing", .withPeriod), ("past_due", .atOnce),
    ("unpaid", .atOnce), ("paused", .atOnce), ("incomplete", .atOnce), ("canceled", .over),
    ("incomplete_expired", .over), ("of_a_later_version", .withPeriod),
  ])
  func `a status says how renewal ends, and an unknown one takes nothing`(
    status: String, ending: StripeEnding
  ) {
    #expect(StripeEnding(status: status) == ending)
  }
}
