import Base
import JSON
import SeededRandom

/// The invoices of one store at a BTCPay server, and the effects of time and payments on them.
///
/// Every time is a whole second, like the server's.
struct BTCPayWorld: Sendable {
  private(set) var now: Instant
  private(set) var invoices: [Invoice] = []
  /// All events for the webhook, oldest first.
  private(set) var events: [Event] = []
  private var random: SeededGenerator

  struct Invoice: Sendable {
    let id: String
    /// `metadata.orderId` and `metadata.itemCode`, whatever their values.
    let orderID: String?
    let itemCode: String?
    /// Nil if any payment settles it.
    let cents: Int64?
    let currency: String
    let created: Instant
    let expires: Instant
    let monitored: Instant
    /// The product that the shop sold with it; nil if someone else created it.
    let sale: BTCPayProduct?
    var status = Status.new
    var additional = Additional.none
    var payments: [Payment] = []
    var isArchived = false
    var isDeleted = false
    /// Every moment at which it became settled or stopped being settled.
    var settlements: [(at: Instant, isSettled: Bool)] = []

    var paid: Int64 { payments.reduce(0) { $0 + $1.cents } }
    var confirmed: Int64 { payments.filter { $0.isConfirmed }.reduce(0) { $0 + $1.cents } }
    func isEnough(_ sum: Int64) -> Bool { cents.map { sum >= $0 } ?? (sum > 0) }
    var isOverPaid: Bool { cents.map { paid > $0 } ?? false }
    /// Whether an operator can mark it; an invoice that settled by itself stays settled.
    var canBeMarked: Bool { status != .settled || additional == .marked }
  }

  enum Status: String, Sendable {
    case new = "New"
    case processing = "Processing"
    case settled = "Settled"
    case expired = "Expired"
    case invalid = "Invalid"
  }

  enum Additional: String, Sendable {
    case none = "None"
    case paidPartial = "PaidPartial"
    case paidOver = "PaidOver"
    case paidLate = "PaidLate"
    case marked = "Marked"
  }

  struct Payment: Sendable {
    let id: String
    let cents: Int64
    let method: BTCPayMethod
    let received: Instant
    /// When its network confirms it; nil: never by itself.
    var confirms: Instant?
    var isConfirmed = false
  }

  /// The content of a delivery.
  struct Event: Sendable {
    let id: String
    let type: String
    let at: Instant
    let invoice: String?
    /// The members of this type, in addition to those of all types.
    let members: [JSONValue.Member]
    let metadata: JSONValue?
  }

  init(now: Instant, seed: UInt64) {
    self.now = now
    random = SeededGenerator(seed: seed)
  }

  /// The ids of invoices, deliveries and payments: base58, like 16 random bytes.
  mutating func nextID(_ count: Int = 22) -> String {
    let letters = Array("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
    return String((0..<count).map { _ in letters[Int(random.next() % 58)] })
  }

  mutating func nextHex(_ byteCount: Int) -> String { Hex.encode(random.bytes(count: byteCount)) }

  func place(_ id: String) -> Int {
    guard let place = invoices.firstIndex(where: { $0.id == id && !$0.isDeleted }) else {
      preconditionFailure("there is no invoice \(id)")
    }
    return place
  }

  mutating func add(_ invoice: Invoice) {
    invoices.append(invoice)
    tell("InvoiceCreated", invoices.count - 1, [])
  }

  mutating func change(_ place: Int, _ body: (inout Invoice) -> Void) { body(&invoices[place]) }

  mutating func tell(_ type: String, _ place: Int, _ members: [JSONValue.Member]) {
    let invoice = invoices[place]
    events.append(
      Event(
        id: nextID(), type: type, at: now, invoice: invoice.id, members: members,
        metadata: invoice.metadata))
  }

  mutating func tell(_ type: String, invoice: String?, _ members: [JSONValue.Member]) {
    events.append(
      Event(id: nextID(), type: type, at: now, invoice: invoice, members: members, metadata: nil))
  }

  // MARK: time

  /// An unpaid invoice is deleted half a year after its creation.
  private static let retentionMonths: Int64 = 6

  mutating func run(until moment: Instant) {
    let end = Instant(seconds: moment.seconds)
    while let (due, place) = nextDue, due <= end {
      now = max(now, due)
      happen(place)
    }
    now = max(now, end)
  }

  /// When the next invoice changes by itself, and which.
  private var nextDue: (Instant, Int)? {
    invoices.indices.flatMap { place in dues(invoices[place]).map { ($0, place) } }
      .min { ($0.0, $0.1) < ($1.0, $1.1) }
  }

  private func dues(_ invoice: Invoice) -> [Instant] {
    if invoice.isDeleted { return [] }
    var dues = invoice.payments.filter { !$0.isConfirmed }.compactMap(\.confirms)
    switch (invoice.status, invoice.additional) {
    case (.new, _): dues.append(invoice.expires)
    case (.processing, _): dues.append(invoice.monitored)
    case (.expired, .none): dues.append(invoice.created.adding(months: Self.retentionMonths))
    case (.expired, _), (.settled, _), (.invalid, _): break
    }
    return dues
  }

  private mutating func happen(_ place: Int) {
    let invoice = invoices[place]
    if let payment = invoice.payments.firstIndex(where: {
      !$0.isConfirmed && ($0.confirms ?? .distantFuture) <= now
    }) {
      confirm(payment, of: place)
    } else if invoice.status == .new, invoice.expires <= now {
      expire(place)
    } else if invoice.status == .processing, invoice.monitored <= now {
      invoices[place].status = .invalid
      tell("InvoiceInvalid", place, [.init("manuallyMarked", false)])
    } else {
      invoices[place].isDeleted = true
    }
  }

  private mutating func expire(_ place: Int) {
    let isPartial = invoices[place].paid > 0
    invoices[place].status = .expired
    invoices[place].additional = isPartial ? .paidPartial : .none
    tell("InvoiceExpired", place, [.init("partiallyPaid", .bool(isPartial))])
    if isPartial { tell("InvoiceExpiredPaidPartial", place, []) }
  }

  // MARK: money

  mutating func receive(_ payment: Payment, for place: Int) {
    invoices[place].payments.append(payment)
    tellPayment("InvoiceReceivedPayment", payment, place)
    judge(place)
    if payment.isConfirmed {
      tellPayment("InvoicePaymentSettled", payment, place)
      judgeConfirmed(place)
    }
  }

  mutating func confirm(_ payment: Int, of place: Int) {
    invoices[place].payments[payment].isConfirmed = true
    tellPayment("InvoicePaymentSettled", invoices[place].payments[payment], place)
    judgeConfirmed(place)
  }

  /// The network never had the payment after all. No event reports it.
  mutating func lose(_ payment: String, of place: Int) {
    invoices[place].payments.removeAll { $0.id == payment }
    judge(place)
  }

  /// Applies the effect of payments, confirmed or not.
  private mutating func judge(_ place: Int) {
    let invoice = invoices[place]
    let isEnough = invoice.isEnough(invoice.paid)
    switch invoice.status {
    case .new, .processing:
      invoices[place].status = isEnough ? .processing : .new
      let partly = invoice.paid > 0 ? Additional.paidPartial : .none
      invoices[place].additional = isEnough ? (invoice.isOverPaid ? .paidOver : .none) : partly
      if isEnough, invoice.status == .new {
        tell("InvoiceProcessing", place, [.init("overPaid", .bool(invoice.isOverPaid))])
      }
    case .expired where isEnough && invoice.additional != .paidLate:
      invoices[place].additional = .paidLate
      tell("InvoicePaidAfterExpiration", place, [])
    case .expired where invoice.additional == .none && invoice.paid > 0:
      invoices[place].additional = .paidPartial
    case .expired, .settled, .invalid: break
    }
  }

  /// Applies the effect of confirmations. They do not revive an invoice that has expired or failed.
  private mutating func judgeConfirmed(_ place: Int) {
    let invoice = invoices[place]
    guard invoice.status == .processing, invoice.isEnough(invoice.confirmed) else { return }
    settle(place, isMarked: false)
  }

  private mutating func settle(_ place: Int, isMarked: Bool) {
    invoices[place].status = .settled
    if isMarked { invoices[place].additional = .marked }
    invoices[place].settlements.append((now, true))
    tell(
      "InvoiceSettled", place,
      [
        .init("manuallyMarked", .bool(isMarked)),
        .init("overPaid", .bool(invoices[place].isOverPaid)),
      ])
  }

  /// Marks an invoice as the operator does.
  mutating func mark(_ place: Int, isSettled: Bool) {
    precondition(invoices[place].canBeMarked, "what settled by itself cannot be marked")
    if isSettled {
      settle(place, isMarked: true)
    } else {
      if invoices[place].status == .settled { invoices[place].settlements.append((now, false)) }
      invoices[place].status = .invalid
      invoices[place].additional = .marked
      tell("InvoiceInvalid", place, [.init("manuallyMarked", true)])
    }
  }

  private mutating func tellPayment(_ type: String, _ payment: Payment, _ place: Int) {
    let status = invoices[place].status
    tell(
      type, place,
      [
        .init("afterExpiration", .bool(status == .expired || status == .invalid)),
        .init("paymentMethodId", .string(payment.method.rawValue)),
        .init("payment", payment.json),
      ])
  }
}

/// A method of payment.
package enum BTCPayMethod: String, Sendable, CaseIterable {
  case bitcoin = "BTC-CHAIN"
  /// Confirmed at once.
  case lightning = "BTC-LN"
  case monero = "XMR-CHAIN"
}
