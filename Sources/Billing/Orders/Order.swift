package import Audit
package import Base
internal import Storage
package import Stores
package import Subscriptions

/// What an operator ordered of a store about one subscription: `OrderRunner` has it done, once.
package struct Order: Sendable {
  /// The number of the entry in the audit log of billing that asked for it, which is its name everywhere.
  package let number: Int64
  package let subscription: ObjectKey
  /// What the store is asked, the same each time.
  package let request: StoreOrder
  /// How many refunds were known of the payment, for a refund.
  let knownRefundCount: Int64
  /// When the subscription ended, as far as was known.
  let knownEnd: Instant?
  package let state: State
  package let asked: Instant
  /// When the store was asked last; nil before the first time.
  let tried: Instant?
  /// The read that tells what became of a doubted one; nil until it is asked for.
  let readNumber: Int64?
  /// What the store said last, or what was read instead; nil before its first answer.
  package let answer: String?
  /// The entry that says what came of it; nil while that is open.
  package let closing: AuditEntry.Name?

  package enum State: String, Sendable {
    /// The store is asked until it answers.
    case open
    /// It may have been done without our hearing of it. The store is asked no more: what is read next tells.
    case doubted
    case done, failed

    package var isClosed: Bool { self == .done || self == .failed }
  }

  /// For so long after it was asked for the store is asked for it: an order must not be done when nobody thinks of
  /// it any more, and Stripe tells the same order from another for a day.
  /// https://docs.stripe.com/api/idempotent_requests
  package static let askingSpan = Instant.Span.hours(23)
  /// No store takes longer to do what it was asked.
  static let doingSpan = Instant.Span.minutes(1)

  /// What people call it.
  package var name: AuditEntry.Name { AuditEntry.Name(.billing, number) }

  package static let job = "order"
  /// The jobs' name of it.
  var object: String { String(number) }

  /// Whether what is known of the subscription shows that it was done.
  func isShown(by record: any StoreRecord) -> Bool {
    switch request {
    case .stopRenewal, .end: return !record.willRenew
    case .extend: return record.end != knownEnd
    case .refund(let id, _, _):
      guard let payment = record.bill.payments.first(where: { $0.object.id == id }) else {
        return false
      }
      return PaymentRefund.count(of: payment, record.bill) > knownRefundCount
    }
  }
}
