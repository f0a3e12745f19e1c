import Base
import JSON
import Stores
import Subscriptions
import Tiers

/// The metadata key that we set on sessions and subscriptions that we create.
///
/// Values that a customer can write, such as a payment link's `client_reference_id`, are never read.
let accountMetadataKey = "coffer_account"

/// Decodes the objects of one event or answer into facts, in one shape for every API version.
struct ObjectDecoder {
  let environment: StoreEnvironment
  let asOf: AsOf
  /// The event's type; nil for an answer of the API, whose reader completes lists that are cut short.
  let eventType: String?
  /// Lines of invoices and items of subscriptions that the object's own list leaves out, by the object's id.
  var rest: [String: [JSON]] = [:]
  private(set) var facts: [Fact] = []
  private(set) var notes: Set<StripeEvent.Note> = []

  init(environment: StoreEnvironment, asOf: AsOf, eventType: String? = nil) {
    self.environment = environment
    self.asOf = asOf
    self.eventType = eventType
  }

  /// Reads an object and the objects inside it. An object that cannot concern a subscription is left out.
  mutating func read(_ json: JSON) throws(JSONError) {
    switch json["object"].string {
    case "subscription":
      try add(.subscription(StripeSubscription(json, rest: rest(of: json), &notes)), json)
      noteCut(json["items"])
    // A preview of a coming invoice is not an object yet, whether its id is null, absent or made up.
    case "invoice" where eventType != "invoice.upcoming": try readInvoice(json)
    case "invoice_payment": try add(.invoicePayment(StripeInvoicePayment(json)), json)
    case "charge": try readCharge(json)
    case "refund": try add(.refund(StripeRefund(json)), json)
    case "dispute": try add(.dispute(StripeDispute(json)), json)
    case "checkout.session": try add(.checkoutSession(StripeCheckoutSession(json, &notes)), json)
    case "customer" where eventType == "customer.deleted" || json["deleted"].bool == true:
      try add(.customer(StripeCustomer()), json)
    default: break
    }
  }

  private mutating func readInvoice(_ json: JSON) throws(JSONError) {
    try add(.invoice(StripeInvoice(json, rest: rest(of: json))), json)
    noteCut(json["lines"])
    // Present only if the request asked to expand it.
    try readList(json["payments"])
  }

  /// Reads a charge. For a charge without an invoice only a refund matters, unless a read asked for it.
  ///
  /// API versions up to 2022 include the list of its refunds.
  private mutating func readCharge(_ json: JSON) throws(JSONError) {
    let content = try StripeCharge(json)
    if eventType == nil || content.invoice != nil || content.amountRefunded > 0 {
      try add(.charge(content), json)
    }
    try readList(json["refunds"])
  }

  /// Reads a list inside another object. It may be absent or cut short.
  private mutating func readList(_ json: JSON) throws(JSONError) {
    guard json.isObject else { return }
    noteCut(json)
    for item in try json["data"].requireArray() { try read(item) }
  }

  private func rest(of json: JSON) -> [JSON] {
    json["id"].reference.flatMap { rest[$0] } ?? []
  }

  private mutating func noteCut(_ list: JSON) {
    if eventType != nil, list["has_more"].bool == true { notes.insert(.listCutShort) }
  }

  private mutating func add(_ object: StripeObject, _ json: JSON) throws(JSONError) {
    let fact = Fact(
      key: ObjectKey(
        provider: .stripe, environment: environment, kind: object.kind,
        id: try json["id"].requireID()),
      object: object, asOf: asOf)
    switch object {
    case .subscription, .customer: facts.append(fact)
    case .invoice, .invoicePayment, .charge, .refund, .dispute, .checkoutSession:
      if !object.links(from: fact.key).isEmpty { facts.append(fact) }
    }
  }
}

extension StripeSubscription {
  fileprivate init(
    _ json: JSON, rest: [JSON], _ notes: inout Set<StripeEvent.Note>
  ) throws(JSONError) {
    let status = Status(try json["status"].requireID())
    let items = try json["items"]["data"].requireArray() + rest
    let start = json["start_date"]
    self.init(
      customer: json["customer"].reference,
      status: status,
      items: items.map { item in
        let (price, product) = readPrice(item)
        // Metered items have no quantity.
        return Item(
          id: item["id"].reference, price: price, product: product,
          quantity: item["quantity"].integer ?? 1)
      },
      cancelAtPeriodEnd: try json["cancel_at_period_end"].optionalBool(),
      cancelAt: try json["cancel_at"].optionalInstant(),
      canceledAt: try json["canceled_at"].optionalInstant(),
      endedAt: try json["ended_at"].optionalInstant(),
      endedByFailedPayment: json["cancellation_details"]["reason"].string == "payment_failed",
      trialStart: try json["trial_start"].optionalInstant(),
      trialEnd: try json["trial_end"].optionalInstant(),
      collectionIsPaused: json["pause_collection"].isObject,
      collectionResumes: try json["pause_collection"]["resumes_at"].optionalInstant(),
      pause: try Pause(json["status_details"]["paused"]),
      began: try (start.integer == nil ? json["created"] : start).optionalInstant(),
      latestInvoice: json["latest_invoice"].reference, schedule: json["schedule"].reference,
      account: readAccount(json["metadata"], &notes))
  }
}

extension StripeSubscription.Pause {
  /// Nil if no reason is given, as in versions before 2026-09-30.
  fileprivate init?(_ json: JSON) throws(JSONError) {
    guard let reason = json["subscription"]["type"].string.flatMap({ isID($0) ? $0 : nil }) else {
      return nil
    }
    self.init(Reason(reason), at: try json["transitioned_at"].optionalInstant())
  }
}

extension StripeInvoice {
  fileprivate init(_ json: JSON, rest: [JSON]) throws(JSONError) {
    guard let status = Status(rawValue: try json["status"].requireString()) else {
      throw json["status"].failure("must be a known status")
    }
    let data = try json["lines"]["data"].requireArray() + rest
    // Under `parent` since basil (2025-03-31), at the top before. A manual invoice names it in its lines.
    let subscription =
      json["parent"]["subscription_details"]["subscription"].reference
      ?? json["subscription"].reference ?? data.lazy.compactMap(readSubscription).first
    self.init(
      subscription: subscription, status: status,
      isCycle: json["billing_reason"].string == "subscription_cycle",
      isAttempted: json["attempted"].bool == true || (json["attempt_count"].integer ?? 0) > 0,
      created: try json["created"].requireInstant(),
      paidAt: try json["status_transitions"]["paid_at"].optionalInstant(),
      amountPaid: (json["amount_paid"].integer ?? 0)
        .addingClamped(json["amount_paid_off_stripe"].integer ?? 0),
      amountDue: json["amount_due"].integer, currency: json["currency"].reference,
      dueAt: json["collection_method"].string == "send_invoice"
        ? try json["due_date"].optionalInstant() : nil,
      uncollectibleReason: json["status_details"]["uncollectible"]["reason"].reference,
      payments: [json["payment_intent"].reference, json["charge"].reference].compactMap { $0 },
      lines: try data.filter { readSubscription($0) ?? subscription == subscription }
        .map { line throws(JSONError) in try Line(line) })
  }
}

extension StripeInvoice.Line {
  fileprivate init(_ json: JSON) throws(JSONError) {
    let (price, product) = readPrice(json)
    let amount = try json["amount"].requireInteger()
    let details = json["parent"]["invoice_item_details"]
    // The credit of a line that a coupon made free has the amount zero. Only its reference to the
    // credited items shows that it is a credit.
    let credited =
      details["proration_details"]["credited_items"].isObject
      || json["proration_details"]["credited_items"].isObject
    self.init(
      item: json["parent"]["subscription_item_details"]["subscription_item"].reference
        ?? details["subscription_item"].reference ?? json["subscription_item"].reference,
      price: price, product: product, amountMinorUnits: amount,
      isCredit: amount < 0 || amount == 0 && credited,
      from: try json["period"]["start"].requireInstant(),
      to: try json["period"]["end"].requireInstant())
  }
}

extension StripeCheckoutSession {
  fileprivate init(_ json: JSON, _ notes: inout Set<StripeEvent.Note>) throws(JSONError) {
    self.init(
      subscription: json["subscription"].reference,
      isOpen: json["status"].string == "open",
      account: readAccount(json["metadata"], &notes))
  }
}

/// The price and product of an item or line, in the place where its API version has them.
private func readPrice(_ json: JSON) -> (price: String?, product: String?) {
  let details = json["pricing"]["price_details"]
  let price = details["price"].reference ?? json["price"].reference ?? json["plan"].reference
  let product =
    details["product"].reference ?? json["price"]["product"].reference
    ?? json["plan"]["product"].reference
  return (price, product)
}

/// The subscription that a line bills, in the place where its API version has it.
private func readSubscription(_ line: JSON) -> String? {
  let parent = line["parent"]
  return parent["subscription_item_details"]["subscription"].reference
    ?? parent["invoice_item_details"]["subscription"].reference ?? line["subscription"].reference
}

private func readAccount(_ metadata: JSON, _ notes: inout Set<StripeEvent.Note>) -> Identifier? {
  let value = metadata[accountMetadataKey]
  guard value.exists, !value.isNull else { return nil }
  guard let account = value.string.flatMap({ Identifier($0) }) else {
    notes.insert(.malformedAccount)
    return nil
  }
  return account
}
