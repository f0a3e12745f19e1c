package import Base
package import Crypto
package import Ledger
package import Storage
import Stores
package import Subscriptions

/// The subscriptions and deliveries that billing knows for a text that someone quotes.
package struct Finding: Sendable {
  /// Ascending by key, at most 100.
  package private(set) var subscriptions: [Subscription] = []
  /// Known objects that belong to no subscription, ascending.
  package private(set) var others: [Other] = []
  /// Deliveries that the text names, and those about what was found, newest first; at most 20.
  package private(set) var deliveries: [DeliverySummary] = []
  /// The number of such deliveries.
  package private(set) var deliveryTotal = DeliveryPage.Total(count: 0, limit: nil)
  /// The accounts with the given ids that billing knows or knew.
  package private(set) var accounts: [Account] = []
  /// Their refused claims, newest first for each.
  package private(set) var refusedClaims: [RefusedClaim] = []

  package struct Subscription: Sendable {
    package let key: ObjectKey
    package let label: Label
    package let owner: Identifier?
    /// Its earlier owners, latest first; at most 10.
    package let formerOwners: [FormerOwner]
    /// The accounts that claim it and wait for its first read.
    package let claimants: [Identifier]
    /// The keys that led to it: its own, or those of its objects.
    package let by: [ObjectKey]
  }

  package struct FormerOwner: Sendable {
    package let account: Identifier
    package let until: Instant
  }

  package struct Other: Sendable {
    package let key: ObjectKey
    package let claimants: [Identifier]
  }

  /// An account as billing knows it, whether it still exists or not.
  package struct Account: Sendable {
    package let id: Identifier
    package let deleted: Instant?
  }

  private static let subscriptionCountMax = 100
  private static let deliveryCountMax = 20

  /// `text` is what was quoted, without spaces around it. The purchases of the accounts in `owners`
  /// are found as well.
  package init(
    _ text: String, owners: [Identifier], at now: Instant, of ledger: Ledger, key: SearchKey?,
    reading reader: Reader
  ) throws {
    let reading = ledger.reading(reader)
    var (own, named) = try Self.named(text, ledger, key: key, reading: reader)
    for id in Set(owners + [Identifier(text)].compactMap { $0 }).sorted() {
      named += try reading.subscriptions(concerning: id)
      named += try Self.claimed(by: id, reading: reader)
      named += Self.paid(by: id, ledger)
      let refused = try RefusedClaims.all(of: id, at: now, reading: reader)
      named += refused.map(\.subscription)
      refusedClaims += refused
      if let account = try Account(id, ledger, reading: reader) { accounts.append(account) }
    }
    var leads: [ObjectKey: [ObjectKey]] = [:]
    for key in Set(named).sorted() {
      let subscriptions = try reading.subscriptions(concernedBy: [key])
      for subscription in subscriptions { leads[subscription, default: []].append(key) }
      if subscriptions.isEmpty, try reading.isKnown(key) {
        others.append(
          Other(key: key, claimants: try Self.claimants(of: key, reading: reader)))
      }
    }
    for key in leads.keys.sorted().prefix(Self.subscriptionCountMax) {
      guard let found = try DeliveryEffect.Subscription(key, at: now, reading: reader) else {
        continue
      }
      subscriptions.append(
        Subscription(
          key: key, label: found.label, owner: found.owner,
          formerOwners: try FormerOwner.all(of: key, reading: reader),
          claimants: try Self.claimants(of: key, reading: reader), by: leads[key] ?? []))
    }
    try findDeliveries(
      own,
      about: Set(named.map(\.id) + reading.ids(of: subscriptions.map(\.key))).sorted(), ledger,
      reading: reader)
  }

  package var isEmpty: Bool {
    subscriptions.isEmpty && others.isEmpty && deliveries.isEmpty && accounts.isEmpty
      && refusedClaims.isEmpty
  }

  /// The subscriptions that a text names by their id, by the id of one of their objects, or by a
  /// delivery's id; ascending, at most 100. An account's id names none.
  package static func subscriptions(
    named text: String, of ledger: Ledger, key: SearchKey?, reading reader: Reader
  ) throws -> [ObjectKey] {
    let reading = ledger.reading(reader)
    let named = try named(text, ledger, key: key, reading: reader).objects
    let found = Set(try reading.subscriptions(concernedBy: Array(Set(named).sorted())))
    return Array(found.sorted().prefix(subscriptionCountMax))
  }

  /// The deliveries that a text names, and every object that it or they may name.
  private static func named(
    _ text: String, _ ledger: Ledger, key: SearchKey?, reading reader: Reader
  ) throws -> (deliveries: [DeliverySummary], objects: [ObjectKey]) {
    let deliveries = try DeliverySummary.named(
      text.filter { !$0.isWhitespace }, of: Array(ledger.stores), reading: reader
    ).prefix(deliveryCountMax)
    let reading = ledger.reading(reader)
    return (
      Array(deliveries),
      try keys(named: text, ledger.stores, key: key, reading: reader)
        + deliveries.flatMap { try reading.keys(of: $0) }
    )
  }

  /// Every object that the text may name, by its key, an id of any store or a search term.
  private static func keys(
    named text: String, _ stores: StoreList, key: SearchKey?, reading reader: Reader
  ) throws -> [ObjectKey] {
    // Ids and tokens contain no spaces, but may have gained some in transit.
    let id = text.filter { !$0.isWhitespace }
    let whole = [ObjectKey(id)].compactMap { $0 }.filter { stores[$0.provider] != nil }
    let texts = Set(stores.flatMap { $0.terms(searchedBy: text) }).sorted()
    let terms = texts.flatMap { text in
      [false, true].compactMap { SearchRow.term(text, isPersonal: $0, key) }
    }
    return whole + stores.flatMap { $0.keys(named: id) }
      + (try SearchRow.objects(
        foundBy: terms, countMax: subscriptionCountMax, reading: reader))
  }

  /// An account's purchases at stores that name them after it. They may not exist, or may not have
  /// been read yet.
  private static func paid(by account: Identifier, _ ledger: Ledger) -> [ObjectKey] {
    ledger.stores.filter { $0.traits.isNamedByAccount }.map { store in
      ObjectKey(
        provider: store.provider, environment: ledger.rules.grantingEnvironment,
        kind: store.traits.subscriptionKind, id: account.description)
    }
  }

  private static func claimed(
    by account: Identifier, reading reader: Reader
  ) throws -> [ObjectKey] {
    try reader.rows(
      "SELECT object FROM billing.claims WHERE account_id = $1 ORDER BY object LIMIT $2",
      .id(account), .integer(subscriptionCountMax)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }

  static func claimants(
    of key: ObjectKey, reading reader: Reader
  ) throws -> [Identifier] {
    try reader.rows(
      "SELECT account_id FROM billing.claims WHERE object = $1 ORDER BY account_id LIMIT 10",
      .text(key.description)
    ) { row in try row.id(0) }
  }

  /// Deliveries that the text itself names come before others about the same objects.
  private mutating func findDeliveries(
    _ own: [DeliverySummary], about objects: [String], _ ledger: Ledger, reading reader: Reader
  ) throws {
    var filter = DeliveryFilter()
    (filter.objects, filter.countMax) = (objects, Self.deliveryCountMax)
    let page = try DeliveryPage(filter, of: ledger, reading: reader)
    deliveryTotal = try page.total(filter, of: ledger, reading: reader)
    let ofNothing = own.filter { delivery in !objects.contains { $0 == delivery.object } }
    deliveryTotal.count += ofNothing.count
    let known = Set(own.map(\.number))
    deliveries = Array(
      (own + page.deliveries.filter { !known.contains($0.number) }).prefix(Self.deliveryCountMax)
    ).sorted { $0.number > $1.number }
  }
}

extension Finding.FormerOwner {
  package static func all(
    of key: ObjectKey, reading reader: Reader
  ) throws -> [Finding.FormerOwner] {
    try reader.rows(
      """
      SELECT state_before, at_ms FROM billing.transitions
      WHERE object = $1 AND cause = 'owner' AND state_before <> 'none'
      ORDER BY number DESC LIMIT 10
      """, .text(key.description)
    ) { row in (Identifier(try row.text(0)), try row.instant(1)) }
    .compactMap { account, until in
      account.map { Finding.FormerOwner(account: $0, until: until) }
    }
  }
}

extension Finding.Account {
  /// Nil if nothing was ever reported about it.
  package init?(_ id: Identifier, _ ledger: Ledger, reading reader: Reader) throws {
    let decided = try Decided.all(of: id, reading: reader)
    let deletion = decided.first { if case .accountDeleted = $0.decision { true } else { false } }
    guard try !decided.isEmpty || ledger.knows(id, reading: reader) else { return nil }
    self.id = id
    deleted = deletion?.at
  }
}

extension LedgerReading {
  /// Whether anything was reported about an object, or anyone claims it.
  func isKnown(_ key: ObjectKey) throws -> Bool {
    guard try mirrors(of: key).isEmpty else { return true }
    return try database.first(
      """
      SELECT 1 FROM billing.links WHERE target = $1
      UNION ALL SELECT 1 FROM billing.claims WHERE object = $1
      UNION ALL SELECT 1 FROM billing.read_requests WHERE object = $1
      UNION ALL SELECT 1 FROM billing.search_terms WHERE object = $1 LIMIT 1
      """, .text(key.description)
    ) { try $0.integer(0) } != nil
  }
}
