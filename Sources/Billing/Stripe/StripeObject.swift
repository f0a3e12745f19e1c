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
  /// When cancelling was requested; no proof of an end.
  package let canceledAt: Instant?
  /// When it ended; this is the proof of an end.
  package let endedAt: Instant?
  package let endedByFailedPayment: Bool
  package let trialStart: Instant?
  package let trialEnd: Instant?
  package let collectionIsPaused: Bool
  /// When collection resumes, if it is paused until then.
  package let collectionResumes: Instant?
  /// Why and since when its status is `paused`, as reported since 2026-09-30.
  package let pause: Pause?
  /// When it began; unknown if it was stored before this member was read.
  package let began: Instant?
  /// The invoice that it names as its newest.
  package let latestInvoice: String?
  /// The schedule that changes it with its next period, for example to something smaller.
  package let schedule: String?
  /// The account in our own metadata.
  package let account: Identifier?

  package init(
    customer: String?, status: Status, items: [Item], cancelAtPeriodEnd: Bool = false,
    cancelAt: Instant? = nil, canceledAt: Instant? = nil, endedAt: Instant? = nil,
    endedByFailedPayment: Bool = false, trialStart: Instant? = nil, trialEnd: Instant? = nil,
    collectionIsPaused: Bool = false, collectionResumes: Instant? = nil, pause: Pause? = nil,
    began: Instant? = nil, latestInvoice: String? = nil, schedule: String? = nil,
    account: Identifier? = nil
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
    /// The 23 hours passed. Terminal.
    case incompleteExpired
    case trialing
    case active
    /// The latest invoice failed and is being retried.
    case pastDue
    /// Retries are exhausted, and the subscription continues without service.
    case unpaid
    /// Terminal.
    case canceled
    /// A trial ended without a payment method, or the subscription was paused on request.
    case paused
    /// A status that this decoder does not know: gives no new access, raises an alarm.
    case other(String)

    /// Stripe's name for it.
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
    /// Unknown if it was stored before this member was read.
    package let id: String?
    package let price: String?
    package let product: String?
    /// The quantity that is billed.
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
      /// By the seller or, in the portal, the customer. Unused time is credited.
      case requested
      /// By the account's setting for renewals whose first or final attempt fails.
      case firstPaymentFailure
      case finalPaymentFailure
      case trialEnd
      /// A reason that this decoder does not know: treated as the end of a trial, with an alarm.
      case other(String)

      /// Stripe's name for it.
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

  /// Whether its latest invoice determines what is owed now, and a next one is to come.
  package var isInForce: Bool {
    switch status {
    case .trialing, .active, .pastDue: true
    case .incomplete, .incompleteExpired, .unpaid, .canceled, .paused, .other: false
    }
  }

  package var isEnded: Bool { status == .canceled || status == .incompleteExpired }
}

/// An invoice as of some moment.
package struct StripeInvoice: Mirrored {
  package let subscription: String?
  package let status: Status
  /// Whether it bills a regular period, not a change or the first purchase.
  package let isCycle: Bool
  /// Whether payment was attempted at least once.
  package let isAttempted: Bool
  package let created: Instant
  package let paidAt: Instant?
  /// In minor units; zero if nothing was due, so that nothing can be refunded.
  ///
  /// It includes payments outside Stripe, because no refund of a charge returns those.
  package let amountPaid: Int64
  /// The amount that it asks for; only relevant if it differs from what was paid.
  package let amountDue: Int64
  /// ISO 4217 in lower case; unknown if it was stored before this member was read.
  package let currency: String?
  /// The due date of an invoice that was sent to the customer; nil if a card is charged.
  package let dueAt: Instant?
  /// Why it was written off, as reported since 2026-09-30: `user_forgiven`, `max_payment_attempts`, ….
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
    /// The subscription's item; not named by prorations since basil (2025-03-31).
    package let item: String?
    package let price: String?
    package let product: String?
    package let amountMinorUnits: Int64
    /// Whether it credits unused time: what it bills ends where its period starts.
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

/// A checkout session, which ties a subscription to the account that we opened the session for.
package struct StripeCheckoutSession: Mirrored {
  package let subscription: String?
  package let isOpen: Bool
  /// The account in our own metadata; `client_reference_id` proves nothing.
  package let account: Identifier?

  package init(subscription: String?, isOpen: Bool, account: Identifier?) {
    self.subscription = subscription
    self.isOpen = isOpen
    self.account = account
  }

  package var rank: Int { isOpen ? 0 : 1 }
}

/// A deleted customer, whose subscriptions have all ended. An existing customer says nothing.
package struct StripeCustomer: Mirrored {
  package init() {}
}
