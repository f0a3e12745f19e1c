import JSON

/// Stripe's pages.
extension StripeOrders {
  /// No customer of the fake has an address, unless they give one on the page.
  static let withoutPlace = Refusal(
    status: 400, code: "customer_tax_location_invalid",
    message: "The customer's location isn't recognized.", parameter: "automatic_tax")

  func openSession(_ form: Form, _ world: inout StripeWorld) throws(Refusal) -> JSONValue {
    let customer = form.value(of: "customer") ?? ""
    try require(customer: customer, world)
    guard form.value(of: "mode") == "subscription", form.value(of: "success_url") != nil else {
      throw .init(
        status: 400, code: "parameter_missing", message: "Missing required param.",
        parameter: "success_url")
    }
    if form.value(of: "automatic_tax[enabled]") == "true" {
      guard form.value(of: "customer_update[address]") == "auto" else { throw Self.withoutPlace }
    }
    if form.value(of: "tax_id_collection[enabled]") == "true" {
      guard form.value(of: "customer_update[name]") == "auto" else {
        throw .init(
          status: 400, code: nil,
          message: "Tax ID collection requires updating business name on the customer. To enable "
            + "tax ID collection for an existing customer, please set `customer_update[name]` to "
            + "`auto`.", parameter: "customer_update")
      }
    }
    let id = world.openSession(
      account(form), try price(form.value(of: "line_items[0][price]")), with: [],
      trialDays: form.value(of: "subscription_data[trial_period_days]").flatMap { Int64($0) } ?? 0,
      customer: customer,
      marksSubscription: form.value(of: "subscription_data[metadata][coffer_account]") != nil)
    world.sessions[id].flow = form.value(of: "subscription_data[metadata][coffer_flow]")
    return rendering(world).session(world.sessions[id])
  }

  func expireSession(_ id: String, _ world: inout StripeWorld) throws(Refusal) -> JSONValue {
    guard let session = world.sessions[optional: id] else {
      throw .init(
        status: 404, code: "resource_missing", message: "No such session.", parameter: "session")
    }
    guard session.status == "open" else {
      throw .init(
        status: 400, code: nil,
        message: "Only Checkout Sessions with a status in [\"open\"] can be expired.")
    }
    world.expireSession(id, isAsked: true)
    return rendering(world).session(world.sessions[id])
  }

  func openPortal(_ form: Form, _ world: inout StripeWorld) throws(Refusal) -> JSONValue {
    let customer = form.value(of: "customer") ?? ""
    try require(customer: customer, world)
    let id = world.newID("bps")
    return [
      "id": .string(id), "object": "billing_portal.session", "customer": .string(customer),
      "livemode": rendering(world).live, "return_url": .text(form.value(of: "return_url")),
      "url": .string("https://billing.stripe.com/p/session/\(id)"),
    ]
  }
}
