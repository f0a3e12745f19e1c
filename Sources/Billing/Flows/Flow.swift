package import Base
internal import Crypto
internal import JSON
package import Subscriptions
package import Tiers

/// One durable intention of an account, and how far it has come.
///
/// Each step calls Stripe under a key made of the flow and the step, and is kept before the next begins:
/// whatever crashes, is repeated or times out, each thing is done once.
package struct Flow: Sendable, Equatable {
  package let id: Identifier
  package let account: Identifier
  package let intention: Intention
  package internal(set) var step: Step
  package internal(set) var state: State
  package internal(set) var status: Status
  package internal(set) var problem: FlowProblem?
  /// What the client does meanwhile, sealed.
  package internal(set) var sealedAction: [UInt8]?
  /// Grows with each change, so that of two runs of one step the later writes nothing.
  let revision: Int64
  package let created: Instant
  /// Since when it is at its step.
  package internal(set) var stepSince: Instant
  /// Nil while it is open.
  package internal(set) var closed: Instant?

  package enum Status: String, Sendable, CaseIterable {
    case running
    /// The client must do something: confirm a payment with its bank, or visit a page.
    case requiresAction = "requires_action"
    case done, failed
  }

  package enum Step: String, Sendable, CaseIterable {
    /// Makes the account's customer.
    case customer
    /// Has the payment method confirmed for later payments.
    case setup
    /// The bank asks the customer about that.
    case confirm
    /// Buys, or fails at once.
    case subscribe
    /// Buys what the customer must confirm first.
    case authenticate
    /// The bank asks the customer about the first payment.
    case awaitPayment = "await_payment"
    /// Opens the page on which to buy.
    case open
    /// The customer is there.
    case visit
    /// Looks at the subscription as it is.
    case look
    /// Takes off a change that waits for the period's end.
    case release
    case update
    /// Asks for an update that the customer must confirm first.
    case updateLater = "update_later"
    /// The bank asks the customer about the update's payment.
    case awaitUpdate = "await_update"
    /// Has the change wait for the period's end: first the schedule, then what it holds.
    case schedule, phases
    case cancel, uncancel
    /// Ends a pause, once what Stripe asks for it is paid.
    case resume
    /// Ends what has no period to run to.
    case end
    /// Makes the payment method the customer's, then the subscription's.
    case attach, assign
    case pay
    /// The bank asks the customer about a payment.
    case awaitInvoice = "await_invoice"
    case portal
    /// Takes back what was begun and not completed.
    case undo
    /// Has the ledger read what came of it.
    case record
    /// Has the other store bill no more.
    case stopStore = "stop_store"
  }

  /// What the steps found, by name.
  package typealias State = [Key: String]

  package enum Key: String, Sendable, CaseIterable {
    case customer, subscription, item, price, invoice, session, schedule
    case setupIntent = "setup_intent"
    /// As Stripe has it for the customer.
    case paymentMethod = "payment_method"
    /// The price before a change, and the bounds of the period in which it holds.
    case oldPrice = "old_price"
    case periodStart = "period_start"
    case periodEnd = "period_end"
    /// The read after which the ledger knows.
    case readNumber = "read_number"
    /// The purchase of another store, and until when it is paid.
    case purchase
    case paidUntil = "paid_until"
    /// How many days of it are free, where it is the account's first purchase.
    case trialDays = "trial_days"
    /// Why it is undone.
    case reason
    /// Set where the flow, too, ends a pause.
    case endsPause = "ends_pause"
  }

  package var isOpen: Bool { closed == nil }

  /// How a job is named by it.
  package var object: String { id.description }

  /// What Stripe knows a call by. A step that calls twice says which.
  func key(_ call: String = "") -> String {
    let text = "\(id)/\(step.rawValue)/\(call)"
    return "coffer-" + Hex.encode(Array(SHA256.hash(Array(text.utf8)).prefix(20)))
  }

  package func subscriptionKey(in environment: StoreEnvironment) -> ObjectKey? {
    state[.subscription].map {
      ObjectKey(
        provider: .init("stripe"), environment: environment, kind: .subscription, id: $0)
    }
  }
}

extension Flow {
  /// At its first step.
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
