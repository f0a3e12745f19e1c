package import Base
package import ProviderAPI
internal import Subscriptions

/// Something that needs attention.
package struct Attention: Sendable, Equatable {
  package let kind: Kind
  /// What it is about: a subscription, a delivery, a job or a store by its key, or the account.
  package let subject: String
  /// Whose it is; nil where that is nobody, or not known.
  package let account: Identifier?
  /// What about it: a product, a payment, a reason; empty where the kind says it all.
  package let detail: String
  package let since: Instant
  /// When it settles by itself, which may be too late; nil: never.
  package let until: Instant?
  /// Of reads that fail: who has to do something about the one that is told of.
  package var cause: APIFailure.Cause?

  package init(
    kind: Kind, subject: String, account: Identifier?, detail: String, since: Instant,
    until: Instant?, cause: APIFailure.Cause? = nil
  ) {
    self.kind = kind
    self.subject = subject
    self.account = account
    self.detail = detail
    self.since = since
    self.until = until
    self.cause = cause
  }

  /// From what is lost soonest to what can wait; the raw values are labels of metrics.
  package enum Kind: String, Sendable, CaseIterable {
    /// A purchase that its store takes back soon, because nobody told it of the delivery.
    case unacknowledged
    /// A store that does not answer reads.
    case storeUnanswered = "store_unanswered"
    /// A read that was given up: nothing more will be known by itself.
    case deadJob = "dead_job"
    /// An item of coffer-sync's background work that failed several times by itself.
    case failingItem = "failing_item"
    /// What an account asked a store for and that does not go on: it may have paid.
    case stuckFlow = "stuck_flow"
    /// What an operator ordered of a store that has not answered for an hour.
    case openOrder = "open_order"
    /// A delivery that its store signed and nobody here can read.
    case undecodableDelivery = "undecodable_delivery"
    /// A payment that the bank disputes, until it is decided.
    case dispute
    /// A store that could not be compared with for hours.
    case unreconciled
    /// An account that pays for more than one subscription.
    case doublePayment = "double_payment"
    /// A purchase that owes something to nobody.
    case unowned
    /// An account that something is paid for and that does not exist.
    case unknownAccount = "unknown_account"
    /// A purchase whose store names two owners.
    case contestedOwner = "contested_owner"
    /// A product that no catalogue ever listed: who pays for it gets nothing, or the fallback.
    case unknownProduct = "unknown_product"
    /// Money that came otherwise than it was asked for.
    case irregularPayment = "irregular_payment"
    /// Money for a period of a subscription that was over.
    case paidAfterEnd = "paid_after_end"
    /// Money that went back and took nothing with it.
    case reversal
    /// A claim of a purchase that was somebody else's.
    case refusedClaim = "refused_claim"
    /// A subscription of an account that was erased, and that its store goes on billing.
    case stillBilled = "still_billed"
    /// A product that left the catalogue and that somebody lives on.
    case unmappedProduct = "unmapped_product"
    /// A word of a store's that this version does not know.
    case unknownStatus = "unknown_status"
    /// What a store announced a day ago and its answers still do not show.
    case unconfirmed
    /// Time that no order or invoice paid for.
    case unpaidTime = "unpaid_time"
    /// What a store says of one moment in two ways.
    case contradiction
    /// Another delivery had the same id and meant something else.
    case conflictingDelivery = "conflicting_delivery"
    /// An account that holds more than it may store.
    case overCap = "over_cap"
    /// An account whose end waits for its export.
    case unexported
    /// A certificate that everything of a store's is proven by, and that ends.
    case certificate
    /// A webhook's secret that is still taken, though another one has proved all for a while.
    case unusedSecret = "unused_secret"
    /// Keys of devices that opened no session for long, as lost ones do: one for all of them.
    case idleKey = "idle_key"

    /// Whether somebody loses something unless it is dealt with.
    package var isUrgent: Bool {
      switch self {
      case .unacknowledged, .storeUnanswered, .deadJob, .failingItem, .stuckFlow, .openOrder,
        .undecodableDelivery, .dispute, .doublePayment, .unowned, .unknownAccount, .contestedOwner,
        .unknownProduct, .irregularPayment, .paidAfterEnd, .certificate, .unreconciled,
        .unconfirmed:
        true
      case .reversal, .refusedClaim, .stillBilled, .unmappedProduct, .unknownStatus, .unpaidTime,
        .contradiction, .conflictingDelivery, .overCap, .unexported, .unusedSecret, .idleKey:
        false
      }
    }

    /// Those that a subscription's derivation finds.
    package static let derived: [Kind] = [
      .unacknowledged, .dispute, .unowned, .contestedOwner, .unknownProduct, .irregularPayment,
      .paidAfterEnd, .reversal, .stillBilled, .unmappedProduct, .unknownStatus, .unpaidTime,
      .contradiction,
    ]
  }
}
