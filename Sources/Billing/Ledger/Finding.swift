package import Base
package import Crypto
package import Storage
internal import Stores
package import Subscriptions

/// What billing knows under a text that somebody quotes: subscriptions, and deliveries.
package struct Finding: Sendable {
  /// Ascending by their keys, at most 100.
  package private(set) var subscriptions: [Subscription] = []
  /// Known objects that belong to no subscription, ascending.
  package private(set) var others: [Other] = []
  /// Those that are named so or speak of what is, the newest first; at most 20.
  package private(set) var deliveries: [DeliverySummary] = []
  /// Those of the ids that billing knows or knew of.
  package private(set) var accounts: [Account] = []

  package struct Subscription: Sendable {
    package let key: ObjectKey
    package let label: Label
    package let owner: Identifier?
    /// Who claims it and waits for its first read.
    package let claimants: [Identifier]
    /// What led to it: its own key, or that of an object of its.
    package let by: [ObjectKey]
  }

  package struct Other: Sendable {
    package let key: ObjectKey
    package let claimants: [Identifier]
  }

  /// An account as billing knows it, whether it still is one or not.
  package struct Account: Sendable {
    package let id: Identifier
    package let deleted: Instant?
  }

  private static let subscriptionCountMax = 100
  private static let deliveryCountMax: Int64 = 20

  /// `text` is what was quoted, without the spaces around it; `owners` are accounts whose purchases are
  /// asked for as well.
  package init(
    _ text: String, owners: [Identifier], at now: Instant, of ledger: Ledger, key: SearchKey?,
    reading reader: Reader
  ) throws {
    let reading = ledger.reading(reader)
    var named = try Self.keys(named: text, ledger.stores, key: key, reading: reader)
    for id in Set(owners + [Identifier(text)].compactMap { $0 }).sorted() {
      named += try reading.subscriptions(concerning: id)
      named += try Self.claimed(by: id, reading: reader)
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
          claimants: try Self.claimants(of: key, reading: reader), by: leads[key] ?? []))
    }
    deliveries = try Self.deliveries(text, named, ledger.stores, reading: reader)
  }

  package var isEmpty: Bool {
    subscriptions.isEmpty && others.isEmpty && deliveries.isEmpty && accounts.isEmpty
  }

  /// Every object that the text may name, by its key, by an id of any store or by a term.
  private static func keys(
    named text: String, _ stores: StoreList, key: SearchKey?, reading reader: Reader
  ) throws -> [ObjectKey] {
    // Ids and tokens have no spaces, and may have got some on their way.
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

  private static func claimed(
    by account: Identifier, reading reader: Reader
  ) throws -> [ObjectKey] {
    try reader.rows(
      "SELECT object FROM billing.claims WHERE account_id = $1 ORDER BY object LIMIT $2",
      .id(account), .integer(subscriptionCountMax)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }

  private static func claimants(
    of key: ObjectKey, reading reader: Reader
  ) throws -> [Identifier] {
    try reader.rows(
      "SELECT account_id FROM billing.claims WHERE object = $1 ORDER BY account_id LIMIT 10",
      .text(key.description)
    ) { row in try row.id(0) }
  }

  /// By their own ids, and by those of the objects that they speak of.
  private static func deliveries(
    _ text: String, _ named: [ObjectKey], _ stores: StoreList, reading reader: Reader
  ) throws -> [DeliverySummary] {
    var filter = DeliveryFilter()
    filter.countMax = Int(deliveryCountMax)
    let own = try DeliverySummary.find(text, of: Array(stores), reading: reader)
    let known = Set(own.map(\.number))
    let about = try DeliverySummary.of(
      objects: Set(named.map(\.id)).sorted(), below: .max, from: 0, filter, reading: reader)
    return Array(
      (own + about.filter { !known.contains($0.number) })
        .sorted { $0.number > $1.number }.prefix(Int(deliveryCountMax)))
  }
}

extension Finding.Account {
  /// Nil where nothing was ever told of it.
  fileprivate init?(_ id: Identifier, _ ledger: Ledger, reading reader: Reader) throws {
    let decided = try Decided.all(of: id, reading: reader)
    let deletion = decided.first { if case .accountDeleted = $0.decision { true } else { false } }
    guard try !decided.isEmpty || ledger.knows(id, reading: reader) else { return nil }
    self.id = id
    deleted = deletion?.at
  }
}

extension LedgerReading {
  /// Whether anything was told of an object, or anybody claims it.
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
