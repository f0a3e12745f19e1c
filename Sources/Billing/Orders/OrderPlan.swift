package import Audit
package import Base
package import JSON
import Jobs
package import Ledger
import Report
package import Storage
package import Stores
package import Subscriptions
import Tiers

/// An operator's request to a store, before it is known whether it is allowed.
package enum OrderIntent: Sendable {
  case stopRenewal
  case end
  /// The payment of that id, or the last one that cost something. The amount is in its currency;
  /// nil is all that is left.
  case refund(payment: String?, amount: String?)
  case extend(days: Int64, because: ExtensionCause)

  fileprivate var kind: StoreOrder.Kind {
    switch self {
    case .stopRenewal: .stopRenewal
    case .end: .end
    case .refund: .refund
    case .extend: .extend
    }
  }
}

/// Why no order is placed.
package struct OrderRefusal: Error {
  package let kind: Kind
  package let text: String

  package enum Kind: Sendable {
    /// The store, or any store, never accepts such an order.
    case invalid
    case refused
    /// No key of the store's API is configured.
    case unconfigured
  }

  init(_ kind: Kind, _ text: String) {
    (self.kind, self.text) = (kind, text)
  }
}

/// An order that may be placed. It is made, shown and placed in one transaction that holds the ledger's lock.
package struct OrderPlan: Sendable {
  package let subscription: ObjectKey
  /// The account that owns the subscription.
  package let account: Identifier?
  /// The state before, and after the store has done it: objects with the same members.
  package let before: JSONValue
  package let after: JSONValue
  let kind: StoreOrder.Kind
  /// For a refund: the payment, its part to refund, and the number of known refunds of it.
  var payment: String?
  var amount: Money?
  var knownRefundCount: Int64?
  /// For an extension: the days, the cause, and the subscription's end as far as it is known.
  var days: Int64?
  var cause: ExtensionCause?
  var knownEnd: Instant?
}

extension OrderPlan {
  /// - Throws: An `OrderRefusal` if the store cannot do it, or if what is known or under way contradicts it.
  package init(
    _ intent: OrderIntent, of key: ObjectKey, _ store: any Store, _ ledger: Ledger,
    at now: Instant, in transaction: Transaction
  ) throws {
    let traits = store.traits
    try Self.check(intent, store)
    guard try ledger.knows(key, reading: transaction) else {
      throw OrderRefusal(
        .refused, "there is no record of \(key): coffer subscription read asks its store")
    }
    // An order with another amount, or other days, would be carried out in addition to it.
    if let other = try OrderRows.open(intent.kind, about: key, reading: transaction) {
      let answer = other.answer.map { ": \($0)" } ?? ""
      let doubt =
        other.state == .doubted
        ? "; whether it was done is unknown until \(key) is read: coffer subscription read" : ""
      throw OrderRefusal(
        .refused, "\(other.name) of \(other.asked) is under way\(answer)\(doubt)")
    }
    let found = try ledger.reading(transaction).subscription(key)
    let (record, owner) = (found.record, found.ownership.account)
    switch intent {
    case .stopRenewal, .end:
      let isUnpaid = [.pending, .onHold, .paused].contains(
        record.labelWithoutAccess(hadAccess: true))
      let endsNow = intent.kind == .end || isUnpaid && traits.endsUnpaidAtOnce
      let end = traits.refundsAtEnd ? "now, and the last payment goes back" : "now"
      func members(renews: Bool, ends: String) -> JSONValue {
        .object([.init("renews", .bool(renews))] + (endsNow ? [.init("ends", .string(ends))] : []))
      }
      self.init(
        subscription: key, account: owner,
        before: members(renews: record.willRenew, ends: "when its store reports it"),
        after: members(renews: false, ends: end), kind: intent.kind)
    case .refund(let id, let amount):
      let (refund, part) = try Self.refund(of: id, amount, record.bill)
      try Self.checkShown(
        .refund, key, payment: refund.payment, record, at: now, in: transaction)
      let (before, after) = refund.change(by: part, at: traits.title)
      self.init(
        subscription: key, account: owner, before: before, after: after, kind: .refund,
        payment: refund.payment, amount: part, knownRefundCount: Int64(refund.count))
    case .extend(let days, let cause):
      try Self.checkShown(.extend, key, record, at: now, in: transaction)
      let end = record.end
      func text(_ end: Instant?) -> JSONValue { end.map { .string($0.description) } ?? "unknown" }
      self.init(
        subscription: key, account: owner, before: ["ends": text(end)],
        after: [
          "ends": text(end.map { $0 + .days(days) }), "days": .integer(days),
          "because": .string(cause.rawValue),
        ], kind: .extend, days: days, cause: cause, knownEnd: end)
    }
  }

  /// Places the order. `entry` is its entry in the audit log.
  package func place(as entry: AuditEntry, in transaction: Transaction) throws {
    try OrderRows.insert(self, number: entry.name.number, at: entry.at, in: transaction)
    try Jobs.request(
      Order.job, String(entry.name.number), due: entry.at, in: transaction)
  }

  /// Refuses an order while the result of the last one is not known yet: it would be carried out twice.
  private static func checkShown(
    _ kind: StoreOrder.Kind, _ key: ObjectKey, payment: String? = nil, _ record: any StoreRecord,
    at now: Instant, in transaction: Transaction
  ) throws {
    guard
      let last = try OrderRows.done(kind, about: key, payment: payment, reading: transaction),
      now - last.asked <= Order.askingSpan, !last.isShown(by: record)
    else { return }
    throw OrderRefusal(
      .refused,
      "\(last.name) of \(last.asked) was done, and what is known of \(key) "
        + "does not show it yet: coffer subscription read")
  }

  private static func check(_ intent: OrderIntent, _ store: any Store) throws(OrderRefusal) {
    let traits = store.traits
    guard traits.orders.contains(intent.kind) else {
      throw OrderRefusal(
        .refused, "\(traits.title) does not let developers do this: \(traits.orderAdvice)")
    }
    if case .refund(_, .some) = intent, traits.refundsWholeOnly {
      throw OrderRefusal(.invalid, "\(traits.title) gives a payment back as a whole: no --amount")
    }
    if case .extend(let days, _) = intent, !(1...traits.extensionDaysMax ~= days) {
      throw OrderRefusal(
        .invalid, "\(traits.title) gives from 1 to \(traits.extensionDaysMax) days at once")
    }
    guard store.isReadable else {
      throw OrderRefusal(
        .unconfigured, "\(traits.title) cannot be asked: no key of its API is configured")
    }
  }

  private static func refund(
    of id: String?, _ amount: String?, _ bill: Bill
  ) throws(OrderRefusal) -> (PaymentRefund, part: Money?) {
    let paid = bill.payments.filter { $0.state == .paid }
    // A payment of nothing, such as a trial's, is never the one to refund.
    let last = paid.first { $0.amount.flatMap { MoneySum($0) }.map { !$0.isZero } ?? true }
    guard let payment = id == nil ? last : paid.first(where: { $0.object.id == id }) else {
      throw OrderRefusal(
        .refused, id.map { "no payment \($0) of it is known" } ?? "no payment of it is known")
    }
    guard let refund = PaymentRefund(of: payment, bill) else {
      throw OrderRefusal(.refused, "the amount of \(payment.object.id) is unknown")
    }
    let part = amount.map { Money(amount: $0, currency: refund.paid.currency) }
    let digits = MinorUnits.exponent(of: refund.paid.currency.lowercased())
    if let part, part.count(exponent: digits) == nil {
      throw OrderRefusal(
        .invalid,
        "\(part.amount) has more digits behind the point than \(part.currency) has: \(digits)")
    }
    if let refusal = refund.refusal(of: part) { throw OrderRefusal(.refused, refusal) }
    return (refund, part)
  }
}
