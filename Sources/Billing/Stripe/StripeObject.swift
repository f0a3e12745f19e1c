package import Base
package import Subscriptions

/// A Stripe object, reduced to what coverage needs: no personal data, one shape for every version.
package enum StripeObject: StoreObject {
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
  /// When payments are asked for again, of one whose collection is paused until then.
  package let collectionResumes: Instant?
  /// Why and since when its status is `paused`, as told since 2026-09-30.
  package let pause: Pause?
  /// When it began; unknown of what was stored before this was read.
  package let began: Instant?
  /// The invoice that it says is its newest.
  package let latestInvoice: String?
  /// What changes it with its next period, to something smaller for one.
  package let schedule: String?
  /// The account that our own metadata names.
  package let account: Identifier?

  package init(
    customer: String?, status: Status, items: [Item], cancelAtPeriodEnd: Bool = false,
    cancelAt: Instant? = nil, canceledAt: Instant? = nil, endedAt: Instant? = nil,
    endedByFailedPayment: Bool = false, trialStart: Instant? = nil, trialEnd: Instant? = nil,
    collectionIsPaused: Bool = false, collectionResumes: Instant? = nil, pause: Pause? = nil,
    began: Instant? = nil,
    latestInvoice: String? = nil, schedule: String? = nil, account: Identifier? = nil
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
    self.collectionResumes = collectionResumes
    self.pause = pause
    self.began = began
    self.latestInvoice = latestInvoice
    self.schedule = schedule
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
    /// Unknown of what was stored before it was read.
    package let id: String?
    package let price: String?
    package let product: String?
    /// How many times it is billed.
    package let quantity: Int64

    package init(id: String? = nil, price: String?, product: String?, quantity: Int64 = 1) {
      self.id = id
      self.price = price
      self.product = product
      self.quantity = quantity
    }
  }

  /// https://docs.stripe.com/billing/subscriptions/pause
  package struct Pause: Hashable, Sendable {
    package let reason: Reason
    package let at: Instant?

    package init(_ reason: Reason, at: Instant?) {
      self.reason = reason
      self.at = at
    }

    package enum Reason: Hashable, Sendable {
      /// By the seller or, in the portal, the customer; unused time is credited.
      case requested
      /// By the account's setting for renewals whose first attempt, or whose last, fails.
      case firstPaymentFailure
      case finalPaymentFailure
      case trialEnd
      /// A reason this decoder does not know: as the end of a trial, with an alarm.
      case other(String)

      /// Stripe's word for it.
      package var text: String {
        switch self {
        case .requested: "pause_requested"
        case .firstPaymentFailure: "first_payment_failure"
        case .finalPaymentFailure: "final_payment_failure"
        case .trialEnd: "trial_end_without_payment_method"
        case .other(let text): text
        }
      }

      package init(_ text: String) {
        switch text {
        case "pause_requested": self = .requested
        case "first_payment_failure": self = .firstPaymentFailure
        case "final_payment_failure": self = .finalPaymentFailure
        case "trial_end_without_payment_method": self = .trialEnd
        default: self = .other(text)
        }
      }
    }
  }

  package var rank: Int {
    switch status {
    case .incomplete: 0
    case .trialing, .active, .pastDue, .unpaid, .paused, .other: 1
    case .canceled, .incompleteExpired: 2
    }
  }

  /// Whether its last invoice says what is owed now.
  package var isInForce: Bool {
    switch status {
    case .trialing, .active, .pastDue: true
    case .incomplete, .incompleteExpired, .unpaid, .canceled, .paused, .other: false
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
  ///
  /// What was paid outside Stripe counts on top, as no refund of a charge gives it back.
  package let amountPaid: Int64
  /// What it asks for; told apart only where that is not what was paid.
  package let amountDue: Int64
  /// ISO 4217 in lower case; unknown of what was stored before it was read.
  package let currency: String?
  /// Until when the customer may pay an invoice that was sent to them; nil where a card is charged.
  package let dueAt: Instant?
  /// Why it was written off, as told since 2026-09-30: `user_forgiven`, `max_payment_attempts`, ….
  package let uncollectibleReason: String?
  /// The payment intent and the charge that it names, as it did before basil (2025-03-31).
  package let payments: [String]
  package let lines: [Line]

  package init(
    subscription: String?, status: Status, isCycle: Bool, isAttempted: Bool, created: Instant,
    paidAt: Instant? = nil, amountPaid: Int64 = 0, amountDue: Int64? = nil,
    currency: String? = nil, dueAt: Instant? = nil, uncollectibleReason: String? = nil,
    payments: [String] = [], lines: [Line]
  ) {
    self.subscription = subscription
    self.status = status
    self.isCycle = isCycle
    self.isAttempted = isAttempted
    self.created = created
    self.paidAt = paidAt
    self.amountPaid = amountPaid
    self.amountDue = amountDue ?? amountPaid
    self.currency = currency
    self.dueAt = dueAt
    self.uncollectibleReason = uncollectibleReason
    self.payments = payments
    self.lines = lines
  }

  package enum Status: String, Sendable, CaseIterable {
    case draft, open, uncollectible, paid, void
  }

  /// One billed item; its period is the service it pays for.
  package struct Line: Hashable, Sendable {
    /// The subscription's item; since basil (2025-03-31) no proration names it.
    package let item: String?
    package let price: String?
    package let product: String?
    package let amountMinorUnits: Int64
    /// Gives unused time back: what it bills ends where its period starts.
    package let isCredit: Bool
    package let from: Instant
    package let to: Instant

    package init(
      item: String? = nil, price: String?, product: String?, amountMinorUnits: Int64,
      isCredit: Bool? = nil, from: Instant, to: Instant
    ) {
      self.item = item
      self.price = price
      self.product = product
      self.amountMinorUnits = amountMinorUnits
      self.isCredit = isCredit ?? (amountMinorUnits < 0)
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

/// A deleted customer: every subscription of theirs has ended. A present one says nothing.
package struct StripeCustomer: Mirrored {
  package init() {}

  package var rank: Int { 1 }
}
