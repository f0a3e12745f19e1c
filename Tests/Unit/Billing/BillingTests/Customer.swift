import Base
import Crypto
import JSON
import StripeSamples

/// One customer's objects with their own ids, and the events about them.
struct Customer {
  let tag: String
  let account = Random.identifier()
  var shape = Shape.basil

  var subscriptionID: String { "sub_\(tag)" }
  var customerID: String { "cus_\(tag)" }

  func session(_ created: Double = 0, account: Identifier? = nil) -> SampleEvent {
    event(
      "session", "checkout.session.completed", created,
      sampleSession(
        id: "cs_\(tag)", subscription: subscriptionID,
        account: (account ?? self.account).description))
  }

  func subscription(
    _ event: String, _ created: Double, _ change: (inout SampleSubscription) -> Void = { _ in }
  ) -> SampleEvent {
    var sample = SampleSubscription(from: day0, to: day(30))
    sample.id = subscriptionID
    sample.customer = customerID
    change(&sample)
    return self.event(
      "sub_\(event)_\(Int64(created * 86_400))", "customer.subscription.\(event)", created,
      sample.json(shape))
  }

  func invoice(
    _ number: Int, _ event: String, _ created: Double, from: Double = 0, to: Double = 30,
    _ change: (inout SampleInvoice) -> Void = { _ in }
  ) -> SampleEvent {
    var sample = SampleInvoice(from: day(from), to: day(to))
    sample.id = "in_\(tag)_\(number)"
    sample.subscription = subscriptionID
    sample.customer = customerID
    sample.paidAt = day(created)
    sample.billingReason = number == 1 ? "subscription_create" : "subscription_cycle"
    if event == "payment_failed" { sample.status = "open" }
    change(&sample)
    return self.event("in_\(number)_\(event)", "invoice.\(event)", created, sample.json(shape))
  }

  func event(
    _ name: String, _ type: String, _ created: Double, _ object: JSONValue
  ) -> SampleEvent {
    SampleEvent(
      id: "evt_\(tag)_\(name)", type: type, created: day(created), object: object, shape: shape)
  }
}

extension Harness {
  /// A customer whose checkout and first payment Stripe reported, but no subscription yet.
  func payer() throws -> Customer {
    let customer = Customer(tag: tag)
    try post(customer.session())
    try post(customer.invoice(1, "paid", 0))
    return customer
  }

  /// A customer whose checkout, subscription and first payment Stripe reported.
  func subscriber() throws -> Customer {
    let customer = Customer(tag: tag)
    try post(customer.session())
    try post(customer.subscription("created", 0))
    try post(customer.invoice(1, "paid", 0))
    return customer
  }
}
