import Base
import JSON

/// The requests of a seller's server that lead to a subscription.
extension StripeOrders {
  typealias Refusal = StripeReads.Refusal
  typealias Form = StripeReads.Parameters

  // MARK: customers

  func makeCustomer(_ form: Form, _ world: inout StripeWorld) throws(Refusal) -> JSONValue {
    let id = world.addCustomer(.missing)
    world.customers[id].account = account(form)
    world.customers[id].number = form.value(of: "metadata[coffer_customer]")
    return rendering(world).customer(world.customers[id])
  }

  func changeCustomer(
    _ id: String, _ form: Form, _ world: inout StripeWorld
  ) throws(Refusal) -> JSONValue {
    try require(customer: id, world)
    if let name = form.value(of: "invoice_settings[default_payment_method]") {
      world.use(try attached(name, to: id, &world), for: id)
    }
    return rendering(world).customer(world.customers[id])
  }

  func setUp(_ form: Form, _ world: inout StripeWorld) throws(Refusal) -> JSONValue {
    let customer = form.value(of: "customer") ?? ""
    try require(customer: customer, world)
    let method = try world.paymentMethod(
      form.value(of: "payment_method") ?? "", for: customer)
    if method.card == .lacksFunds { throw .declined(method.card) }
    let id = world.newID("seti")
    world.setupIntents.add(
      StripeWorld.SetupIntent(
        id: id, customer: customer, paymentMethod: method.id,
        status: method.asksAtSetup ? "requires_action" : "succeeded"), id: id)
    if !method.asksAtSetup { world.use(method, for: customer) }
    return rendering(world).setupIntent(world.setupIntents[id])
  }

  // MARK: subscriptions

  func buy(_ form: Form, _ world: inout StripeWorld) throws(Refusal) -> JSONValue {
    let customer = form.value(of: "customer") ?? ""
    try require(customer: customer, world)
    let price = try price(form.value(of: "items[0][price]"))
    if form.value(of: "automatic_tax[enabled]") == "true" { throw Self.withoutPlace }
    if let name = form.value(of: "default_payment_method") {
      world.use(try attached(name, to: customer, &world), for: customer)
    }
    let days = form.value(of: "trial_period_days").flatMap { Int64($0) }
    let trialEnd =
      form.value(of: "trial_end").flatMap { Int64($0) }.map { Instant(seconds: $0) }
      ?? days.map { world.now + .days($0) }
    if let trialEnd, trialEnd <= world.now {
      throw .init(
        status: 400, code: nil, message: "trial_end must be in the future.", parameter: "trial_end")
    }
    let card = world.customers[customer].card
    let behavior = form.value(of: "payment_behavior") ?? "allow_incomplete"
    if behavior == "error_if_incomplete", trialEnd == nil, card != .works { throw .declined(card) }
    let id = world.addSubscription(customer, account(form), price, trialEnd: trialEnd)
    world.subscriptions[id].flow = form.value(of: "metadata[coffer_flow]")
    let invoice = world.addInvoice(id, "subscription_create", lines: world.firstLines(id))
    world.subscriptions[id].latestInvoice = invoice
    if behavior == "default_incomplete", trialEnd == nil {
      world.subscriptions[id].status = .incomplete
      world.emit(subscription: id, "created", isAsked: true)
      world.emit(invoice: invoice, "created")
      world.finalizeQuietly(invoice)
      world.emit(invoice: invoice, "finalized")
      world.schedule(
        .expireFirstPayment(subscription: id), at: world.now + StripeSettings.firstPaymentSpan)
    } else {
      world.begin(id, invoice, isActiveFirst: trialEnd != nil)
    }
    return shown(id, world, form)
  }

  func change(
    _ id: String, _ form: Form, _ world: inout StripeWorld
  ) throws(Refusal) -> JSONValue {
    let subscription = try living(id, world)
    let known = [
      "cancel_at", "cancel_at_period_end", "default_payment_method", "items[0][id]",
      "items[0][price]", "proration_behavior", "payment_behavior", "expand[]",
    ]
    if let name = form.map(\.name).first(where: { !known.contains($0) }) {
      throw .init(
        status: 400, code: "parameter_unknown", message: "Received unknown parameter: \(name)",
        parameter: name)
    }
    if let text = form.value(of: "cancel_at_period_end") {
      guard let wish = Bool(text) else {
        throw .init(status: 400, code: nil, message: "Invalid boolean.", parameter: form[0].name)
      }
      guard subscription.schedule == nil else {
        throw .init(
          status: 400, code: nil,
          message: "The subscription is managed by the subscription schedule.")
      }
      switch (wish, subscription.cancelAtPeriodEnd) {
      case (true, false):
        guard subscription.cancelAt == nil else {
          throw .init(
            status: 400, code: nil,
            message: "You can only use one of cancel_at and cancel_at_period_end.",
            parameter: "cancel_at_period_end")
        }
        world.cancel(id, at: nil)
      case (false, true): world.uncancel(id)
      default: break
      }
    }
    if form.value(of: "cancel_at") == "", subscription.cancelAt != nil { world.uncancel(id) }
    if let name = form.value(of: "default_payment_method") {
      world.use(try attached(name, to: subscription.customer, &world), for: subscription.customer)
    }
    if form.value(of: "items[0][price]") != nil {
      try changePrice(subscription, form, &world)
    }
    return shown(id, world, form)
  }

  private func changePrice(
    _ subscription: StripeWorld.Subscription, _ form: Form, _ world: inout StripeWorld
  ) throws(Refusal) {
    let price = try price(form.value(of: "items[0][price]"))
    guard form.value(of: "items[0][id]") == subscription.item else {
      throw .init(
        status: 400, code: "resource_missing", message: "No such subscription item.",
        parameter: "items[0][id]")
    }
    guard price != subscription.price else { return }
    guard subscription.schedule == nil || world.changesScheduled else {
      throw .init(
        status: 400, code: nil,
        message: "The subscription is managed by the subscription schedule.")
    }
    guard subscription.status == .active, subscription.pendingUpdate == nil else {
      throw .init(status: 400, code: nil, message: "The subscription cannot be changed now.")
    }
    let card = world.customers[subscription.customer].card
    switch form.value(of: "payment_behavior") {
    case "error_if_incomplete":
      if card != .works { throw .declined(card) }
      world.changePrice(subscription.id, to: price, .alwaysInvoice)
    case "pending_if_incomplete":
      world.changePrice(subscription.id, to: price, .pendingIfIncomplete)
    default: world.changePrice(subscription.id, to: price, .alwaysInvoice)
    }
  }

  // MARK: invoices

  func pay(_ id: String, _ form: Form, _ world: inout StripeWorld) throws(Refusal) -> JSONValue {
    let invoice = try require(invoice: id, world)
    guard invoice.status == .open else {
      throw .init(status: 400, code: nil, message: "Invoice is already \(invoice.status.rawValue).")
    }
    let card = world.customers[invoice.customer].card
    if invoice.amountDue > 0, card != .works, card != .debits {
      if card != .needsConfirmation { world.fail(id) }
      throw .declined(card)
    }
    world.attempt(id)
    return rendering(world).invoice(world.invoices[id])
  }

  func void(_ id: String, _ world: inout StripeWorld) throws(Refusal) -> JSONValue {
    let invoice = try require(invoice: id, world)
    guard invoice.status == .open || invoice.status == .uncollectible else {
      throw .init(
        status: 400, code: nil, message: "You can only pass in open invoices.", parameter: "id")
    }
    let subscription = world.subscriptions[invoice.subscription]
    if subscription.status == .incomplete {
      world.expireFirstPayment(subscription.id)
    } else if subscription.pendingUpdate?.invoice == id {
      world.expirePendingUpdate(subscription.id)
    } else {
      world.void(id, isAsked: true)
    }
    return rendering(world).invoice(world.invoices[id])
  }

  // MARK: what is refused

  func account(_ form: Form) -> Identifier? {
    form.value(of: "metadata[coffer_account]").flatMap { Identifier($0) }
  }

  func price(_ id: String?) throws(Refusal) -> StripePrice {
    guard let price = StripePrice.all.first(where: { $0.id == id }) else {
      throw .init(
        status: 400, code: "resource_missing", message: "No such price: '\(id ?? "")'",
        parameter: "items[0][price]")
    }
    return price
  }

  func require(customer id: String, _ world: StripeWorld) throws(Refusal) {
    guard let customer = world.customers[optional: id], customer.deletedAt == nil else {
      throw .init(
        status: 400, code: "resource_missing", message: "No such customer: '\(id)'",
        parameter: "customer")
    }
  }

  private func require(
    invoice id: String, _ world: StripeWorld
  ) throws(Refusal) -> StripeWorld.Invoice {
    guard let invoice = world.invoices[optional: id] else {
      throw .init(
        status: 404, code: "resource_missing", message: "No such invoice: '\(id)'",
        parameter: "invoice")
    }
    return invoice
  }

  /// A payment method that already belongs to the customer.
  private func attached(
    _ name: String, to customer: String, _ world: inout StripeWorld
  ) throws(Refusal) -> StripeWorld.PaymentMethod {
    guard let method = world.paymentMethods[optional: name], method.customer == customer else {
      throw .init(
        status: 400, code: "resource_missing",
        message: "The customer does not have a payment method with the ID \(name).",
        parameter: "default_payment_method")
    }
    return method
  }
}

extension StripeReads.Refusal {
  /// The bank's refusal of a payment for which the customer is not present.
  static func declined(_ card: StripeCard) -> StripeReads.Refusal {
    switch card {
    case .needsConfirmation:
      .init(
        status: 402, code: "authentication_required",
        message: "Your card was declined. This transaction requires authentication.",
        type: "card_error", declineCode: "authentication_required")
    case .lacksFunds:
      .init(
        status: 402, code: "card_declined", message: "Your card has insufficient funds.",
        type: "card_error", declineCode: "insufficient_funds")
    case .declines, .works, .debits:
      .init(
        status: 402, code: "card_declined", message: "Your card was declined.",
        type: "card_error", declineCode: "generic_decline")
    case .missing:
      .init(
        status: 400, code: "resource_missing",
        message: "This customer has no attached payment source or default payment method.")
    }
  }
}
