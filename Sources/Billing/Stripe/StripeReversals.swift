import Base
import Subscriptions
import Tiers

/// The periods of paid invoices that refunds and disputes take back, by the policy's table.
///
/// Refunds and disputes bind to an invoice only through its payments. All refunds of an invoice
/// count together: 40 % and 60 % are a full refund, and a failed refund counts as nothing.
struct StripeReversals {
  /// One value of each object that links payments, invoices and reversals.
  struct Objects {
    var invoicePayments: [StripeInvoicePayment] = []
    /// Each with the time at which it was first seen in this state. No refund in it is later.
    var charges: [(id: String, content: StripeCharge, seen: Instant)] = []
    var refunds: [(id: String, content: StripeRefund)] = []
    var disputes: [(id: String, content: StripeDispute)] = []

    var isEmpty: Bool { charges.isEmpty && refunds.isEmpty && disputes.isEmpty }
  }

  /// The moment from which an invoice's periods no longer count, and the reason.
  struct Reversal {
    let at: Instant
    let reason: CapReason
  }

  /// By the invoice's id.
  private(set) var byInvoice: [String: Reversal] = [:]
  /// By the invoice's id, since when its money is withheld by a dispute that the policy only flags.
  private(set) var contested: [String: Instant] = [:]
  private(set) var alarms: Set<Coverage.Alarm> = []

  private let table: ReversalTable
  private let payments: Payments

  /// `scope` returns whether the period of an invoice with paid lines is the last one.
  init(
    _ objects: Objects, invoices: [StripeFold.Invoice], table: ReversalTable,
    scope: (StripeFold.Invoice) -> ReversalTable.Scope
  ) {
    self.table = table
    // The common case: nothing was refunded or disputed.
    guard !objects.isEmpty else {
      payments = Payments(Objects(), invoices: [])
      return
    }
    payments = Payments(objects, invoices: invoices)
    let reversed = payments.reversed
    let amounts = Dictionary(uniqueKeysWithValues: invoices.map { ($0.id, $0.content.amountPaid) })
    for invoice in invoices where invoice.content.status == .paid && !invoice.tierLines.isEmpty {
      guard let mine = payments.byInvoice[invoice.id], !mine.isDisjoint(with: reversed) else {
        continue
      }
      // Several invoices may share one payment. Then all of them must have been refunded.
      let sharers = mine.reduce(into: Set<String>()) { $0.formUnion(payments.invoices[$1] ?? []) }
      let due = sharers.reduce(Int64(0)) { $0.addingClamped(amounts[$1] ?? 0) }
      take(mine, of: invoice.id, due: due, scope(invoice))
    }
    for payment in reversed
    where payments.invoices[payment]?.contains(where: { amounts[$0] != nil }) != true {
      take([payment], of: nil, due: 0, .unbound)
    }
  }

  /// Applies what happened to these payments. Refunds of `due` are a full refund; nothing is one if that is zero.
  private mutating func take(
    _ mine: Set<String>, of invoice: String?, due: Int64, _ scope: ReversalTable.Scope
  ) {
    let shares = mine.flatMap { payments.shares[$0] ?? [] }.sorted {
      ($0.at, $0.object) < ($1.at, $1.object)
    }
    var sum: Int64 = 0
    let last = shares.first { share in
      sum = sum.addingClamped(share.amount)
      return due > 0 && sum >= due
    }
    if let last {
      apply(.fullRefund, of: last.object, at: last.at, .refunded, to: invoice, scope)
    } else {
      for share in shares {
        apply(.partialRefund, of: share.object, at: share.at, .refunded, to: invoice, scope)
      }
    }
    for event in mine.flatMap({ payments.events[$0] ?? [] }) {
      apply(event.kind, of: event.object, at: event.at, event.reason, to: invoice, scope)
    }
  }

  private mutating func apply(
    _ kind: ReversalTable.Kind, of object: String, at moment: Instant, _ reason: CapReason?,
    to invoice: String?, _ scope: ReversalTable.Scope
  ) {
    switch table.effect(of: kind, on: scope) {
    case .none: break
    case .flag:
      alarms.insert(.reversal(kind, object: object))
      if let invoice, kind == .disputeOpened, reason != nil {
        contested[invoice] = min(contested[invoice] ?? moment, moment)
      }
    case .suspend, .cut:
      guard let invoice, let reason else {
        alarms.insert(.reversal(kind, object: object))
        break
      }
      let reversal = Reversal(at: moment, reason: reason)
      byInvoice[invoice] =
        byInvoice[invoice].map { $0.isEarlier(than: reversal) ? $0 : reversal } ?? reversal
    }
  }
}

extension StripeReversals.Reversal {
  fileprivate func isEarlier(than other: Self) -> Bool {
    (at, reason.precedence) <= (other.at, other.reason.precedence)
  }
}

/// Refunds and disputes by their payment, and payments by invoice.
private struct Payments {
  struct Share {
    let at: Instant
    let amount: Int64
    let object: String
  }

  /// Something that happened to a payment as a whole. Without a reason it cannot take back anything.
  struct Event {
    let kind: ReversalTable.Kind
    let at: Instant
    let object: String
    let reason: CapReason?
  }

  private(set) var byInvoice: [String: Set<String>] = [:]
  /// Invoices by payment.
  private(set) var invoices: [String: Set<String>] = [:]
  private(set) var shares: [String: [Share]] = [:]
  private(set) var events: [String: [Event]] = [:]

  /// Every payment that has a share or an event.
  var reversed: Set<String> { Set(shares.keys).union(events.keys) }

  /// The payment intent of each charge that is known to have one.
  private var intents: [String: String] = [:]

  init(_ objects: StripeReversals.Objects, invoices: [StripeFold.Invoice]) {
    for (id, charge, _) in objects.charges { tie(id, to: charge.paymentIntent) }
    for (_, refund) in objects.refunds { tie(refund.charge, to: refund.paymentIntent) }
    for (_, dispute) in objects.disputes { tie(dispute.charge, to: dispute.paymentIntent) }
    for invoice in invoices {
      for payment in invoice.content.payments { bind(payment, to: invoice.id) }
    }
    for payment in objects.invoicePayments where payment.status != .canceled {
      if let id = payment.payment { bind(id, to: payment.invoice) }
    }
    for (id, charge, _) in objects.charges {
      if let invoice = charge.invoice { bind(id, to: invoice) }
    }
    addRefunds(objects)
    addDisputes(objects)
  }

  private mutating func tie(_ charge: String?, to intent: String?) {
    guard let charge, let intent else { return }
    intents[charge] = min(intents[charge] ?? intent, intent)
  }

  private mutating func bind(_ payment: String, to invoice: String) {
    byInvoice[invoice, default: []].insert(name(payment))
    invoices[name(payment), default: []].insert(invoice)
  }

  /// One name for a payment, whichever of its two ids is given.
  private func name(_ payment: String) -> String { intents[payment] ?? payment }

  private func name(intent: String?, charge: String?) -> String? {
    (intent ?? charge).map { name($0) }
  }

  private mutating func addRefunds(_ objects: StripeReversals.Objects) {
    var known: [String: Int64] = [:]
    for (id, refund) in objects.refunds {
      guard let payment = name(intent: refund.paymentIntent, charge: refund.charge) else {
        continue
      }
      known[payment] = (known[payment] ?? 0).addingClamped(refund.amountMinorUnits)
      switch refund.status {
      case .pending, .requiresAction: break
      case .succeeded:
        shares[payment, default: []].append(
          Share(at: refund.created, amount: refund.amountMinorUnits, object: id))
      case .failed, .canceled:
        events[payment, default: []].append(
          Event(kind: .refundFailed, at: refund.created, object: id, reason: .refunded))
      }
    }
    addUnexplained(objects.charges, known)
  }

  /// The amount that a charge reports as refunded beyond the known refunds, whatever their status.
  private mutating func addUnexplained(
    _ charges: [(id: String, content: StripeCharge, seen: Instant)], _ known: [String: Int64]
  ) {
    for (id, charge, seen) in charges {
      let payment = name(charge.paymentIntent ?? id)
      let rest = charge.amountRefunded.subtractingClamped(known[payment] ?? 0)
      guard rest > 0 else { continue }
      shares[payment, default: []].append(Share(at: seen, amount: rest, object: id))
    }
  }

  private mutating func addDisputes(_ objects: StripeReversals.Objects) {
    for (id, dispute) in objects.disputes {
      guard let payment = name(intent: dispute.paymentIntent, charge: dispute.charge) else {
        continue
      }
      guard let (kind, reason) = dispute.status.reversal else { continue }
      events[payment, default: []].append(
        Event(kind: kind, at: dispute.created, object: id, reason: reason))
    }
  }
}

extension StripeDisputeStatus {
  /// An enquiry moves no money, so it takes back nothing. One that ended without a dispute says nothing.
  fileprivate var reversal: (ReversalTable.Kind, CapReason?)? {
    switch self {
    case .warningNeedsResponse, .warningUnderReview: (.disputeOpened, nil)
    case .needsResponse, .underReview, .other: (.disputeOpened, .disputed)
    case .lost, .appealNeedsResponse, .appealUnderReview: (.disputeLost, .refunded)
    case .won: (.disputeWon, .disputed)
    case .warningClosed, .prevented: nil
    }
  }
}
