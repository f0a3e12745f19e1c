package import Base
package import Tiers

/// The products and money that a store's objects report, for people to read. Nothing that is owed
/// follows from it.
package struct Bill: Hashable, Sendable {
  /// The current items of the subscription.
  package let items: [Item]
  /// The item after the next renewal; nil if it stays the same or is unknown.
  package let next: Item?
  /// Whether the store has a schedule for the subscription, which may change it with any period.
  package let isScheduled: Bool
  /// Requested and received payments, newest first.
  package let payments: [Payment]
  /// Money that was returned, or may be, newest first.
  package let reversals: [Reversal]

  /// The payment that was requested last, if it fails: it can be tried again at once. An older one can not, but may
  /// have been paid since.
  package var retryable: Payment? {
    let newest = payments.max {
      ($0.requested, $0.object.kind.rawValue, $0.object.id)
        < ($1.requested, $1.object.kind.rawValue, $1.object.id)
    }
    return newest.flatMap { $0.state == .failing ? $0 : nil }
  }

  package init(
    items: [Item], next: Item? = nil, isScheduled: Bool = false, payments: [Payment],
    reversals: [Reversal] = []
  ) {
    self.items = items
    self.next = next
    self.isScheduled = isScheduled
    self.payments = payments.sorted { ($0.at, $0.object) > ($1.at, $1.object) }
    self.reversals = reversals.sorted { ($0.at, $0.object) > ($1.at, $1.object) }
  }

  /// A product or price, by the store's own ids, as the catalogue lists them.
  package struct Item: Hashable, Sendable {
    package let product: String?
    package let price: String?
    /// Whether another item replaces it at the renewal.
    package let isLeaving: Bool

    package init(product: String?, price: String?, isLeaving: Bool = false) {
      self.product = product
      self.price = price
      self.isLeaving = isLeaving
    }
  }

  package struct Payment: Hashable, Sendable {
    /// The object that reports the payment.
    package let object: Coverage.Evidence
    package let state: State
    /// The store's own name for the state.
    package let word: String
    /// When it was paid; otherwise, when it was requested.
    package let at: Instant
    /// When it was requested, whether it was paid later or not.
    let requested: Instant
    /// The amount paid; otherwise, the amount requested. Nil if the store does not report it.
    package let amount: Money?
    /// The difference between what was requested and what came, if any; nil if the store does not report it.
    package let irregular: Irregular?
    /// The product that it pays for, if reported.
    package let product: String?
    /// The product's price, by the id that a catalogue may list next to the product's.
    package let price: String?
    package let from: Instant?
    package let to: Instant?

    package enum State: String, Hashable, Sendable {
      case paid
      /// Requested and not paid yet.
      case open
      /// Tried and not paid yet.
      case failing
      /// No longer expected.
      case void
    }

    /// More or less than was requested, or money for a payment that is no longer expected.
    package struct Irregular: Hashable, Sendable {
      package let asked: Money
      package let came: Money

      package init(asked: Money, came: Money) {
        self.asked = asked
        self.came = came
      }
    }

    package init(
      _ object: Coverage.Evidence, _ state: State, word: String, at: Instant,
      requested: Instant? = nil, amount: Money?, irregular: Irregular? = nil, product: String?,
      price: String? = nil, from: Instant? = nil, to: Instant? = nil
    ) {
      self.object = object
      self.state = state
      self.word = word
      self.at = at
      self.requested = requested ?? at
      self.amount = amount
      self.irregular = irregular
      self.product = product
      self.price = price
      self.from = from
      self.to = to
    }
  }

  package struct Reversal: Hashable, Sendable {
    /// The object that reports the reversal.
    package let object: Coverage.Evidence
    package let kind: Kind
    /// The store's own name for its state.
    package let word: String
    package let at: Instant
    /// Nil if the store does not report it.
    package let amount: Money?
    package let state: State
    /// The payment that it reverses; nil if unknown.
    package let payment: Coverage.Evidence?

    package enum Kind: String, Hashable, Sendable {
      case refund, dispute
      /// The store took the purchase back; the money may not have been returned.
      case revocation
      /// Another person who pays for it no longer shares it.
      case unshared

      /// Whether it returns money.
      package var isOfMoney: Bool {
        switch self {
        case .refund, .dispute: true
        case .revocation, .unshared: false
        }
      }
    }

    package enum State: String, Hashable, Sendable {
      /// The money was returned.
      case done
      /// Not decided yet, or on its way.
      case open
      /// It failed or was undone.
      case void
    }

    package init(
      _ object: Coverage.Evidence, _ kind: Kind, _ state: State, word: String, at: Instant,
      amount: Money?, of payment: Coverage.Evidence? = nil
    ) {
      self.object = object
      self.kind = kind
      self.payment = payment
      self.state = state
      self.word = word
      self.at = at
      self.amount = amount
    }
  }
}
