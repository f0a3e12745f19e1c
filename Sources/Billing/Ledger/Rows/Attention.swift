package import Base
package import ProviderAPI
import Subscriptions

/// Something that needs attention.
package struct Attention: Sendable, Equatable {
  package let kind: Kind
  /// Its subject: a subscription, a delivery, a job or a store by its key, or the account.
  package let subject: String
  /// The owner; nil if there is none or it is unknown.
  package let account: Identifier?
  /// A product, a payment or a reason; empty if the kind says everything.
  package let detail: String
  package let since: Instant
  /// When it settles by itself, which may be too late; nil if never.
  package let until: Instant?
  /// For failing reads: who must act on the one that is shown.
  package var cause: APIFailure.Cause?

  package init(
    kind: Kind, subject: String, account: Identifier? = nil, detail: String = "", since: Instant,
    until: Instant? = nil, cause: APIFailure.Cause? = nil
  ) {
    self.kind = kind
    self.subject = subject
    self.account = account
    self.detail = detail
    self.since = since
    self.until = until
    self.cause = cause
  }

  /// Ordered from what is lost soonest to what can wait. The raw values are labels of metrics.
  package enum Kind: String, Sendable, CaseIterable {
    /// A purchase that its store takes back soon, because it was not acknowledged.
    case unacknowledged
    /// A store that does not answer reads.
    case storeUnanswered = "store_unanswered"
    /// A read that failed permanently: nothing more becomes known by itself.
    case deadJob = "dead_job"
    /// An item of coffer-sync's background work that failed several times by itself.
    case failingItem = "failing_item"
    /// A flow of an account that makes no progress at a store: the account may have paid.
    case stuckFlow = "stuck_flow"
    /// An operator's order that a store has not answered for an hour.
    case openOrder = "open_order"
    /// A delivery that its store signed and this program cannot read.
    case undecodableDelivery = "undecodable_delivery"
    /// A payment that the bank disputes, until it is decided.
    case dispute
    /// A store that could not be compared with the ledger for hours.
    case unreconciled
    /// An account that pays for more than one subscription.
    case doublePayment = "double_payment"
    /// A purchase for which something is owed, without an owner.
    case unowned
    /// An account that is paid for and does not exist.
    case unknownAccount = "unknown_account"
    /// A purchase whose store names two owners.
    case contestedOwner = "contested_owner"
    /// A product that no catalogue ever listed: its payer gets nothing, or the fallback.
    case unknownProduct = "unknown_product"
    /// A payment that differs from what was requested.
    case irregularPayment = "irregular_payment"
    /// A payment for a period of a subscription that was over.
    case paidAfterEnd = "paid_after_end"
    /// Returned money that ended no access.
    case reversal
    /// A claim of a purchase that was another account's.
    case refusedClaim = "refused_claim"
    /// A subscription of an erased account that its store still bills.
    case stillBilled = "still_billed"
    /// A product that left the catalogue and on which an account still depends.
    case unmappedProduct = "unmapped_product"
    /// A store's value that this version does not know.
    case unknownStatus = "unknown_status"
    /// A change that a store announced a day ago and its answers still do not show.
    case unconfirmed
    /// Time that no order or invoice paid for.
    case unpaidTime = "unpaid_time"
    /// Two different reports of a store about one moment.
    case contradiction
    /// A delivery with the same id as another and a different meaning.
    case conflictingDelivery = "conflicting_delivery"
    /// An account that holds more than it may store.
    case overCap = "over_cap"
    /// A signature chain whose last block gave way to another device's: its devices add members at the same time.
    case divergingChain = "diverging_chain"
    /// An account whose deletion waits for its export.
    case unexported
    /// A certificate that proves everything of a store and will end.
    case certificate
    /// A webhook's secret that is still accepted, although another one has proved everything for a while.
    case unusedSecret = "unused_secret"
    /// A device's mailbox that had no room for a message.
    case fullMailbox = "full_mailbox"
    /// Keys of devices that have opened no session for a long time, as lost ones do: one item for
    /// all of them.
    case idleKey = "idle_key"

    /// Whether someone loses something unless it is dealt with.
    package var isUrgent: Bool {
      switch self {
      case .unacknowledged, .storeUnanswered, .deadJob, .failingItem, .stuckFlow, .openOrder,
        .undecodableDelivery, .dispute, .doublePayment, .unowned, .unknownAccount, .contestedOwner,
        .unknownProduct, .irregularPayment, .paidAfterEnd, .certificate, .unreconciled,
        .unconfirmed:
        true
      case .reversal, .refusedClaim, .stillBilled, .unmappedProduct, .unknownStatus, .unpaidTime,
        .contradiction, .conflictingDelivery, .overCap, .divergingChain, .unexported,
        .unusedSecret, .fullMailbox, .idleKey:
        false
      }
    }

    /// The kinds that a subscription's derivation finds.
    package static let derived: [Kind] = [
      .unacknowledged, .dispute, .unowned, .contestedOwner, .unknownProduct, .irregularPayment,
      .paidAfterEnd, .reversal, .stillBilled, .unmappedProduct, .unknownStatus, .unpaidTime,
      .contradiction,
    ]
  }
}
