package import Base

/// The settings of the fake account and its webhook endpoint.
package struct StripeSettings: Sendable {
  package var version: StripeVersion
  package var isLive = true
  /// Distinguishes the ids of one fake from those of another.
  package var seed = "stripe"
  /// The times from one attempt of a failed renewal to the next.
  package var retrySpans = [Instant.Span.days(3), .days(5), .days(7)]
  package var afterRetries = AfterRetries.cancel
  package var events = Events.usual

  package init(_ version: StripeVersion = .dahlia) { self.version = version }

  /// The state of a subscription when no retry is left: an account setting at Stripe.
  package enum AfterRetries: Sendable { case cancel, markUnpaid, leavePastDue }

  /// The event types that the endpoint is subscribed to.
  package enum Events: Sendable, Equatable {
    /// All types about access, money or their end.
    case usual
    /// The usual types except these.
    case lacking(Set<String>)
    /// Includes announcements, attempts and the payment's own events.
    case all

    private static let unusual: Set = [
      "charge.failed", "charge.succeeded", "customer.created", "invoice.overdue",
      "invoice.payment_succeeded", "invoice.upcoming", "invoice.updated",
      "payment_intent.payment_failed", "payment_intent.processing", "payment_intent.succeeded",
    ]

    func contains(_ type: String) -> Bool {
      switch self {
      case .usual: !Self.unusual.contains(type)
      case .lacking(let types): !Self.unusual.contains(type) && !types.contains(type)
      case .all: true
      }
    }
  }

  static let draftSpan = Instant.Span.hours(1)
  static let firstPaymentSpan = Instant.Span.hours(23)
  static let sessionSpan = Instant.Span.hours(24)
  static let announcementSpan = Instant.Span.days(3)
}

/// Whether money can be taken from a customer.
package enum StripeCard: Sendable, Equatable {
  case works, declines
  /// The bank reports insufficient funds.
  case lacksFunds
  /// The bank requires the customer to confirm each payment, and the customer is not present.
  case needsConfirmation
  /// No card on file.
  case missing
  /// A bank debit: the bank answers days later.
  case debits
}

/// The effect of a trial's end without a card (`trial_settings.end_behavior`).
package enum StripeMissingCard: String, Sendable {
  case cancel, pause
  case createInvoice = "create_invoice"
}

/// The treatment of invoices while a subscription's collection is paused.
package enum StripeCollectionPause: String, Sendable, CaseIterable {
  case keepAsDraft = "keep_as_draft"
  case markUncollectible = "mark_uncollectible"
  case void
}

/// Why a subscription is paused (`status_details.paused.subscription.type`).
package enum StripePause: String, Sendable {
  case requested = "pause_requested"
  case firstPaymentFailure = "first_payment_failure"
  case trialEnd = "trial_end_without_payment_method"
}

/// How a change of price is billed.
package enum StripeProration: Sendable {
  /// With the next regular invoice.
  case nextInvoice
  /// At once. If the card declines, the subscription is past due and the price is already new.
  case alwaysInvoice
  /// At once, but the price changes only when it is paid (`pending_if_incomplete`).
  case pendingIfIncomplete
}
