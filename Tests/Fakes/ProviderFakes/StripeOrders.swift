internal import Base
internal import JSON

/// What a seller's server has Stripe do.
struct StripeOrders {
  let version: StripeVersion

  func obey(
    _ method: String, _ segments: [String], _ form: StripeReads.Parameters,
    _ world: inout StripeWorld
  ) throws(StripeReads.Refusal) -> JSONValue {
    switch (method, segments.dropFirst().first, segments.count) {
    case ("POST", "subscriptions", 3): try change(segments[2], form, &world)
    case ("DELETE", "subscriptions", 3): try end(segments[2], &world)
    case ("POST", "refunds", 2): try refund(form, &world)
    default:
      throw .init(
        status: 404, code: nil,
        message: "Unrecognized request URL (\(method): /\(segments.joined(separator: "/"))).")
    }
  }

  private func change(
    _ id: String, _ form: StripeReads.Parameters, _ world: inout StripeWorld
  ) throws(StripeReads.Refusal) -> JSONValue {
    let subscription = try living(id, world)
    guard form.map(\.name) == ["cancel_at_period_end"], let wish = Bool(form[0].value) else {
      throw .init(
        status: 400, code: "parameter_unknown", message: "Received unknown parameter.",
        parameter: form.first?.name)
    }
    switch (wish, subscription.cancelAtPeriodEnd) {
    case (true, false): world.cancel(id, at: nil)
    case (false, true): world.uncancel(id)
    default: break
    }
    return shown(id, world)
  }

  private func end(
    _ id: String, _ world: inout StripeWorld
  ) throws(StripeReads.Refusal) -> JSONValue {
    _ = try living(id, world)
    world.end(id, "cancellation_requested", isAsked: true)
    return shown(id, world)
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

  private func living(
    _ id: String, _ world: StripeWorld
  ) throws(StripeReads.Refusal) -> StripeWorld.Subscription {
    guard let found = world.subscriptions[optional: id], !found.isEnded else {
      throw .init(
        status: 404, code: "resource_missing", message: "No such subscription: '\(id)'",
        parameter: "id")
    }
    return found
  }

  private func shown(_ id: String, _ world: StripeWorld) -> JSONValue {
    StripeRendering(world: world, version: version).subscription(world.subscriptions[id])
  }
}
