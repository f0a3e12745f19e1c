import Base
import JSON

extension StripeWorld {
  struct PaymentMethod: Sendable {
    let id: String
    let card: StripeCard
    /// Whether the bank asks the customer before later use.
    let asksAtSetup: Bool
    var customer: String?
  }

  struct SetupIntent: Sendable {
    let id: String
    let customer: String
    let paymentMethod: String
    var status: String

    var clientSecret: String { "\(id)_secret_\(stripeLetters(id, 25))" }
  }

  /// The meaning of Stripe's test tokens; each use makes a new payment method.
  /// https://docs.stripe.com/testing
  private static let tokens: [String: (card: StripeCard, asksAtSetup: Bool)] = [
    "pm_card_visa": (.works, false), "pm_card_mastercard": (.works, false),
    "pm_card_chargeCustomerFail": (.declines, false),
    "pm_card_visa_chargeDeclinedInsufficientFunds": (.lacksFunds, false),
    "pm_card_authenticationRequiredOnSetup": (.works, true),
    "pm_card_authenticationRequired": (.needsConfirmation, true),
  ]

  mutating func addPaymentMethod(
    _ card: StripeCard, asksAtSetup: Bool = false, customer: String? = nil
  ) -> String {
    let id = newID("pm")
    paymentMethods.add(
      PaymentMethod(id: id, card: card, asksAtSetup: asksAtSetup, customer: customer), id: id)
    return id
  }

  /// A payment method for the customer; refused if it does not exist or belongs to another customer.
  mutating func paymentMethod(
    _ name: String, for customer: String
  ) throws(StripeReads.Refusal) -> PaymentMethod {
    if let token = Self.tokens[name] {
      return paymentMethods[addPaymentMethod(token.card, asksAtSetup: token.asksAtSetup)]
    }
    guard let method = paymentMethods[optional: name] else {
      throw .init(
        status: 400, code: "resource_missing", message: "No such PaymentMethod: '\(name)'",
        parameter: "payment_method")
    }
    guard method.customer == nil || method.customer == customer else {
      throw .init(
        status: 400, code: nil,
        message: "The payment method belongs to a different Customer.",
        parameter: "payment_method")
    }
    return method
  }

  /// Makes the customer pay with it from now on.
  mutating func use(_ method: PaymentMethod, for customer: String) {
    paymentMethods[method.id].customer = customer
    customers[customer].card = method.card
    customers[customer].paymentMethod = method.id
  }
}

extension StripeRendering {
  func setupIntent(_ intent: StripeWorld.SetupIntent) -> JSONValue {
    [
      "id": .string(intent.id), "object": "setup_intent",
      "client_secret": .string(intent.clientSecret), "customer": .string(intent.customer),
      "last_setup_error": .null, "livemode": live,
      "payment_method": .string(intent.paymentMethod), "status": .string(intent.status),
      "usage": "off_session",
    ]
  }

  /// The object with the requested expansions.
  func expanded(_ json: JSONValue, _ parameters: StripeReads.Parameters) -> JSONValue {
    let expansions = parameters.filter { $0.name.hasPrefix("expand[") }.map(\.value)
    var json = json
    let own = json["id"]
    if expansions.contains("confirmation_secret"), let invoice = world.invoices[optional: own.text]
    {
      json = json.replacing("confirmation_secret", with: confirmation(invoice))
    }
    if expansions.contains("payments.data.payment.payment_intent"),
      let payment = world.invoices[optional: own.text]?.payment
    {
      let shown: JSONValue = [
        "payment": [
          "payment_intent": paymentIntent(world.payments[payment]), "type": "payment_intent",
        ]
      ]
      json = json.replacing("payments", with: list([shown], url: "/v1/invoice_payments"))
    }
    let latest = json["latest_invoice"]
    guard let invoice = world.invoices[optional: latest.text],
      let expansion = expansions.first(where: { $0.hasPrefix("latest_invoice") })
    else { return json }
    var shown = self.invoice(invoice)
    if expansion.hasSuffix("confirmation_secret") {
      shown = shown.replacing("confirmation_secret", with: confirmation(invoice))
    }
    return json.replacing("latest_invoice", with: shown)
  }

  private func confirmation(_ invoice: StripeWorld.Invoice) -> JSONValue {
    guard invoice.status == .open else { return .null }
    return ["client_secret": .string(invoice.clientSecret), "type": "payment_intent"]
  }
}

/// The customers' own operations.
extension FakeStripe {
  /// Adds a payment method, as Stripe's library does on a page of the app; it belongs to `customer` if that
  /// is given.
  package func addPaymentMethod(
    _ card: StripeCard, asksAtSetup: Bool = false, customer: String? = nil
  ) -> String {
    operate { $0.addPaymentMethod(card, asksAtSetup: asksAtSetup, customer: customer) }
  }

  /// The customer answers their bank, about a payment method or a payment, with the secret that the server
  /// gave to the client. False if the secret is not valid for anything.
  @discardableResult
  package func confirm(_ clientSecret: String, succeeds: Bool = true) -> Bool {
    operate { world in
      if let intent = world.setupIntents.rows.first(where: { $0.clientSecret == clientSecret }) {
        guard intent.status == "requires_action" else { return false }
        world.setupIntents[intent.id].status = succeeds ? "succeeded" : "requires_payment_method"
        if succeeds {
          world.use(world.paymentMethods[intent.paymentMethod], for: intent.customer)
        }
        return true
      }
      guard
        let invoice = world.invoices.rows.first(where: {
          $0.clientSecret == clientSecret && $0.status == .open
        })
      else { return false }
      if succeeds { world.collect(invoice.id) } else { world.fail(invoice.id) }
      return true
    }
  }

  /// The customer, if there is exactly one who was not deleted.
  package var onlyCustomer: String? {
    operate { world in
      let all = world.customers.rows.filter { $0.deletedAt == nil }
      return all.count == 1 ? all[0].id : nil
    }
  }

  package func isOpen(checkout id: String) -> Bool {
    operate { $0.sessions[optional: id]?.status == "open" }
  }

  package var openSessionCount: Int {
    operate { $0.sessions.rows.filter { $0.status == "open" }.count }
  }

  package var customerCount: Int { operate { $0.customers.rows.count } }

  /// The number of charges that took money.
  package var chargeCount: Int {
    operate { $0.payments.rows.filter { $0.status == .succeeded }.count }
  }

  package func price(of subscription: String) -> StripePrice {
    operate { $0.subscriptions[subscription].price }
  }

  package func isTrialing(_ subscription: String) -> Bool {
    operate { $0.subscriptions[subscription].status == .trialing }
  }
}
