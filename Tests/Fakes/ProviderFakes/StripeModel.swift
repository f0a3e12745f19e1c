import Base
import JSON

/// The fake Stripe's state at one moment: objects, the timetable, and the sales.
///
/// A value, so that a lagging read is a read of an older value. All times are whole seconds.
struct StripeWorld: Sendable {
  let settings: StripeSettings
  var now: Instant
  var issuedIDCount = 0
  var customers = StripeTable<Customer>()
  var subscriptions = StripeTable<Subscription>()
  var invoices = StripeTable<Invoice>()
  /// By their payment intents.
  var payments = StripeTable<Payment>()
  var refunds = StripeTable<Refund>()
  var disputes = StripeTable<Dispute>()
  var sessions = StripeTable<Session>()
  var paymentMethods = StripeTable<PaymentMethod>()
  var setupIntents = StripeTable<SetupIntent>()
  var schedules = StripeTable<Schedule>()
  var events = StripeTable<Event>()
  var timetable: [Appointment] = []
  var sales: [StripeSale] = []
  /// When an addition was removed from its subscription, or its plan paused, by its item.
  var removals: [String: Instant] = [:]
  /// Whether a plan can be changed while a schedule manages the subscription.
  var changesScheduled = true

  init(_ settings: StripeSettings, now: Instant) {
    self.settings = settings
    self.now = Instant(seconds: now.seconds)
  }

  struct Customer: Sendable {
    let id: String
    let created: Instant
    var email: String
    var card: StripeCard
    var paymentMethod: String
    /// The account that the metadata names, and which of its customers this is.
    var account: Identifier?
    var number: String?
    /// Negative: money that the next invoices use first.
    var balance: Int64 = 0
    var deletedAt: Instant?
  }

  struct Subscription: Sendable {
    let id: String
    let item: String
    let customer: String
    let account: Identifier?
    /// Whether the metadata names the account.
    var isMarked = true
    /// The other value of the buyer's server in the metadata.
    var flow: String?
    let created: Instant
    var anchor: Instant
    var period: Range<Instant>
    var price: StripePrice
    /// Items that are billed in addition to the plan.
    var additions: [Addition] = []
    var status: Status
    var trial: Range<Instant>?
    var missingCard: StripeMissingCard = .createInvoice
    var cancelAtPeriodEnd = false
    var cancelAt: Instant?
    var canceledAt: Instant?
    var cancellationReason: String?
    var feedback: String?
    var endedAt: Instant?
    var latestInvoice: String?
    var pause: StripeCollectionPause?
    var resumesAt: Instant?
    var pendingUpdate: PendingUpdate?
    /// What comes after the period, if it is planned.
    var schedule: String?
    /// They stay until something takes them away; the fake's invoices are in full all the same.
    var discounts: [String] = []
    /// Credits and charges for the next invoice.
    var waitingLines: [Line] = []
    var invoiceCount = 0
    /// The number of days in which a sent invoice may be paid; nil if the card is charged.
    var daysUntilDue: Int64?
    /// Why its status is `paused`, and since when.
    var paused: (reason: StripePause, at: Instant)?

    enum Status: String, Sendable {
      case incomplete
      case incompleteExpired = "incomplete_expired"
      case trialing, active
      case pastDue = "past_due"
      case unpaid, canceled, paused
    }

    var isEnded: Bool { status == .canceled || status == .incompleteExpired }

    struct Addition: Sendable {
      let item: String
      let price: StripePrice
      /// The period, if it is billed in a cycle other than the plan's.
      var ownPeriod: Range<Instant>?
    }
  }

  /// A change of price that takes effect when it is paid.
  struct PendingUpdate: Sendable {
    let price: StripePrice
    let expiresAt: Instant
    let invoice: String
    let anchor: Instant
    let period: Range<Instant>
  }

  struct Line: Sendable {
    let id: String
    let price: StripePrice
    let amount: Int64
    let period: Range<Instant>
    let description: String
    /// The item that it bills, if it is not the plan's.
    var item: String?
    /// From a change within a period; such a line comes from an invoice item.
    var isProration = false
    /// The invoice whose unused time it gives back.
    var credits: String?
    /// Counted as sold when it was put on the account, before it was on an invoice.
    var isSold = false
  }

  struct Invoice: Sendable {
    let id: String
    let subscription: String
    let customer: String
    let number: Int
    let created: Instant
    let reason: String
    let lines: [Line]
    let period: Range<Instant>
    var status: Status = .draft
    var isAttempted = false
    var attemptCount = 0
    var nextAttempt: Instant?
    var autoAdvance = true
    /// The amount taken from the customer's balance; known once the invoice is final.
    var balanceUsed: Int64 = 0
    var startingBalance: Int64 = 0
    var payment: String?
    var finalizedAt: Instant?
    var paidAt: Instant?
    var voidedAt: Instant?
    var uncollectibleAt: Instant?
    var uncollectibleReason: String?
    /// When an invoice that was sent is due.
    var dueAt: Instant?
    /// Paid by other means than through Stripe.
    var isPaidOutside = false
    /// The secret with which the customer's client confirms the payment.
    var clientSecret: String { "pi_\(stripeLetters(id, 24))_secret_\(stripeLetters(id + "s", 25))" }

    enum Status: String, Sendable { case draft, open, paid, uncollectible, void }

    var total: Int64 { lines.reduce(0) { $0 + $1.amount } }
    var amountDue: Int64 { max(0, total - balanceUsed) }
    var amountPaid: Int64 { status == .paid ? amountDue : 0 }
  }

  struct Payment: Sendable {
    let intent: String
    let invoicePayment: String
    let invoice: String
    let customer: String
    let amount: Int64
    let created: Instant
    /// The charge of the latest attempt.
    var charge: String
    var chargedAt: Instant
    var status: Status = .failed
    var paidAt: Instant?
    var canceledAt: Instant?
    var dispute: String?

    enum Status: String, Sendable { case processing, succeeded, failed }
  }

  struct Refund: Sendable {
    let id: String
    let payment: String
    let amount: Int64
    let created: Instant
    var status: Status

    enum Status: String, Sendable { case pending, succeeded, failed }
  }

  struct Dispute: Sendable {
    let id: String
    let payment: String
    let amount: Int64
    let created: Instant
    let reason: String
    var status: String
    var hasEvidence = false
  }

  struct Session: Sendable {
    let id: String
    let account: Identifier?
    let price: StripePrice
    var additions: [StripePrice] = []
    let trialDays: Int64
    let created: Instant
    var flow: String?
    var customer: String?
    /// Whether the subscription's metadata also names the account, like the session's.
    var marksSubscription = true
    var subscription: String?
    var invoice: String?
    var status = "open"
    var paymentStatus = "unpaid"
    var isDelayed = false
  }

  struct Event: Sendable {
    let id: String
    let type: String
    let created: Instant
    let json: JSONValue
  }

  /// Something that Stripe does by itself at a set time, unless it no longer applies.
  struct Appointment: Sendable {
    let due: Instant
    let task: Task
  }

  enum Task: Sendable, Equatable {
    case turnPeriod(subscription: String, end: Instant)
    case turnAddition(subscription: String, item: String, end: Instant)
    case announceTrialEnd(subscription: String)
    case announceRenewal(subscription: String, end: Instant)
    case finalize(invoice: String)
    case retry(invoice: String)
    case cancel(subscription: String)
    case resumeCollection(subscription: String)
    case expirePendingUpdate(subscription: String)
    case expireFirstPayment(subscription: String)
    case expireSession(String)
    case voidResumption(invoice: String)
    case fallDue(invoice: String)
  }
}

/// Rows by id, in the order of their creation.
struct StripeTable<Row: Sendable>: Sendable {
  private(set) var rows: [Row] = []
  private var places: [String: Int] = [:]

  /// Nil if there is no such row; rows are never removed.
  subscript(optional id: String) -> Row? { places[id].map { rows[$0] } }

  /// Traps if there is no such row: a story that names it is wrong.
  subscript(id: String) -> Row {
    get { rows[place(id)] }
    set { rows[place(id)] = newValue }
  }

  mutating func add(_ row: Row, id: String) {
    places[id] = rows.count
    rows.append(row)
  }

  private func place(_ id: String) -> Int {
    guard let place = places[id] else { preconditionFailure("no such object: \(id)") }
    return place
  }
}
