package import Base

/// A Stripe object, reduced to what coverage needs: no personal data, one shape for every version.
package enum StripeObject: Hashable, Sendable {
  case subscription(StripeSubscription)
  case invoice(StripeInvoice)
  case invoicePayment(StripeInvoicePayment)
  case charge(StripeCharge)
  case refund(StripeRefund)
  case dispute(StripeDispute)
  case checkoutSession(StripeCheckoutSession)
  case customer(StripeCustomer)

  package var kind: ObjectKey.Kind {
    switch self {
    case .subscription: .subscription
    case .invoice: .invoice
    case .invoicePayment: .invoicePayment
    case .charge: .charge
    case .refund: .refund
    case .dispute: .dispute
    case .checkoutSession: .checkoutSession
    case .customer: .customer
    }
  }

  package var rank: Int {
    switch self {
    case .subscription(let content): content.rank
    case .invoice(let content): content.rank
    case .invoicePayment(let content): content.rank
    case .charge(let content): content.rank
    case .refund(let content): content.rank
    case .dispute(let content): content.rank
    case .checkoutSession(let content): content.rank
    case .customer(let content): content.rank
    }
  }
}

/// A subscription as of some moment.
package struct StripeSubscription: Mirrored {
  package let customer: String?
  package let status: Status
  package let items: [Item]
  package let cancelAtPeriodEnd: Bool
  package let cancelAt: Instant?
  /// When cancelling was asked for; no proof of an end.
  package let canceledAt: Instant?
  /// When it ended; the proof of it.
  package let endedAt: Instant?
  package let endedByFailedPayment: Bool
  package let trialStart: Instant?
  package let trialEnd: Instant?
  package let collectionIsPaused: Bool
  /// The account that our own metadata names.
  package let account: Identifier?

  package init(
    customer: String?, status: Status, items: [Item], cancelAtPeriodEnd: Bool = false,
    cancelAt: Instant? = nil, canceledAt: Instant? = nil, endedAt: Instant? = nil,
    endedByFailedPayment: Bool = false, trialStart: Instant? = nil, trialEnd: Instant? = nil,
    collectionIsPaused: Bool = false, account: Identifier? = nil
  ) {
    self.customer = customer
    self.status = status
    self.items = items
    self.cancelAtPeriodEnd = cancelAtPeriodEnd
    self.cancelAt = cancelAt
    self.canceledAt = canceledAt
    self.endedAt = endedAt
    self.endedByFailedPayment = endedByFailedPayment
    self.trialStart = trialStart
    self.trialEnd = trialEnd
    self.collectionIsPaused = collectionIsPaused
    self.account = account
  }

  /// https://docs.stripe.com/api/subscriptions/object#subscription_object-status
  package enum Status: Hashable, Sendable {
    /// The first invoice is unpaid, for at most 23 hours.
    case incomplete
    /// Those hours passed. Terminal.
    case incompleteExpired
    case trialing
    case active
    /// The latest invoice failed and is being retried.
    case pastDue
    /// Retries are exhausted and the subscription lives on without service.
    case unpaid
    /// Terminal.
    case canceled
    /// A trial ended without a payment method, or somebody paused it.
    case paused
    /// A status this decoder does not know: gives no new access, raises an alarm.
    case other(String)

    /// Stripe's word for it.
    package var text: String {
      switch self {
      case .incomplete: "incomplete"
      case .incompleteExpired: "incomplete_expired"
      case .trialing: "trialing"
      case .active: "active"
      case .pastDue: "past_due"
      case .unpaid: "unpaid"
      case .canceled: "canceled"
      case .paused: "paused"
      case .other(let text): text
      }
    }

    package init(_ text: String) {
      self = Self.known[text] ?? .other(text)
    }

    private static let known: [String: Status] = Dictionary(
      uniqueKeysWithValues: [
        .incomplete, .incompleteExpired, .trialing, .active, .pastDue, .unpaid, .canceled, .paused,
      ].map { ($0.text, $0) })
  }

  package struct Item: Hashable, Sendable {
    package let price: String?
    package let product: String?

    package init(price: String?, product: String?) {
      self.price = price
      self.product = product
    }
  }

  package var rank: Int {
    switch status {
    case .incomplete: 0
    case .trialing, .active, .pastDue, .unpaid, .paused, .other: 1
    case .canceled, .incompleteExpired: 2
    }
  }

  package var isEnded: Bool {
    switch status {
    case .canceled, .incompleteExpired: true
    case .incomplete, .trialing, .active, .pastDue, .unpaid, .paused, .other: false
    }
  }
}

/// An invoice as of some moment.
package struct StripeInvoice: Mirrored {
  package let subscription: String?
  package let status: Status
  /// Bills a regular period, not a change or the first purchase.
  package let isCycle: Bool
  /// Payment was tried at least once.
  package let isAttempted: Bool
  package let created: Instant
  package let paidAt: Instant?
  /// In minor units; zero where nothing was due, so that nothing can be refunded.
  package let amountPaid: Int64
  /// The payment intent and the charge that it names, as it did before basil (2025-03-31).
  package let payments: [String]
  package let lines: [Line]

  package init(
    subscription: String?, status: Status, isCycle: Bool, isAttempted: Bool, created: Instant,
    paidAt: Instant? = nil, amountPaid: Int64 = 0, payments: [String] = [], lines: [Line]
  ) {
    self.subscription = subscription
    self.status = status
    self.isCycle = isCycle
    self.isAttempted = isAttempted
    self.created = created
    self.paidAt = paidAt
    self.amountPaid = amountPaid
    self.payments = payments
    self.lines = lines
  }

  package enum Status: String, Sendable, CaseIterable {
    case draft, open, uncollectible, paid, void
  }

  /// One billed item; its period is the service it pays for.
  package struct Line: Hashable, Sendable {
    package let price: String?
    package let product: String?
    package let amountMinorUnits: Int64
    package let from: Instant
    package let to: Instant

    package init(
      price: String?, product: String?, amountMinorUnits: Int64, from: Instant, to: Instant
    ) {
      self.price = price
      self.product = product
      self.amountMinorUnits = amountMinorUnits
      self.from = from
      self.to = to
    }
  }

  package var rank: Int {
    switch status {
    case .draft: 0
    case .open: 1
    case .uncollectible: 2
    case .paid, .void: 3
    }
  }
}

/// A checkout session: what ties a subscription to the account we opened the session for.
package struct StripeCheckoutSession: Mirrored {
  package let subscription: String?
  package let isOpen: Bool
  /// The account that our own metadata names; `client_reference_id` proves nothing.
  package let account: Identifier?

  package init(subscription: String?, isOpen: Bool, account: Identifier?) {
    self.subscription = subscription
    self.isOpen = isOpen
    self.account = account
  }

  package var rank: Int { isOpen ? 0 : 1 }
}

/// A deleted customer: every subscription of theirs ended then. A present one says nothing.
package struct StripeCustomer: Mirrored {
  package let deletedAt: Instant

  package init(deletedAt: Instant) { self.deletedAt = deletedAt }

  package var rank: Int { 1 }
}
