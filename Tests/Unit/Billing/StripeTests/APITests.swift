import Base
import HTTPMessages
import JSON
import ProviderAPI
import Stores
import Stripe
import StripeSamples
import Subscriptions
import Testing
import Tiers

/// The read client, with answers made here.
struct APITests {
  private static let day0 = Instant(seconds: 1_767_225_600)
  private static let day30 = day0 + .days(30)
  private static let date = "Sat, 10 Jan 2026 00:00:00 GMT"
  private static let dateMoment = Instant(httpDate: date)!

  /// One paid subscription whose payment was refunded.
  private static let answers: [String: JSONValue] = [
    "/v1/subscriptions/sub_1": SampleSubscription(from: day0, to: day30).json(.basil),
    "/v1/customers/cus_1": ["id": "cus_1", "object": "customer"],
    "/v1/checkout/sessions?subscription=sub_1&limit=100": list([sampleSession(account: nil)]),
    "/v1/invoices?subscription=sub_1&expand%5B%5D=data.payments&limit=100": list([
      SampleInvoice(from: day0, to: day30).json(.basil).adding([
        "payments": list([invoicePayment])
      ])
    ]),
    "/v1/refunds?payment_intent=pi_1&limit=100": list([
      [
        "id": "re_1", "object": "refund", "amount": 299, "charge": "ch_1",
        "created": .seconds(day0), "payment_intent": "pi_1", "status": "succeeded",
      ]
    ]),
    "/v1/disputes?payment_intent=pi_1&limit=100": list([]),
  ]
  private static let invoicePayment: JSONValue = [
    "id": "inpay_1", "object": "invoice_payment", "invoice": "in_1", "status": "paid",
    "payment": ["type": "payment_intent", "payment_intent": "pi_1"],
  ]

  private static func list(_ items: [JSONValue], hasMore: Bool = false) -> JSONValue {
    ["object": "list", "has_more": .bool(hasMore), "data": .array(items)]
  }

  private func record(
    _ answers: [String: JSONValue] = answers, environment: StoreEnvironment = .live
  ) throws(APIFailure) -> StoreAnswer {
    try api(Transport(answers), environment: environment).record(of: "sub_1")
  }

  private func api(_ transport: Transport, environment: StoreEnvironment = .live) -> StripeAPI {
    StripeAPI(
      base: "https://stripe.test", key: Secret("sk_live_secret"), environment: environment,
      transport: transport)
  }

  @Test func `a record is the subscription, sessions, invoices, payments and reversals`() throws {
    let answer = try record()
    #expect(
      answer.facts.map(\.key.description).sorted() == [
        "stripe:live:checkout.session:cs_1", "stripe:live:invoice:in_1",
        "stripe:live:invoice_payment:inpay_1", "stripe:live:refund:re_1",
        "stripe:live:subscription:sub_1",
      ])
    #expect(answer.notes.isEmpty)
  }

  @Test func `an answer is as of its own date, less what it took and what a replica may lag`()
    throws
  {
    let answer = try record()
    let asOf = AsOf(
      from: Self.dateMoment - .milliseconds(250) - .seconds(6), to: Self.dateMoment + .seconds(1))
    #expect(answer.facts.allSatisfy { $0.asOf == asOf })
    #expect(answer.began == asOf.from)
  }

  @Test func `every request carries the key and the pinned version, and asks only to read`() throws
  {
    let transport = Transport(Self.answers)
    _ = try api(transport).record(of: "sub_1")
    let requests = transport.requests.withLock { $0 }
    #expect(requests.count == 6)
    for request in requests {
      #expect(request.method == "GET")
      #expect(request.headers.contains { $0 == ("Authorization", "Bearer sk_live_secret") })
      #expect(request.headers.contains { $0 == ("Stripe-Version", "2026-10-28.endive") })
    }
  }

  @Test func `a deleted customer is a fact`() throws {
    var answers = Self.answers
    answers["/v1/customers/cus_1"] = ["id": "cus_1", "object": "customer", "deleted": true]
    #expect(try record(answers).facts.contains { $0.key.kind == .customer })
  }

  @Test func `payments that an invoice does not carry are asked for`() throws {
    var answers = Self.answers
    answers["/v1/invoices?subscription=sub_1&expand%5B%5D=data.payments&limit=100"] = Self.list([
      SampleInvoice(from: Self.day0, to: Self.day30).json(.basil)
    ])
    answers["/v1/invoice_payments?invoice=in_1&limit=100"] = Self.list([Self.invoicePayment])
    #expect(try record(answers).facts.contains { $0.key.id == "re_1" })
  }

  @Test func `pages follow one another, and lines that an invoice does not carry`() throws {
    var (first, second) = (
      SampleInvoice(from: Self.day30, to: Self.day30 + .days(30)),
      SampleInvoice(from: Self.day0, to: Self.day30)
    )
    (first.id, first.status, first.hasMoreLines) = ("in_2", "open", true)
    second.status = "open"
    var answers = Self.answers
    let path = "/v1/invoices?subscription=sub_1&expand%5B%5D=data.payments&limit=100"
    answers[path] = Self.list([first.json(.basil)], hasMore: true)
    answers[path + "&starting_after=in_2"] = Self.list([second.json(.basil)])
    let line: JSONValue = [
      "id": "il_2", "amount": 5, "period": ["start": 1, "end": 2], "price": "price_x",
    ]
    answers["/v1/invoices/in_2/lines?limit=100&starting_after=il_1"] = Self.list([line])
    let answer = try record(answers)
    #expect(answer.facts.filter { $0.key.kind == .invoice }.map(\.key.id) == ["in_2", "in_1"])
    let invoice = try #require(answer.facts.first { $0.key.id == "in_2" })
    guard case .invoice(let content)? = invoice.object.base as? StripeObject else {
      Issue.record("\(invoice)")
      return
    }
    #expect(content.lines.map(\.amountMinorUnits) == [299, 5])
    #expect(answer.notes.isEmpty)
  }

  @Test func `items that a subscription does not carry are read, too`() throws {
    var answers = Self.answers
    let within: JSONValue = ["id": "si_1", "price": "price_a"]
    let beyond: JSONValue = ["id": "si_2", "price": "price_b"]
    answers["/v1/subscriptions/sub_1"] = SampleSubscription(from: Self.day0, to: Self.day30)
      .json(.basil).adding(["items": Self.list([within], hasMore: true)])
    answers["/v1/subscription_items?subscription=sub_1&limit=100&starting_after=si_1"] = Self.list([
      beyond
    ])
    let answer = try record(answers)
    let fact = try #require(answer.facts.first { $0.key.id == "sub_1" })
    guard case .subscription(let content)? = fact.object.base as? StripeObject else {
      Issue.record("\(fact)")
      return
    }
    #expect(content.items.map(\.price) == ["price_a", "price_b"])
    #expect(answer.notes.isEmpty)
    let kept = KeptMessage(
      deliveryID: DecodedDelivery.answerID(to: 1, of: fact.key), environment: .live,
      received: Self.dateMoment, isForeign: false, body: answer.transcript)
    let again = try StripeStore().decoded(again: kept).facts.first { $0.key == fact.key }
    #expect(again?.object == fact.object)
  }

  @Test func `a kept answer of no time at all is refused when it is read again`() {
    let key = ObjectKey(provider: .stripe, environment: .live, kind: .subscription, id: "sub_1")
    let kept = KeptMessage(
      deliveryID: DecodedDelivery.answerID(to: 1, of: key), environment: .live,
      received: Self.dateMoment, isForeign: false,
      body: Array(#"[{"target":"/v1/subscriptions/sub_1","from":7,"to":7,"answer":{}}]"#.utf8))
    #expect(throws: JSONError.self) { try StripeStore().decoded(again: kept) }
  }

  @Test func `a list without an end stops and says so`() throws {
    var answers = Self.answers
    let path = "/v1/refunds?payment_intent=pi_1&limit=100"
    let refund: JSONValue = [
      "id": "re_1", "object": "refund", "amount": 1, "created": 1, "payment_intent": "pi_1",
      "status": "pending",
    ]
    answers[path] = Self.list([refund], hasMore: true)
    answers[path + "&starting_after=re_1"] = Self.list([refund], hasMore: true)
    #expect(try record(answers).notes == ["list_cut_short"])
  }

  @Test func `a listed page that names itself as the next one is malformed`() throws {
    let path = "/v1/subscriptions?status=all&limit=100"
    let page = Self.list([try #require(Self.answers["/v1/subscriptions/sub_1"])], hasMore: true)
    let store = StripeStore(
      secrets: nil, api: api(Transport([path: page, path + "&starting_after=sub_1": page])))
    func read(_ place: String?) throws -> StorePage {
      try store.page(
        StorePageRequest(store.listings[1], since: nil, until: Self.dateMoment, place: place))
    }
    #expect(try read(nil).next == "sub_1")
    #expect(throws: APIFailure.malformed("a page names itself as the next one")) {
      try read("sub_1")
    }
  }

  @Test(arguments: [
    (ObjectKey.Kind.payment, "pi_1"), (.payment, "ch_1"), (.charge, "ch_1"), (.refund, "re_1"),
    (.dispute, "du_1"), (.invoice, "in_1"), (.invoicePayment, "inpay_1"),
    (.checkoutSession, "cs_1"), (.subscription, "sub_1"),
  ])
  func `whatever is named, the record of its subscription is read`(
    kind: ObjectKey.Kind, id: String
  ) throws {
    let charge: JSONValue = [
      "id": "ch_1", "object": "charge", "payment_intent": "pi_1", "amount_refunded": 0,
    ]
    let reversal: JSONValue = [
      "amount": 299, "charge": "ch_1", "created": .seconds(Self.day0), "payment_intent": "pi_1",
    ]
    let more: [String: JSONValue] = [
      "/v1/charges/ch_1": charge, "/v1/invoice_payments/inpay_1": Self.invoicePayment,
      "/v1/invoice_payments?payment%5Btype%5D=payment_intent&payment%5Bpayment_intent%5D=pi_1&limit=100":
        Self.list([Self.invoicePayment]),
      "/v1/invoices/in_1": SampleInvoice(from: Self.day0, to: Self.day30).json(.basil),
      "/v1/checkout/sessions/cs_1": sampleSession(account: nil),
      "/v1/refunds/re_1": reversal.adding([
        "id": "re_1", "object": "refund", "status": "succeeded",
      ]),
      "/v1/disputes/du_1": reversal.adding([
        "id": "du_1", "object": "dispute", "status": "lost",
      ]),
    ]
    let key = ObjectKey(provider: .stripe, environment: .live, kind: kind, id: id)
    let api = api(Transport(Self.answers.merging(more) { $1 }))
    let found = Set(try api.records(about: key).facts.map(\.key.id))
    #expect(found.isSuperset(of: ["sub_1", "cs_1", "in_1", "inpay_1", "re_1"]))
  }

  @Test func `a payment for something else tells of no subscription`() throws {
    let payments =
      "/v1/invoice_payments?payment%5Btype%5D=payment_intent&payment%5Bpayment_intent%5D=pi_9&limit=100"
    let key = ObjectKey(provider: .stripe, environment: .live, kind: .payment, id: "pi_9")
    #expect(
      try api(Transport([payments: Self.list([])])).records(about: key).facts.isEmpty)
  }

  @Test func `an endpoint's event types are compared with those needed`() throws {
    func endpoint(_ url: String, _ status: String, _ events: [String]) -> JSONValue {
      [
        "id": "we_1", "object": "webhook_endpoint", "url": .string(url), "status": .string(status),
        "enabled_events": .array(events.map { .string($0) }),
      ]
    }
    let ours = "https://billing.example.com/webhooks/stripe"
    let some = StripeEvent.neededTypes.filter { $0 != "invoice.paid" }
    let answers = [
      "/v1/webhook_endpoints?limit=100": Self.list([
        endpoint(ours, "enabled", ["*"]), endpoint(ours, "enabled", some),
        endpoint(ours, "disabled", []), endpoint("https://shop.example.com/hook", "enabled", []),
      ])
    ]
    let endpoints = try api(Transport(answers)).endpoints().filter { $0.isOurs }
    #expect(endpoints.map { $0.missing } == [[], ["invoice.paid"]])
  }

  @Test func `the transcript is one JSON text with every answer`() throws {
    let json = try JSON.parse(record().transcript)
    #expect(json.array?.count == 6)
    #expect(json[0]["target"].string == "/v1/subscriptions/sub_1")
    #expect(json[0]["answer"]["id"].string == "sub_1")
  }

  @Test func `an id cannot reach beyond its place in the address`() throws {
    let transport = Transport([:])
    _ = try? api(transport).record(of: "sub/../?a=b&c#é")
    #expect(
      transport.requests.withLock { $0.first?.url }
        == "https://stripe.test/v1/subscriptions/sub%2F..%2F%3Fa%3Db%26c%23%C3%A9")
  }

  @Test(
    arguments: [
      (400, [:], .refused(status: 400, "parameter_missing")),
      (401, [:], .misconfigured("the provider answers 401")),
      (403, [:], .misconfigured("the provider answers 403")), (404, [:], .notFound),
      (409, [:], .transient("Stripe answers 409", retryAfter: nil)),
      (424, [:], .transient("Stripe answers 424", retryAfter: nil)),
      (429, ["Retry-After": "7"], .transient("the provider answers 429", retryAfter: .seconds(7))),
      (503, [:], .transient("the provider answers 503", retryAfter: nil)),
      (400, ["Stripe-Should-Retry": "true"], .transient("Stripe answers 400", retryAfter: nil)),
    ] as [(Int, [String: String], APIFailure)])
  func `a status says whether to try again, and no text of Stripe's is repeated`(
    status: Int, headers: [String: String], failure: APIFailure
  ) {
    let transport = Transport([:], status: status, headers: headers)
    #expect(throws: failure) { try api(transport).record(of: "sub_1") }
  }

  @Test(arguments: [400, 404, 410])
  func `what is no error of Stripe's says nothing of an object`(status: Int) {
    let transport = Transport(
      ["/v1/subscriptions/sub_1": ["type": "about:blank", "title": "Not found"]], status: status)
    #expect(
      throws: APIFailure.misconfigured("something else than Stripe's API answers \(status)")
    ) {
      try api(transport).record(of: "sub_1")
    }
  }

  @Test func `an answer without a date outdates nothing`() {
    #expect(throws: APIFailure.malformed("the answer has no date")) {
      try api(Transport(Self.answers, date: nil)).record(of: "sub_1")
    }
  }

  @Test func `a key of another environment is a mistake of configuration`() {
    #expect(
      throws: APIFailure.misconfigured("the key is of another environment than the subscription")
    ) {
      try record(environment: .sandbox)
    }
  }

  @Test func `an object that cannot be read is malformed and says where`() {
    var answers = Self.answers
    answers["/v1/subscriptions/sub_1"] = [
      "id": "sub_1", "object": "subscription", "livemode": true,
    ]
    do throws(APIFailure) {
      _ = try record(answers)
      Issue.record("no failure")
    } catch {
      guard case .malformed(let text) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(text.contains("$.status"))
    }
  }
}

/// Answers by target. Any other target is 404, or `status` if that is set.
private final class Transport: ProviderTransport {
  let requests = Locked<[APIRequest]>([])
  private let answers: [String: JSONValue]
  private let status: Int?
  private let headers: [String: String]
  private let date: String?

  init(
    _ answers: [String: JSONValue], status: Int? = nil, headers: [String: String] = [:],
    date: String? = "Sat, 10 Jan 2026 00:00:00 GMT"
  ) {
    self.answers = answers
    self.status = status
    self.headers = headers
    self.date = date
  }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    requests.withLock { $0.append(request) }
    let found = answers[String(request.url.dropFirst("https://stripe.test".count))]
    let error: JSONValue = [
      "error": [
        "type": "invalid_request_error", "code": "parameter_missing",
        "message": "Invalid API Key provided: sk_live_secret",
      ]
    ]
    var headers = headers.map { ($0.key, $0.value) }
    if let date { headers.append(("Date", date)) }
    return APIReply(
      status: status ?? (found == nil ? 404 : 200), headers: Headers(headers),
      body: (found ?? error).encoded(), elapsed: .milliseconds(250))
  }
}
