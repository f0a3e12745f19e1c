import Base
import SeededRandom

/// The App Store as a value: its subscriptions, notifications and sales oracle at one time.
///
/// The operations are those of customers, banks and the clock; the rules are those of Apple's documents. An
/// operation that no customer could perform is a mistake of the test and traps.
struct AppStoreWorld: Sendable {
  let settings: FakeAppStore.Settings
  let terms: AppleTerms
  private(set) var now: Instant
  /// The time of the latest signature.
  private(set) var signed: Instant
  private(set) var subscriptions: [String: AppleSubscription] = [:]
  /// Original transaction ids, in the order of their first purchase.
  private(set) var ids: [String] = []
  private(set) var notices: [AppleNotice] = []
  var oracle = AppleSalesOracle()
  private var random: SeededGenerator
  private var serial: UInt64

  init(_ settings: FakeAppStore.Settings, now: Instant) {
    self.settings = settings
    self.now = now
    terms = AppleTerms(environment: settings.environment)
    signed = now - .seconds(1)
    random = SeededGenerator(seed: settings.seed)
    serial = random.next() % 300_000_000
  }

  /// Performs everything that is due until `target`, each step at its own time.
  mutating func run(until target: Instant, _ happened: (AppStoreWorld) -> Void = { _ in }) {
    while let (id, due) = next(), due <= target {
      now = max(now, due)
      step(id)
      happened(self)
    }
    now = max(now, target)
  }

  private func next() -> (id: String, due: Instant)? {
    var found: (id: String, due: Instant)?
    for id in ids {
      guard let due = self[id].due(terms, lead: settings.renewalLead) else { continue }
      if found == nil || due < found!.due { found = (id, due) }
    }
    return found
  }

  // MARK: bookkeeping of the rules

  subscript(id: String) -> AppleSubscription {
    get {
      guard let subscription = subscriptions[id] else {
        preconditionFailure("no such subscription was bought")
      }
      return subscription
    }
    set { subscriptions[id] = newValue }
  }

  mutating func add(_ subscription: AppleSubscription) {
    subscriptions[subscription.id] = subscription
    ids.append(subscription.id)
  }

  /// A subscription, and those that share it and have not ended.
  func family(of id: String) -> [String] {
    [id] + ids.filter { self[$0].sharedFrom == id && !self[$0].isOver }
  }

  /// The subscription that a transaction belongs to, and the transaction's index in it.
  func find(_ transaction: String) -> (id: String, index: Int)? {
    for id in ids {
      if let index = self[id].sales.firstIndex(where: { $0.id == transaction }) {
        return (id, index)
      }
    }
    return nil
  }

  /// A moment to sign at, later than all before, so that signatures show the order of events.
  mutating func stamp() -> Instant {
    signed = max(now, signed + .milliseconds(1))
    return signed
  }

  mutating func tell(_ type: String, _ subtype: String? = nil, of id: String) {
    tell(type, subtype, of: id, sale: self[id].last)
  }

  mutating func tell(_ type: String, _ subtype: String?, of id: String, sale: AppleSale) {
    let transaction = transactionPayload(of: self[id], sale, signed: stamp())
    let renewal = renewalPayload(of: self[id], signed: stamp())
    publish(
      type, subtype, about: id,
      .data(transaction: transaction, renewal: renewal, status: self[id].status))
  }

  mutating func publish(
    _ type: String, _ subtype: String?, about id: String? = nil, _ content: AppleNotice.Content
  ) {
    let signed = stamp()
    notices.append(
      AppleNotice(
        id: newUUID().description, type: type, subtype: subtype, signed: signed, original: id,
        content: content))
  }

  // MARK: names

  /// As long as the store's ids, and ascending.
  mutating func newTransactionID() -> String { newID("2000000", 9) }
  mutating func newLineID() -> String { newID("2000000", 9) }
  mutating func newCustomer() -> String { newID("7043", 14) }

  private mutating func newID(_ prefix: String, _ width: Int) -> String {
    serial += 1 + random.next() % 90_000
    let digits = String(serial)
    return prefix + String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// Version 4, variant 1.
  mutating func newUUID() -> Identifier {
    let (high, low) = (random.next(), random.next())
    return Identifier(
      high: high & ~0xF000 | 0x4000, low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
  }
}
