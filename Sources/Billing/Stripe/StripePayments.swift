package import Base
package import JSON
import Subscriptions

/// A payment towards an invoice. Since basil (2025-03-31) it is the only tie between a refund and its invoice.
package struct StripeInvoicePayment: Mirrored {
  package let invoice: String
  /// The payment intent, or the charge if there is none.
  package let payment: String?
  package let status: Status

  package init(invoice: String, payment: String?, status: Status) {
    self.invoice = invoice
    self.payment = payment
    self.status = status
  }

  package enum Status: String, Sendable, CaseIterable { case open, paid, canceled }

  package var rank: Int { status == .open ? 0 : 1 }
}

/// A charge. Before basil it tied a payment to its invoice. It says how much of the payment was refunded.
package struct StripeCharge: Mirrored {
  package let paymentIntent: String?
  package let invoice: String?
  /// The total of all refunds, in minor units.
  package let amountRefunded: Int64
  /// ISO 4217 in lower case; unknown if it was stored before this member was read.
  package let currency: String?

  package init(
    paymentIntent: String?, invoice: String?, amountRefunded: Int64, currency: String? = nil
  ) {
    self.paymentIntent = paymentIntent
    self.invoice = invoice
    self.amountRefunded = amountRefunded
    self.currency = currency
  }
}

/// Money that goes back to the customer, or may: by a refund, or because the customer's bank disputes the payment.
package struct StripeReversal<State: StripeReversalStatus>: Mirrored {
  package typealias Status = State

  package let paymentIntent: String?
  package let charge: String?
  package let amountMinorUnits: Int64
  /// ISO 4217 in lower case; nil if Stripe did not give it.
  package let currency: String?
  package let created: Instant
  package let status: State

  package init(
    paymentIntent: String?, charge: String?, amountMinorUnits: Int64, currency: String? = nil,
    created: Instant, status: State
  ) {
    self.paymentIntent = paymentIntent
    self.charge = charge
    self.amountMinorUnits = amountMinorUnits
    self.currency = currency
    self.created = created
    self.status = status
  }

  package var rank: Int { status.rank }
}

/// The progress of a reversal.
package protocol StripeReversalStatus: Hashable, Sendable {
  /// Stripe's name for it.
  var text: String { get }
  /// As `Mirrored.rank`.
  var rank: Int { get }

  /// Reads Stripe's name.
  ///
  /// - Throws: If it cannot be a status.
  init(_ json: JSON) throws(JSONError)
}

package typealias StripeRefund = StripeReversal<StripeRefundStatus>
package typealias StripeDispute = StripeReversal<StripeDisputeStatus>

package enum StripeRefundStatus: String, StripeReversalStatus, CaseIterable {
  case pending
  case requiresAction = "requires_action"
  case succeeded, failed, canceled

  package var text: String { rawValue }

  package init(_ json: JSON) throws(JSONError) { self = try json.requireCase() }

  package var rank: Int {
    switch self {
    case .pending, .requiresAction: 0
    case .succeeded: 1
    case .failed, .canceled: 2
    }
  }
}

/// https://docs.stripe.com/api/disputes/object#dispute_object-status
package enum StripeDisputeStatus: StripeReversalStatus {
  /// An enquiry that waits for an answer: no money moved.
  case warningNeedsResponse
  case warningUnderReview
  /// An enquiry that ended without a dispute.
  case warningClosed
  /// The money is withheld until the dispute is decided.
  case needsResponse
  case underReview
  case won, lost
  /// A decision is contested again. Counts as lost until that is decided.
  case appealNeedsResponse
  case appealUnderReview
  /// Settled before it became a dispute.
  case prevented
  /// A status that this decoder does not know: treated as an open dispute.
  case other(String)

  package var text: String {
    switch self {
    case .warningNeedsResponse: "warning_needs_response"
    case .warningUnderReview: "warning_under_review"
    case .warningClosed: "warning_closed"
    case .needsResponse: "needs_response"
    case .underReview: "under_review"
    case .won: "won"
    case .lost: "lost"
    case .appealNeedsResponse: "appeal_needs_response"
    case .appealUnderReview: "appeal_under_review"
    case .prevented: "prevented"
    case .other(let text): text
    }
  }

  package init(_ text: String) { self = Self.known[text] ?? .other(text) }

  package init(_ json: JSON) throws(JSONError) { self.init(try json.requireString()) }

  private static let known: [String: StripeDisputeStatus] = Dictionary(
    uniqueKeysWithValues: [
      .warningNeedsResponse, .warningUnderReview, .warningClosed, .needsResponse, .underReview,
      .won, .lost, .appealNeedsResponse, .appealUnderReview, .prevented,
    ].map { ($0.text, $0) })

  /// An appeal may follow a decision and a decision an appeal, so only time orders them.
  package var rank: Int {
    switch self {
    case .warningNeedsResponse, .warningUnderReview, .needsResponse, .underReview, .other: 0
    case .warningClosed, .won, .lost, .appealNeedsResponse, .appealUnderReview, .prevented: 1
    }
  }
}
