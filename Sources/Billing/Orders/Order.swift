package import Audit
package import Base
import Storage
package import Stores
package import Subscriptions

/// An operator's order to a store about one subscription. `OrderRunner` carries it out once.
package struct Order: Sendable {
  /// The number of the entry in the audit log of billing that asked for it. It names the order everywhere.
  package let number: Int64
  package let subscription: ObjectKey
  /// The request to the store, the same each time.
  package let request: StoreOrder
  /// For a refund: the number of refunds of the payment that were known.
  let knownRefundCount: Int64
  package let state: State
  package let asked: Instant
  /// When the store was last asked; nil before the first time.
  let tried: Instant?
  /// The read that decides about a doubted order; nil until it is requested.
  let readNumber: Int64?
  /// The store's last answer, or what was read instead; nil before the first answer.
  package let answer: String?
  /// The entry that records the result; nil while the order is open.
  package let closing: AuditEntry.Name?

  package enum State: String, Sendable {
    /// The store is asked until it answers.
    case open
    /// The store may have done it, but its answer was lost. It is not asked again; the next read decides.
    case doubted
    case done, failed

    package var isClosed: Bool { self == .done || self == .failed }
  }

  /// The time in which the store is asked. An order must not be carried out when no one remembers it. Stripe
  /// recognizes a repeated order for only a day. https://docs.stripe.com/api/idempotent_requests
  package static let askingSpan = Instant.Span.hours(23)
  /// No store takes longer to do what it was asked to do.
  static let doingSpan = Instant.Span.minutes(1)

  /// The order's name for people.
  package var name: AuditEntry.Name { AuditEntry.Name(.billing, number) }

  package static let job = "order"
  /// Why the order's job fails while coffer-billing has no key of the store's API.
  package static let withoutKey = "no key of its store's API is configured"
  /// The name of the order's job.
  var object: String { String(number) }

  /// Whether the subscription, as it is known, shows that the order was done.
  func isShown(by record: any StoreRecord) -> Bool {
    switch request {
    case .stopRenewal, .end: return !record.willRenew
    case .extend(_, _, let knownEnd): return record.end != knownEnd
    case .refund(let id, _, _):
      guard let payment = record.bill.payments.first(where: { $0.object.id == id }) else {
        return false
      }
      return PaymentRefund.count(of: payment, record.bill) > knownRefundCount
    }
  }
}
