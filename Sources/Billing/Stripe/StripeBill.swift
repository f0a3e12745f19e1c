import Base
package import Subscriptions
import Tiers

extension StripeRecord {
  /// The bill. If siblings disagree, the first of them counts.
  package var bill: Bill {
    Bill(
      items: subscription.contents.first.map { content in
        content.items.map { Bill.Item(product: $0.product, price: $0.price) }
      } ?? [],
      isScheduled: subscription.contents.contains { $0.schedule != nil },
      payments: invoices.compactMap { id, mirror in
        mirror.contents.first.map { Bill.Payment($0, id: id) }
      },
      reversals: refunds.compactMap { id, mirror in
        mirror.contents.first.map {
          Bill.Reversal($0, id: id, of: invoice(paidBy: [$0.paymentIntent, $0.charge]))
        }
      }
        + disputes.compactMap { id, mirror in
          mirror.contents.first.map {
            Bill.Reversal($0, id: id, of: invoice(paidBy: [$0.paymentIntent, $0.charge]))
          }
        } + unexplained)
  }

  /// The invoice that a payment intent or a charge paid; nil if unknown.
  private func invoice(paidBy names: [String?]) -> Coverage.Evidence? {
    let names = Set(names.compactMap { $0 })
    let intents = names.union(names.compactMap { charges[$0]?.contents.first?.paymentIntent })
    let told =
      invoicePayments.values.flatMap { $0.contents }.first {
        $0.payment.map(intents.contains) ?? false
      }?.invoice ?? names.compactMap { charges[$0]?.contents.first?.invoice }.first
    let invoice =
      told
      ?? invoices.first { _, mirror in
        mirror.contents.contains { !intents.isDisjoint(with: $0.payments) }
      }?.key
    return invoice.map { .init(.invoice, $0) }
  }

  /// Refunded amounts of charges for which no refund is known.
  private var unexplained: [Bill.Reversal] {
    let told = Set(
      refunds.values.flatMap { $0.contents }.flatMap { [$0.charge, $0.paymentIntent] }
        .compactMap { $0 })
    return charges.compactMap { id, mirror in
      guard let content = mirror.contents.first, content.amountRefunded > 0,
        told.isDisjoint(with: [id, content.paymentIntent].compactMap { $0 })
      else { return nil }
      return Bill.Reversal(
        .init(.charge, id), .refund, .done, word: "refunded",
        at: mirror.firstShown(content) ?? .distantPast,
        amount: Money(stripe: content.amountRefunded, content.currency),
        of: invoice(paidBy: [id, content.paymentIntent]))
    }
  }
}

extension Bill.Payment {
  fileprivate init(_ invoice: StripeInvoice, id: String) {
    let state: State =
      switch invoice.status {
      case .paid: .paid
      case .open: invoice.isAttempted ? .failing : .open
      case .draft: .open
      case .uncollectible, .void: .void
      }
    let lines = invoice.lines.filter { !$0.isCredit }
    let line = lines.first { ($0.product ?? $0.price) != nil }
    self.init(
      .init(.invoice, id), state, word: invoice.status.rawValue,
      at: invoice.paidAt ?? invoice.created, requested: invoice.created,
      amount: Money(
        stripe: invoice.status == .paid ? invoice.amountPaid : invoice.amountDue,
        invoice.currency),
      product: line.flatMap { $0.product ?? $0.price }, price: line?.price,
      from: lines.map { $0.from }.min(), to: lines.map { $0.to }.max())
  }
}

extension Bill.Reversal {
  fileprivate init(_ refund: StripeRefund, id: String, of payment: Coverage.Evidence?) {
    let state: State =
      switch refund.status {
      case .pending, .requiresAction: .open
      case .succeeded: .done
      case .failed, .canceled: .void
      }
    self.init(
      .init(.refund, id), .refund, state, word: refund.status.rawValue, at: refund.created,
      amount: Money(stripe: refund.amountMinorUnits, refund.currency), of: payment)
  }

  fileprivate init(_ dispute: StripeDispute, id: String, of payment: Coverage.Evidence?) {
    let state: State =
      switch dispute.status {
      case .warningNeedsResponse, .warningUnderReview, .needsResponse, .underReview, .other,
        .appealNeedsResponse, .appealUnderReview:
        .open
      case .lost: .done
      case .won, .warningClosed, .prevented: .void
      }
    self.init(
      .init(.dispute, id), .dispute, state, word: dispute.status.text, at: dispute.created,
      amount: Money(stripe: dispute.amountMinorUnits, dispute.currency), of: payment)
  }
}

extension Money {
  /// Currencies whose smallest unit at Stripe is not that of ISO 4217
  /// (https://docs.stripe.com/currencies#special-cases).
  private static let exponents: [String: Int] = ["isk": 2, "mga": 0, "ugx": 2]

  /// The amount in Stripe's smallest units; nil if it has more digits than they can express.
  var stripeCount: Int64? {
    let code = currency.lowercased()
    return count(exponent: Self.exponents[code] ?? MinorUnits.exponent(of: code))
  }

  /// Nil if the currency is unknown.
  fileprivate init?(stripe count: Int64, _ currency: String?) {
    guard let currency else { return nil }
    let exponent = Self.exponents[currency] ?? MinorUnits.exponent(of: currency)
    self.init(count, exponent: exponent, currency: currency)
  }
}
