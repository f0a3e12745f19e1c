package import Base
package import Tiers

/// What a store's objects tell of products and money, for people: nothing that is owed follows from it.
package struct Bill: Hashable, Sendable {
  /// What the subscription is for now.
  package let items: [Item]
  /// What it is for once it renews; nil where it stays what it is, or nothing tells.
  package let next: Item?
  /// Whether its store has a schedule for it, which may make it another with any period.
  package let isScheduled: Bool
  /// What was asked for and what came, the newest first.
  package let payments: [Payment]
  /// What went back, or may, the newest first.
  package let reversals: [Reversal]

  package init(
    items: [Item], next: Item? = nil, isScheduled: Bool = false, payments: [Payment],
    reversals: [Reversal] = []
  ) {
    self.items = items
    self.next = next
    self.isScheduled = isScheduled
    self.payments = payments.sorted {
      ($0.at, $0.object.kind.rawValue, $0.object.id)
        > ($1.at, $1.object.kind.rawValue, $1.object.id)
    }
    self.reversals = reversals.sorted {
      ($0.at, $0.object.kind.rawValue, $0.object.id)
        > ($1.at, $1.object.kind.rawValue, $1.object.id)
    }
  }

  /// By the store's own ids, as the catalogue lists them.
  package struct Item: Hashable, Sendable {
    package let product: String?
    package let price: String?
    /// Another one comes in its place when it renews.
    package let isLeaving: Bool

    package init(product: String?, price: String?, isLeaving: Bool = false) {
      self.product = product
      self.price = price
      self.isLeaving = isLeaving
    }
  }

  package struct Payment: Hashable, Sendable {
    /// The object that tells of it.
    package let object: Coverage.Evidence
    package let state: State
    /// The store's own word for that.
    package let word: String
    /// When it was paid; else when it was asked for.
    package let at: Instant
    /// What was paid; else what was asked for. Nil where the store does not tell.
    package let amount: Money?
    /// Where it came otherwise than it was asked for; nil where the store does not tell.
    package let irregular: Irregular?
    /// What it pays for, as far as it says.
    package let product: String?
    /// The price of it, by the id that a catalogue may list beside the product's.
    package let price: String?
    package let from: Instant?
    package let to: Instant?

    package enum State: String, Hashable, Sendable {
      case paid
      /// Asked for, and still awaited.
      case open
      /// Tried, and not paid yet.
      case failing
      /// It will not come.
      case void
    }

    /// More or less than was asked for, or something for what will not come any more.
    package struct Irregular: Hashable, Sendable {
      package let asked: Money
      package let came: Money

      package init(asked: Money, came: Money) {
        self.asked = asked
        self.came = came
      }
    }

    package init(
      _ object: Coverage.Evidence, _ state: State, word: String, at: Instant, amount: Money?,
      irregular: Irregular? = nil, product: String?, price: String? = nil, from: Instant? = nil,
      to: Instant? = nil
    ) {
      self.object = object
      self.state = state
      self.word = word
      self.at = at
      self.amount = amount
      self.irregular = irregular
      self.product = product
      self.price = price
      self.from = from
      self.to = to
    }
  }

  package struct Reversal: Hashable, Sendable {
    /// The object that tells of it.
    package let object: Coverage.Evidence
    package let kind: Kind
    /// The store's own word for its state.
    package let word: String
    package let at: Instant
    /// Nil where the store does not tell.
    package let amount: Money?
    package let state: State
    /// The payment that it is of; nil where nothing tells.
    package let payment: Coverage.Evidence?

    package enum Kind: String, Hashable, Sendable {
      case refund, dispute
      /// The store took the purchase back; the money may have stayed.
      case revocation
      /// Somebody else who pays for it shares it no more.
      case unshared

      /// Whether money goes back with it.
      package var isOfMoney: Bool {
        switch self {
        case .refund, .dispute: true
        case .revocation, .unshared: false
        }
      }
    }

    package enum State: String, Hashable, Sendable {
      /// The money went back.
      case done
      /// Nobody has decided yet, or it is on its way.
      case open
      /// It came to nothing, or was undone.
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
