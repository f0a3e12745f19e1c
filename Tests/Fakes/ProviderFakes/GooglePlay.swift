import Base
import SeededRandom

/// Google Play as a value: purchases, orders and notifications at a given time.
///
/// The operations are those of customers, banks and the clock; the rules are those of Google's reference. An
/// operation that no customer could perform is a mistake of the test and traps.
struct GooglePlay: Sendable {
  let packageName: String
  private(set) var now: Instant
  private(set) var sales: [String: GoogleSale] = [:]
  private(set) var tokens: [String] = []
  private(set) var orders: [String: GoogleCharge] = [:]
  private(set) var voided: [GoogleVoided] = []
  private(set) var notifications: [GoogleNotification] = []
  private var saleVersions: [String: Versions<GoogleSale>] = [:]
  private var orderVersions: [String: Versions<GoogleCharge>] = [:]
  private var random: SeededGenerator

  init(packageName: String, now: Instant, seed: UInt64) {
    self.packageName = packageName
    self.now = now
    random = SeededGenerator(seed: seed)
  }

  /// The values over time, for reads that lag.
  private struct Versions<Value: Sendable>: Sendable {
    var entries: [(at: Instant, value: Value)] = []
  }

  func sale(_ token: String, asOf moment: Instant) -> GoogleSale? {
    saleVersions[token]?.entries.last { $0.at <= moment }?.value
  }

  func order(_ id: String, asOf moment: Instant) -> GoogleCharge? {
    orderVersions[id]?.entries.last { $0.at <= moment }?.value
  }

  /// Performs everything that is due until `target`, each step at its own time.
  mutating func run(until target: Instant) {
    while let (token, due) = next(), due <= target {
      now = max(now, due)
      step(token)
    }
    now = max(now, target)
  }

  private func next() -> (token: String, due: Instant)? {
    var found: (token: String, due: Instant)?
    for token in tokens {
      guard let due = sales[token]?.due else { continue }
      if found == nil || due < found!.due { found = (token, due) }
    }
    return found
  }

  // MARK: bookkeeping of the rules

  subscript(token: String) -> GoogleSale {
    guard let sale = sales[token] else { preconditionFailure("no such purchase was made") }
    return sale
  }

  mutating func update(_ token: String, _ change: (inout GoogleSale) -> Void) {
    var sale = self[token]
    let before = sale.json
    change(&sale)
    if sale.json != before { sale.version += 1 }
    sales[token] = sale
    saleVersions[token, default: Versions()].entries.append((now, sale))
  }

  mutating func add(_ sale: GoogleSale) {
    sales[sale.token] = sale
    tokens.append(sale.token)
    saleVersions[sale.token, default: Versions()].entries.append((now, sale))
  }

  mutating func put(_ order: GoogleCharge) {
    orders[order.id] = order
    orderVersions[order.id, default: Versions()].entries.append((now, order))
  }

  mutating func updateOrder(_ id: String, to state: GoogleCharge.State) {
    guard var order = orders[id] else { preconditionFailure("no such order was made") }
    order.state = state
    order.changed = now
    put(order)
  }

  mutating func notify(_ token: String, _ type: Int64) {
    notifications.append(GoogleNotification(at: now, about: .subscription(type, token: token)))
  }

  mutating func publish(_ content: GoogleNotification.Content) {
    notifications.append(GoogleNotification(at: now, about: content))
  }

  mutating func void(_ order: String, of token: String, _ reason: GoogleVoided.Reason) {
    updateOrder(order, to: .refunded)
    voided.append(
      GoogleVoided(
        token: token, order: order, bought: orders[order]!.created, voided: now, reason: reason))
    publish(.voided(token: token, order: order))
  }

  // MARK: names

  /// As long as real tokens, and with the same letters.
  mutating func newToken() -> String {
    let letters = Array("abcdefghijklmnop".utf8)
    let first = (0..<24).map { _ in letters[Int(random.next() % 16)] }
    let rest = Base64.url.encode(random.bytes(count: 90))
    return String(decoding: first, as: UTF8.self) + ".AO-J1O" + rest
  }

  mutating func newOrderID() -> String {
    func digits(_ count: Int) -> String {
      (0..<count).map { _ in String(random.next() % 10) }.joined()
    }
    return "GPA.\(digits(4))-\(digits(4))-\(digits(4))-\(digits(5))"
  }
}

/// One charge of a purchase, as `orders.get` shows it.
struct GoogleCharge: Sendable {
  let id: String
  let token: String
  let created: Instant
  var changed: Instant
  var state: State
  let total: GoogleMoney
  let lines: [Line]

  struct Line: Sendable {
    let plan: GooglePlan
    let from: Instant
    let to: Instant
  }

  enum State: String, Sendable {
    case pending = "PENDING"
    case processed = "PROCESSED"
    case canceled = "CANCELED"
    case refunded = "REFUNDED"
  }
}

/// A row of `voidedpurchases.list`.
struct GoogleVoided: Sendable {
  let token: String
  let order: String
  let bought: Instant
  let voided: Instant
  let reason: Reason

  enum Reason: Sendable {
    case refund, chargeback, unacknowledged

    /// 0: the customer, 1: the developer, 2: Google.
    var source: Int64 { self == .chargeback ? 0 : self == .refund ? 1 : 2 }
    var number: Int64 { self == .refund ? 0 : self == .chargeback ? 7 : 8 }
  }
}

/// One real-time developer notification.
struct GoogleNotification: Sendable {
  let at: Instant
  let about: Content

  enum Content: Sendable {
    case subscription(Int64, token: String)
    case voided(token: String, order: String)
    case test
    case oneTime(Int64, token: String, product: String)
    case refundReview(token: String, order: String)
  }
}
