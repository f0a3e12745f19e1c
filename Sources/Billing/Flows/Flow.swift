package import Base
import Crypto
package import Subscriptions
package import Tiers

/// An account's intention, stored durably, and its progress.
///
/// Each step calls Stripe under a key made of the flow and the step, and is stored before the next
/// begins. So each thing is done once, even after a crash, a repeat or a timeout.
package struct Flow: Sendable, Equatable {
  package let id: Identifier
  package let account: Identifier
  package let intention: Intention
  package internal(set) var step: Step
  package internal(set) var state: State
  package internal(set) var status: Status
  package internal(set) var problem: FlowProblem?
  /// The client's next action, sealed.
  package internal(set) var sealedAction: [UInt8]?
  /// Grows with each change, so that of two runs of one step the later one writes nothing.
  let revision: Int64
  package let created: Instant
  /// When the current step began.
  package internal(set) var stepSince: Instant
  /// Nil while the flow is open.
  package internal(set) var closed: Instant?

  package enum Status: String, Sendable, CaseIterable {
    case running
    /// The client must do something: confirm a payment with its bank, or visit a page.
    case requiresAction = "requires_action"
    case done, failed
  }

  package enum Step: String, Sendable, CaseIterable {
    /// Makes the account's customer at Stripe.
    case customer
    /// Sets up the payment method for later payments.
    case setup
    /// Waits while the bank asks the customer to confirm that.
    case confirm
    /// Buys, or fails at once.
    case subscribe
    /// Buys what the customer must confirm first.
    case authenticate
    /// Waits while the bank asks the customer about the first payment.
    case awaitPayment = "await_payment"
    /// Opens the page to buy on.
    case open
    /// Waits while the customer visits the page.
    case visit
    case look
    /// Removes a change that is scheduled for the end of the period.
    case release
    case update
    /// Asks for an update that the customer must confirm first.
    case updateLater = "update_later"
    /// Waits while the bank asks the customer about the update's payment.
    case awaitUpdate = "await_update"
    /// Schedules the change for the end of the period: first makes the schedule, then sets its phases.
    case schedule, phases
    case cancel, uncancel
    /// Ends a pause, once the amounts that Stripe asks for are paid.
    case resume
    /// Ends a subscription that has no current period to run to its end.
    case end
    /// Makes the payment method the customer's default, then the subscription's.
    case attach, assign
    case pay
    /// Waits while the bank asks the customer about a payment.
    case awaitInvoice = "await_invoice"
    case portal
    /// Undoes what was begun but not completed.
    case undo
    /// Makes the ledger read the result.
    case record
    /// Stops the renewal at the other store.
    case stopStore = "stop_store"
  }

  /// What the steps found, by name.
  package typealias State = [Key: String]

  package enum Key: String, Sendable, CaseIterable {
    case customer, subscription, item, price, invoice, session, schedule
    case setupIntent = "setup_intent"
    /// The payment method as Stripe stored it for the customer.
    case paymentMethod = "payment_method"
    /// The price before a change.
    case oldPrice = "old_price"
    /// The number of the read after which the ledger knows the result.
    case readNumber = "read_number"
    /// The purchase at another store, and the end of its paid time.
    case purchase
    case paidUntil = "paid_until"
    /// The number of free days, if this is the account's first purchase.
    case trialDays = "trial_days"
    /// Why the flow is undone.
    case reason
    /// Set if the flow also ends a pause.
    case endsPause = "ends_pause"
    /// The invoice that was open before the flow ends a pause.
    case owed
    /// What the subscription bills besides a smaller plan that waits.
    case additions
    /// The same as the ledger had it when the server repeated the change for it.
    case repeatedFor = "repeated_for"
    /// Set if the schedule was released before the plan was changed.
    case released
    /// Set if the subscription's customer also has purchases of another account.
    case shared
    /// The number of failures that Stripe kept under the flow's idempotency keys.
    case failures
  }

  package var isOpen: Bool { closed == nil }

  /// The name of the flow's job.
  package var object: String { id.description }

  /// The idempotency key of a call. A step that calls twice passes different names. After a failure that Stripe
  /// keeps, it is another key.
  func key(_ call: String = "") -> String {
    let text = "\(id)/\(step.rawValue)/\(call)" + (state[.failures].map { "/\($0)" } ?? "")
    return "coffer-" + Hex.encode(Array(SHA256.hash(Array(text.utf8)).prefix(20)))
  }

  /// The value of `additions`: all prices except the plan's.
  static func additions(among prices: [String], to plan: String) -> String {
    prices.filter { $0 != plan }.sorted().joined(separator: ",")
  }

  package func subscriptionKey(in environment: StoreEnvironment) -> ObjectKey? {
    state[.subscription].map {
      ObjectKey(
        provider: .init("stripe"), environment: environment, kind: .subscription, id: $0)
    }
  }
}

extension Flow {
  /// A flow at its first step.
  init(
    _ intention: Intention, of account: Identifier, id: Identifier, state: State, at now: Instant
  ) {
    self.id = id
    self.account = account
    self.intention = intention
    self.state = state
    switch intention.kind {
    case .subscribe, .checkout, .migrate: step = .customer
    case .portal: step = .portal
    case .change, .cancel, .uncancel, .resume, .card, .pay: step = .look
    }
    status = .running
    revision = 0
    (created, stepSince) = (now, now)
  }
}
