import Base
import HTTPClient
import HTTPMessages
import HTTPServer
import JSON
import LocalServer
import ProviderFakes
import Testing

@Suite struct `The API of a fake Stripe` {
  private func begin() -> (FakeStripe, String) {
    let stripe = makeStripe()
    return (stripe, stripe.buy(account: stripeAccount))
  }

  @Test func `reads the record of a subscription`() throws {
    let (stripe, sub) = begin()
    let invoice = stripe.latestInvoice(of: sub)
    let refund = stripe.refund(invoice: invoice, 100)
    let dispute = stripe.dispute(invoice: invoice)
    let object = stripe.json("/v1/subscriptions/\(sub)")
    #expect(object["status"].string == "active")
    let customer = try #require(object["customer"].string)
    #expect(stripe.json("/v1/customers/\(customer)")["id"].string == customer)
    func ids(_ path: String) -> [String?] {
      (stripe.json(path)["data"].array ?? []).map { $0["id"].string }
    }
    #expect(ids("/v1/subscriptions?customer=\(customer)") == [sub])
    #expect(ids("/v1/invoices?subscription=\(sub)") == [invoice])
    let payment = stripe.json("/v1/invoice_payments?invoice=\(invoice)")["data"][0]
    let intent = try #require(payment["payment"]["payment_intent"].string)
    let query = "payment%5Btype%5D=payment_intent&payment[payment_intent]=\(intent)"
    #expect(ids("/v1/invoice_payments?\(query)") == [payment["id"].string])
    #expect(ids("/v1/refunds?payment_intent=\(intent)") == [refund])
    #expect(ids("/v1/disputes?payment_intent=\(intent)") == [dispute])
    let charge = try #require(stripe.json("/v1/refunds")["data"][0]["charge"].string)
    #expect(ids("/v1/refunds?charge=\(charge)") == [refund])
    #expect(ids("/v1/disputes?charge=\(charge)") == [dispute])
    #expect(stripe.json("/v1/charges/\(charge)")["payment_intent"].string == intent)
    #expect(ids("/v1/checkout/sessions?subscription=\(sub)").count == 1)
  }

  @Test func `expands the payments of invoices on demand`() {
    let (stripe, sub) = begin()
    let plain = stripe.json("/v1/invoices?subscription=\(sub)")["data"][0]
    #expect(!plain["payments"].exists)
    let query = "subscription=\(sub)&expand%5B%5D=data.payments"
    let expanded = stripe.json("/v1/invoices?\(query)")["data"][0]["payments"]["data"][0]
    #expect(expanded["payment"]["type"].string == "payment_intent")
  }

  @Test func `answers in the version that the request names`() throws {
    let (stripe, sub) = begin()
    let reply = try #require(
      stripe.get("/v1/subscriptions/\(sub)", [("Stripe-Version", "2024-11-20.acacia")]))
    #expect(try JSON.parse(reply.body)["current_period_end"].integer != nil)
  }

  /// https://docs.stripe.com/api/subscription_schedules/update
  @Test func `drops at once what the update of a schedule does not repeat`() throws {
    let stripe = makeStripe()
    let sub = stripe.subscribe(
      customer: stripe.addCustomer(), account: stripeAccount, .plusMonthly, with: [.extraMonthly],
      trialDays: 14)
    _ = stripe.discount(sub)
    let schedule = stripe.post("/v1/subscription_schedules", "from_subscription=\(sub)")
    let id = try #require(schedule["id"].string)
    let phase = schedule["phases"][0]
    let start = try #require(phase["start_date"].integer)
    let end = try #require(phase["end_date"].integer)
    #expect(phase["trial_end"].integer == end)
    #expect(phase["items"].array?.count == 2)
    stripe.run(for: .days(1))
    _ = stripe.post(
      "/v1/subscription_schedules/\(id)",
      "phases[0][items][0][price]=\(StripePrice.plusMonthly.id)&phases[0][start_date]=\(start)"
        + "&phases[0][end_date]=\(end)")
    #expect(stripe.prices(of: sub) == [.plusMonthly])
    #expect(stripe.discounts(of: sub) == [])
    #expect(stripe.status(of: sub) == "active")
    #expect(stripe.chargeCount == 1)
  }

  @Test func `says a deleted customer is deleted`() {
    let (stripe, sub) = begin()
    let customer = stripe.customer(of: sub)
    stripe.delete(customer: customer)
    #expect(stripe.json("/v1/customers/\(customer)")["deleted"].bool == true)
    #expect(stripe.json("/v1/subscriptions/\(sub)")["status"].string == "canceled")
  }

  @Test func `lists newest first, page by page`() {
    let (stripe, sub) = begin()
    stripe.run(for: .days(800))
    var seen: [String] = []
    var pageCount = 0
    while true {
      let after = seen.last.map { "&starting_after=\($0)" } ?? ""
      let page = stripe.json("/v1/invoices?subscription=\(sub)&limit=10\(after)")
      seen += (page["data"].array ?? []).compactMap { $0["id"].string }
      pageCount += 1
      if page["has_more"].bool != true { break }
    }
    #expect(seen == stripe.invoices(of: sub).reversed())
    #expect(pageCount == (seen.count + 9) / 10)
  }

  @Test func `lists canceled subscriptions only when asked`() {
    let (stripe, sub) = begin()
    let customer = stripe.customer(of: sub)
    stripe.delete(sub)
    func count(_ query: String) -> Int? {
      stripe.json("/v1/subscriptions?customer=\(customer)\(query)")["data"].array?.count
    }
    #expect(count("") == 0)
    #expect(count("&status=all") == 1)
    #expect(count("&status=ended") == 1)
  }

  @Test func `lists events by type and time`() {
    let (stripe, sub) = begin()
    stripe.run(until: stripe.periodEnd(of: sub) + .days(1))
    let since = stripe.periodEnd(of: sub).seconds - 40 * 86_400
    let events = stripe.json("/v1/events?type=invoice.*&created[gte]=\(since)&limit=100")
    let types = Set((events["data"].array ?? []).compactMap { $0["type"].string })
    #expect(types.contains("invoice.paid"))
    #expect(types.allSatisfy { $0.hasPrefix("invoice.") })
  }

  @Test(arguments: [
    ("/v1/subscriptions/sub_none", 404, "resource_missing"),
    ("/v1/invoices?limit=101", 400, "parameter_invalid_integer"),
    ("/v1/invoices?colour=red", 400, "parameter_unknown"),
    ("/v1/invoices?starting_after=in_none", 400, "resource_missing"),
  ])
  func `refuses in Stripe's words`(_ row: (String, Int, String)) throws {
    let (stripe, _) = begin()
    let reply = try #require(stripe.get(row.0))
    #expect(reply.status == row.1)
    #expect(try JSON.parse(reply.body)["error"]["code"].string == row.2)
  }

  @Test func `refuses another key`() {
    let (stripe, sub) = begin()
    let request = FakeRequest(
      method: "GET", path: "/v1/subscriptions/\(sub)",
      headers: [("Authorization", "Bearer rk_live_other")])
    #expect(stripe.answer(request)?.status == 401)
  }

  @Test func `tells the virtual time`() {
    let (stripe, sub) = begin()
    let reply = stripe.get("/v1/subscriptions/\(sub)")
    let date = reply?.headers.first { $0.name == "Date" }?.value
    #expect(date == "Mon, 02 Mar 2026 10:00:00 GMT")
  }

  @Test func `shows the past while a replica lags`() {
    let (stripe, sub) = begin()
    stripe.run(for: .days(1))
    stripe.delete(sub)
    stripe.faults.setReplicaLag(.seconds(5))
    stripe.run(for: .seconds(4))
    #expect(stripe.json("/v1/subscriptions/\(sub)")["status"].string == "active")
    stripe.run(for: .seconds(1))
    #expect(stripe.json("/v1/subscriptions/\(sub)")["status"].string == "canceled")
  }

  @Test func `fails as scripted and then no more`() {
    let (stripe, sub) = begin()
    stripe.faults.fail(next: [.status(429, retryAfter: 2), .status(500), .timeout])
    let replies = (0..<4).map { _ in stripe.get("/v1/subscriptions/\(sub)") }
    #expect(replies.map { $0?.status } == [429, 500, nil, 200])
    #expect(replies[0]?.headers.contains { $0.name == "Retry-After" && $0.value == "2" } == true)
  }

  @Test func `is served over HTTP by its routes`() throws {
    let (stripe, sub) = begin()
    let server = try startServer(stripe.routes(), name: "fake-stripe")
    let key = String(decoding: stripe.key.exposed, as: UTF8.self)
    let reply = try HTTPClient().send(
      "GET", "http://127.0.0.1:\(server.port)/v1/invoices?subscription=\(sub)",
      headers: [("Authorization", "Bearer \(key)")], body: nil, timeout: .seconds(10))
    #expect(reply.status == 200)
    #expect(reply.headers.text("date") == "Mon, 02 Mar 2026 10:00:00 GMT")
    #expect(try JSON.parse(reply.body)["data"].array?.count == 1)
  }
}
