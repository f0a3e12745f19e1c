import Base
import JSON

/// The requests with which a seller's server changes something at Stripe.
struct StripeOrders {
  let version: StripeVersion

  static let places = [
    ("POST", "/v1/subscriptions"), ("POST", "/v1/subscriptions/{id}"),
    ("DELETE", "/v1/subscriptions/{id}"), ("POST", "/v1/subscriptions/{id}/resume"),
    ("POST", "/v1/refunds"), ("POST", "/v1/customers"),
    ("POST", "/v1/customers/{id}"), ("POST", "/v1/setup_intents"),
    ("POST", "/v1/invoices/{id}/pay"), ("POST", "/v1/invoices/{id}/void"),
    ("POST", "/v1/checkout/sessions"), ("POST", "/v1/checkout/sessions/{id}/expire"),
    ("POST", "/v1/billing_portal/sessions"), ("POST", "/v1/subscription_schedules"),
    ("POST", "/v1/subscription_schedules/{id}"),
    ("POST", "/v1/subscription_schedules/{id}/release"),
  ]

  func obey(
    _ method: String, _ segments: [String], _ form: StripeReads.Parameters,
    _ world: inout StripeWorld
  ) throws(StripeReads.Refusal) -> JSONValue {
    let words = Array(segments.dropFirst())
    switch (method, words.first, words.count) {
    case ("POST", "subscriptions", 1): return try buy(form, &world)
    case ("POST", "subscriptions", 2): return try change(words[1], form, &world)
    case ("POST", "subscriptions", 3) where words[2] == "resume":
      return try resume(words[1], form, &world)
    case ("DELETE", "subscriptions", 2): return try end(words[1], &world)
    case ("POST", "refunds", 1): return try refund(form, &world)
    case ("POST", "customers", 1): return try makeCustomer(form, &world)
    case ("POST", "customers", 2): return try changeCustomer(words[1], form, &world)
    case ("POST", "setup_intents", 1): return try setUp(form, &world)
    case ("POST", "invoices", 3) where words[2] == "pay":
      return try pay(words[1], form, &world)
    case ("POST", "invoices", 3) where words[2] == "void":
      return try void(words[1], &world)
    case ("POST", "checkout", 2) where words[1] == "sessions":
      return try openSession(form, &world)
    case ("POST", "checkout", 4) where words[3] == "expire":
      return try expireSession(words[2], &world)
    case ("POST", "billing_portal", 2): return try openPortal(form, &world)
    case ("POST", "subscription_schedules", 1): return try schedule(form, &world)
    case ("POST", "subscription_schedules", 2):
      return try plan(words[1], form, &world)
    case ("POST", "subscription_schedules", 3) where words[2] == "release":
      return try release(words[1], &world)
    default:
      throw .init(
        status: 404, code: nil,
        message: "Unrecognized request URL (\(method): /\(segments.joined(separator: "/"))).")
    }
  }

  private func end(
    _ id: String, _ world: inout StripeWorld
  ) throws(StripeReads.Refusal) -> JSONValue {
    _ = try living(id, world)
    world.end(id, "cancellation_requested", isAsked: true)
    return shown(id, world)
  }

  /// Its invoice is not attempted: the seller pays it.
  private func resume(
    _ id: String, _ form: StripeReads.Parameters, _ world: inout StripeWorld
  ) throws(StripeReads.Refusal) -> JSONValue {
    guard try living(id, world).status == .paused else {
      throw .init(
        status: 400, code: nil, message: "This subscription is not paused: '\(id)'.")
    }
    world.awaitPayment(ofResumption: world.bill(resumptionOf: id))
    return shown(id, world, form)
  }

  private func refund(
    _ form: StripeReads.Parameters, _ world: inout StripeWorld
  ) throws(StripeReads.Refusal) -> JSONValue {
    let (intent, charge) = (form.value(of: "payment_intent"), form.value(of: "charge"))
    guard
      let payment = world.payments.rows.first(where: {
        $0.status == .succeeded && ($0.intent == intent || $0.charge == charge)
      })
    else {
      throw .init(
        status: 404, code: "resource_missing", message: "No such payment.",
        parameter: intent == nil ? "charge" : "payment_intent")
    }
    let given = world.refunds.rows.filter { $0.payment == payment.intent && $0.status != .failed }
      .reduce(0) { $0 + $1.amount }
    let rest = payment.amount - given
    guard rest > 0 else {
      throw .init(
        status: 400, code: "charge_already_refunded",
        message: "Charge \(payment.charge) has already been refunded.")
    }
    let amount = form.value(of: "amount").map { Int64($0) ?? 0 }
    guard (1...rest).contains(amount ?? rest) else {
      throw .init(
        status: 400, code: "amount_too_large",
        message: "Refund amount is greater than unrefunded amount on charge.", parameter: "amount")
    }
    let id = world.refund(payment.invoice, amount, isPending: false)
    return StripeRendering(world: world, version: version).refund(world.refunds[id])
  }

  func living(
    _ id: String, _ world: StripeWorld
  ) throws(StripeReads.Refusal) -> StripeWorld.Subscription {
    guard let found = world.subscriptions[optional: id], !found.isEnded else {
      throw .init(
        status: 404, code: "resource_missing", message: "No such subscription: '\(id)'",
        parameter: "id")
    }
    return found
  }

  func shown(
    _ id: String, _ world: StripeWorld, _ form: StripeReads.Parameters = []
  ) -> JSONValue {
    let rendering = rendering(world)
    return rendering.expanded(rendering.subscription(world.subscriptions[id]), form)
  }

  func rendering(_ world: StripeWorld) -> StripeRendering {
    StripeRendering(world: world, version: version)
  }
}
