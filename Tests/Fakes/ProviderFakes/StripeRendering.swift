import Base
import Crypto
import JSON

/// The objects of a world in the form of an API version.
struct StripeRendering {
  let world: StripeWorld
  let version: StripeVersion

  private typealias Values = [String: JSONValue]

  func list(_ data: [JSONValue], url: String, hasMore: Bool = false) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("object", "list"), .init("data", .array(data)), .init("has_more", .bool(hasMore)),
    ]
    if !version.isBasil { members.append(.init("total_count", .integer(Int64(data.count)))) }
    members.append(.init("url", .string(url)))
    return .object(members)
  }

  // MARK: Subscriptions

  func subscription(_ sub: StripeWorld.Subscription) -> JSONValue {
    let customer = world.customers[sub.customer]
    let price = price(sub.price)
    let items =
      [item(sub.item, sub.price, sub.period, sub)]
      + sub.additions.map { item($0.item, $0.price, $0.ownPeriod ?? sub.period, sub) }
    var values: Values = [
      "id": .string(sub.id), "live": live, "customer": .string(sub.customer),
      "status": .string(sub.status.rawValue), "created": .seconds(sub.created),
      "anchor": .seconds(sub.anchor), "metadata": metadata(sub.marked, sub.flow),
      "plan": price.plan,
      "items": list(items, url: "/v1/subscription_items?subscription=\(sub.id)"),
      "latest_invoice": .text(sub.latestInvoice), "schedule": .text(sub.schedule),
      "payment_method": customer.card == .missing ? .null : .string(customer.paymentMethod),
    ]
    values["period_start"] = .seconds(sub.period.lowerBound)
    values["period_end"] = .seconds(sub.period.upperBound)
    values["trial_start"] = .seconds(sub.trial?.lowerBound)
    values["trial_end"] = .seconds(sub.trial?.upperBound)
    values["missing_payment_method"] = .string(sub.missingCard.rawValue)
    values["cancel_at_period_end"] = .bool(sub.cancelAtPeriodEnd)
    values["cancel_at"] = .seconds(sub.cancelAt)
    values["canceled_at"] = .seconds(sub.canceledAt)
    values["ended_at"] = .seconds(sub.endedAt)
    values["reason"] = .text(sub.cancellationReason)
    values["feedback"] = .text(sub.feedback)
    values["pause_collection"] = collectionPause(sub)
    values["pending_update"] = pendingUpdate(sub)
    values["collection_method"] = collectionMethod(sub)
    values["days_until_due"] = sub.daysUntilDue.map { .integer($0) } ?? .null
    values["paused"] = paused(sub)
    values["discounts"] = .array(sub.discounts.map { .string($0) })
    return StripeTemplate.subscription.filled(version, values)
  }

  private func item(
    _ id: String, _ itemPrice: StripePrice, _ period: Range<Instant>,
    _ sub: StripeWorld.Subscription
  ) -> JSONValue {
    let price = price(itemPrice)
    return StripeTemplate.item.filled(
      version,
      [
        "item": .string(id), "created": .seconds(sub.created),
        "period_start": .seconds(period.lowerBound),
        "period_end": .seconds(period.upperBound), "plan": price.plan, "price": price.price,
        "subscription": .string(sub.id),
      ])
  }

  private func collectionPause(_ sub: StripeWorld.Subscription) -> JSONValue {
    guard let pause = sub.pause else { return .null }
    return ["behavior": .string(pause.rawValue), "resumes_at": .seconds(sub.resumesAt)]
  }

  private func collectionMethod(_ sub: StripeWorld.Subscription) -> JSONValue {
    sub.daysUntilDue == nil ? "charge_automatically" : "send_invoice"
  }

  private func paused(_ sub: StripeWorld.Subscription) -> JSONValue {
    guard let (reason, at) = sub.paused else { return .null }
    return [
      "subscription": ["type": .string(reason.rawValue)], "transitioned_at": .seconds(at),
      "type": "subscription",
    ]
  }

  private func pendingUpdate(_ sub: StripeWorld.Subscription) -> JSONValue {
    guard let update = sub.pendingUpdate else { return .null }
    let price = price(update.price)
    let item: JSONValue = [
      "id": .string(sub.item), "object": "subscription_item", "created": .seconds(sub.created),
      "metadata": .object([]), "plan": price.plan, "price": price.price, "quantity": 1,
      "subscription": .string(sub.id), "tax_rates": [],
    ]
    return [
      "billing_cycle_anchor": .null, "expires_at": .seconds(update.expiresAt),
      "subscription_items": [item], "trial_end": nil, "trial_from_plan": nil,
    ]
  }

  private func price(_ price: StripePrice) -> (price: JSONValue, plan: JSONValue) {
    let values: Values = [
      "price": .string(price.id), "product": .string(price.product), "live": live,
      "nickname": .string(price.nickname), "interval": .string(price.interval.rawValue),
      "amount": .integer(price.amount), "amount_text": .string(String(price.amount)),
    ]
    return (
      StripeTemplate.price.filled(version, values), StripeTemplate.plan.filled(version, values)
    )
  }

  // MARK: Invoices

  func invoice(_ invoice: StripeWorld.Invoice, isPreview: Bool = false) -> JSONValue {
    let sub = world.subscriptions[invoice.subscription]
    let isFinal = invoice.finalizedAt != nil
    let page =
      "https://invoice.stripe.com/i/acct_1Lk4QzTmRvXcE0w/live_"
      + stripeLetters(invoice.id + "hosted", 96)
    let parent: JSONValue = [
      "quote_details": nil,
      "subscription_details": [
        "metadata": metadata(sub.marked), "subscription": .string(sub.id),
      ], "type": "subscription_details",
    ]
    let payment = invoice.payment.map { world.payments[$0] }
    var values: Values = [
      "id": isPreview ? .null : .string(invoice.id), "live": live, "parent": parent,
      "subscription": .string(sub.id), "metadata": metadata(sub.marked),
      "customer": .string(invoice.customer), "created": .seconds(invoice.created),
      "status": .string(invoice.status.rawValue), "billing_reason": .string(invoice.reason),
      "lines": lines(invoice, sub, isPreview: isPreview), "total": .integer(invoice.total),
      "payment_intent": .text(invoice.payment), "charge": .text(payment?.charge),
    ]
    values.merge(person(invoice.customer)) { $1 }
    values["amount_due"] = .integer(invoice.amountDue)
    values["amount_paid"] = .integer(invoice.amountPaid)
    values["amount_remaining"] = .integer(invoice.amountDue - invoice.amountPaid)
    values["starting_balance"] = .integer(invoice.startingBalance)
    values["ending_balance"] =
      isFinal ? .integer(invoice.startingBalance + invoice.balanceUsed) : .null
    values["paid"] = .bool(invoice.status == .paid)
    values["attempted"] = .bool(invoice.isAttempted)
    values["attempt_count"] = .integer(Int64(invoice.attemptCount))
    values["next_payment_attempt"] = .seconds(invoice.nextAttempt)
    values["auto_advance"] = .bool(invoice.autoAdvance)
    values["automatically_finalizes_at"] =
      isFinal || !invoice.autoAdvance
      ? .null : .seconds(invoice.created + StripeSettings.draftSpan)
    values["finalized_at"] = .seconds(invoice.finalizedAt)
    values["paid_at"] = .seconds(invoice.paidAt)
    values["voided_at"] = .seconds(invoice.voidedAt)
    values["uncollectible_at"] = .seconds(invoice.uncollectibleAt)
    values["period_start"] = .seconds(invoice.period.lowerBound)
    values["period_end"] = .seconds(invoice.period.upperBound)
    values["hosted_invoice_url"] = isFinal ? .string(page + "?s=ap") : .null
    values["invoice_pdf"] = isFinal ? .string(page + "/pdf?s=ap") : .null
    values["number"] = isFinal ? .string(number(of: invoice)) : .null
    values["collection_method"] = collectionMethod(sub)
    values["due_date"] = .seconds(invoice.dueAt)
    values["paid_outside"] = .bool(invoice.isPaidOutside)
    values["uncollectible"] =
      invoice.uncollectibleReason.map { ["reason": .string($0)] } ?? .null
    let filled = StripeTemplate.invoice.filled(version, values)
    // Since basil, payments from outside Stripe are counted separately.
    guard invoice.isPaidOutside, version.isBasil else { return filled }
    return filled.replacing("amount_paid", with: 0)
      .replacing("amount_paid_off_stripe", with: .integer(invoice.amountPaid))
  }

  private func number(of invoice: StripeWorld.Invoice) -> String {
    let digits = String(invoice.number)
    let prefix = stripeLetters(invoice.customer, 8).uppercased()
    return "\(prefix)-\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)"
  }

  private func lines(
    _ invoice: StripeWorld.Invoice, _ sub: StripeWorld.Subscription, isPreview: Bool
  ) -> JSONValue {
    list(
      invoice.lines.map { line($0, invoice, sub) },
      url: isPreview
        ? "/v1/invoices/upcoming/lines?subscription=\(sub.id)" : "/v1/invoices/\(invoice.id)/lines")
  }

  private func line(
    _ line: StripeWorld.Line, _ invoice: StripeWorld.Invoice, _ sub: StripeWorld.Subscription
  ) -> JSONValue {
    let item: JSONValue =
      line.isProration ? .string(stripeIdentifier("ii", line.id)) : .null
    let credited: JSONValue = [
      "credited_items": line.credits.map {
        [
          "invoice": .string($0),
          "invoice_line_items": [.string(stripeIdentifier("il", $0 + "credited"))],
        ]
      } ?? .null
    ]
    var details: [JSONValue.Member] = [
      .init("invoice_item", item), .init("proration", .bool(line.isProration)),
      .init("proration_details", credited), .init("subscription", .string(sub.id)),
    ]
    let itemID = line.item ?? sub.item
    if !line.isProration { details.append(.init("subscription_item", .string(itemID))) }
    let parent: JSONValue = [
      "invoice_item_details": line.isProration ? .object(details) : .null,
      "subscription_item_details": line.isProration ? .null : .object(details),
      "type": line.isProration ? "invoice_item_details" : "subscription_item_details",
    ]
    let price = price(line.price)
    return StripeTemplate.line.filled(
      version,
      [
        "id": .string(line.id), "live": live, "invoice": .string(invoice.id), "parent": parent,
        "metadata": metadata(sub.marked), "amount": .integer(line.amount),
        "amount_text": .string(String(line.amount)), "description": .string(line.description),
        "discountable": .bool(!line.isProration), "from": .seconds(line.period.lowerBound),
        "to": .seconds(line.period.upperBound), "plan": price.plan, "price": price.price,
        "price_id": .string(line.price.id), "product": .string(line.price.product),
        "proration": .bool(line.isProration), "proration_details": credited,
        "subscription": .string(sub.id), "item": .string(itemID), "invoice_item": item,
        "type": line.isProration ? "invoiceitem" : "subscription",
      ])
  }

  // MARK: Shared

  var live: JSONValue { .bool(world.settings.isLive) }

  func metadata(_ account: Identifier?, _ flow: String? = nil) -> JSONValue {
    let members: [(String, String?)] = [
      ("coffer_account", account?.description), ("coffer_flow", flow),
    ]
    return .object(members.compactMap { name, value in value.map { .init(name, .string($0)) } })
  }

  func person(_ customer: String?) -> [String: JSONValue] {
    let email = customer.flatMap { world.customers[optional: $0]?.email }
    return ["email": .text(email), "name": "Zoë Ångström"]
  }
}

extension StripeWorld.Subscription {
  /// The account that the metadata names.
  fileprivate var marked: Identifier? { isMarked ? account : nil }
}

extension JSONValue {
  /// The object with another value for a member, or with the member added.
  func replacing(_ name: String, with value: JSONValue) -> JSONValue {
    guard case .object(var members) = self else { return self }
    if let place = members.firstIndex(where: { $0.name == name }) {
      members[place] = .init(name, value)
    } else {
      members.append(.init(name, value))
    }
    return .object(members)
  }

  static func seconds(_ instant: Instant?) -> JSONValue {
    instant.map { .integer($0.seconds) } ?? .null
  }
}

private let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

/// Letters and digits that depend only on `seed`.
func stripeLetters(_ seed: String, _ count: Int) -> String {
  var text: [UInt8] = []
  while text.count < count {
    let digest = SHA256.hash(Array("\(seed)/\(text.count)".utf8))
    text += digest.map { alphabet[Int($0) % alphabet.count] }
  }
  return String(decoding: text.prefix(count), as: UTF8.self)
}

/// An id of the length and form that Stripe gives to objects of that kind.
func stripeIdentifier(_ kind: String, _ seed: String) -> String {
  switch kind {
  case "cus", "si", "req": "\(kind)_\(stripeLetters(kind + seed, 14))"
  case "cs": "cs_live_a1\(stripeLetters(kind + seed, 56))"
  default:
    "\(kind)_1\(stripeLetters(kind + seed, 5))Lk4QzTmRvXcE0w\(stripeLetters(seed + kind, 4))"
  }
}
