package import Base
package import Ledger
package import Storage
import Stores
package import Subscriptions
import Tiers

/// The changes that a delivery made, and the part of it that still counts.
package struct DeliveryEffect: Sendable {
  /// The subscriptions that it is about, ascending.
  package let subscriptions: [Subscription]
  /// The changes of these subscriptions in its transaction, in their order.
  package let changes: [Change]
  /// The changes that it made to what is owed for them.
  package let owed: [Owed]
  /// The objects about which nothing outdates its content, ascending.
  package let held: [ObjectKey]
  /// The reads that it caused, and why.
  package let requests: [Request]

  package struct Subscription: Sendable {
    package let key: ObjectKey
    package let label: Label
    package let owner: Identifier?
  }

  package typealias Change = (
    subscription: ObjectKey, transition: EntitlementExplanation.Transition
  )

  package struct Owed: Sendable {
    package let subscription: ObjectKey
    package let change: OwedChange
  }

  package typealias Request = (object: ObjectKey, reason: String)

  /// No delivery is about more than this.
  private static let subscriptionCountMax = 200

  package init(
    of delivery: DeliverySummary, at now: Instant, ledger: Ledger, reading reader: Reader
  ) throws {
    let reading = ledger.reading(reader)
    let (keys, objects) = try reading.subject(of: delivery, countMax: Self.subscriptionCountMax)
    try self.init(
      on: keys, by: { _ in [delivery.number] }, held: reading.held(objects, by: delivery),
      requests: Set(keys + objects).sorted().flatMap { key in
        try reader.rows(
          """
          SELECT reason FROM billing.read_requests WHERE object = $1 AND delivery = $2
          ORDER BY reason
          """, .text(key.description), .integer(delivery.number)
        ) { row in (object: key, reason: try row.text(0)) }
      }, at: now, reading: reader)
  }

  /// The changes of an object's subscriptions while it was read, by what came between two times.
  init(
    ofReading object: ObjectKey, from first: Instant, through last: Instant, at now: Instant,
    ledger: Ledger, reading reader: Reader
  ) throws {
    let keys = try ledger.subscriptions(of: object, reading: reader)
    try self.init(
      on: Array(keys.prefix(Self.subscriptionCountMax)),
      by: { try Self.entries(of: $0, from: first, through: last, reading: reader) }, held: [],
      requests: [], at: now, reading: reader)
  }

  /// `entries` returns the deliveries and decisions whose changes of a subscription count.
  private init(
    on keys: [ObjectKey], by entries: (ObjectKey) throws -> [Int64], held: [ObjectKey],
    requests: [Request], at now: Instant, reading reader: Reader
  ) throws {
    subscriptions = try keys.compactMap { try Subscription($0, at: now, reading: reader) }
    let history = try keys.flatMap { key in
      try entries(key).flatMap { try NotedChange.all(of: key, from: $0, reading: reader) }
    }
    (changes, owed) = (history.compactMap(\.change), history.compactMap(\.owed))
    (self.held, self.requests) = (held, requests)
  }

  /// The numbers of the entries between two times that changed a subscription, ascending.
  private static func entries(
    of key: ObjectKey, from first: Instant, through last: Instant, reading reader: Reader
  ) throws -> [Int64] {
    try reader.rows(
      """
      SELECT DISTINCT entry FROM billing.transitions
      WHERE object = $1 AND noticed_ms >= $2 AND noticed_ms <= $3 AND entry IS NOT NULL
      ORDER BY entry LIMIT 100
      """, .text(key.description), .instant(first), .instant(last)
    ) { row in try row.integer(0) }
  }

  /// The accounts that own its subscriptions, and those that it took one from.
  package var accounts: [Identifier] {
    let before = changes.filter { $0.transition.cause == "owner" }
      .compactMap { Identifier($0.transition.before) }
    return Set(subscriptions.compactMap { $0.owner } + before).sorted()
  }
}

extension DeliveryEffect.Subscription {
  /// Nil if nothing was derived for it.
  init?(_ key: ObjectKey, at now: Instant, reading database: some Queryable) throws {
    guard let row = try SubscriptionRow(key, reading: database) else { return nil }
    self.key = key
    label = Label(
      try Coverage(text: row.coverage), withoutAccess: row.labelWithoutAccess, at: now)
    owner = row.owner
  }
}

/// One row of a subscription's history: a change of its state or owner, of what is owed for it, or of both.
private struct NotedChange {
  let change: DeliveryEffect.Change?
  let owed: DeliveryEffect.Owed?

  /// No delivery or decision brings more than this.
  private static let countMax: Int64 = 100

  /// The changes by one delivery or decision, in their order. They occur again if it was replayed.
  static func all(
    of key: ObjectKey, from entry: Int64, reading reader: Reader
  ) throws -> [NotedChange] {
    try reader.rows(
      """
      SELECT \(EntitlementExplanation.Transition.columns), owed_before, owed_after
      FROM billing.transitions WHERE object = $1 AND entry = $2 ORDER BY number LIMIT $3
      """, .text(key.description), .integer(entry), .integer(countMax)
    ) { row in
      let transition = try EntitlementExplanation.Transition(row)
      var owed: OwedChange?
      if let before = try row.optionalText(6), let after = try row.optionalText(7) {
        owed = try OwedChange(noticed: transition.noticed, before: before, after: after)
      }
      return NotedChange(
        change: transition.before == transition.after
          ? nil : (subscription: key, transition: transition),
        owed: owed.map { DeliveryEffect.Owed(subscription: key, change: $0) })
    }
  }
}

extension LedgerReading {
  /// The objects that the store's id in a delivery may name.
  func keys(of delivery: DeliverySummary) throws -> [ObjectKey] {
    guard let object = delivery.object, let store = stores[delivery.provider] else { return [] }
    return store.keys(named: object).filter { key in
      delivery.environment.map { $0 == key.environment } ?? true
    }
  }

  /// What a delivery is about: its subscriptions, at most `countMax`, and every object that was
  /// reported for them or that it may name. Both ascending.
  package func subject(
    of delivery: DeliverySummary, countMax: Int = .max
  ) throws -> (subscriptions: [ObjectKey], objects: [ObjectKey]) {
    let named = try keys(of: delivery)
    let concerned = try subscriptions(concernedBy: named).prefix(countMax)
    let objects = try concerned.flatMap { try self.objects(of: $0) } + named
    return (Array(concerned), Set(objects).sorted())
  }

  /// Those of the objects about which nothing outdates a delivery's content.
  package func held(
    _ objects: [ObjectKey], by delivery: DeliverySummary
  ) throws -> [ObjectKey] {
    try mirrors(of: objects).filter { $0.delivery == delivery.number }.map { $0.fact.key }
  }

  /// Enough for everything connected to a payment or a customer.
  private static let concernedCountMax = 200

  /// The subscriptions among these objects, and those that the objects belong to; ascending.
  func subscriptions(concernedBy keys: [ObjectKey]) throws -> [ObjectKey] {
    var found: Set<ObjectKey> = []
    for key in keys {
      let objects = try reach(from: key, parts: true, countMax: Self.concernedCountMax)
      let rows = try mirrors(of: objects)
      found.formUnion(try Affected.subscriptions(by: rows.map(\.fact), self))
      for object in objects {
        let kind = try stores.store(of: object).traits.subscriptionKind
        if object.kind == kind { found.insert(object) }
      }
    }
    return try found.filter { try stored($0).row != nil }.sorted()
  }
}

extension RepairedDifference {
  /// The changes to the subscriptions that it is about; nil for a delivery that is no longer stored.
  package func effect(
    at now: Instant, ledger: Ledger, reading reader: Reader
  ) throws -> DeliveryEffect? {
    switch subject {
    case .delivery(let number):
      guard let delivery = try DeliverySummary.find(number: number, reading: reader) else {
        return nil
      }
      return try DeliveryEffect(of: delivery, at: now, ledger: ledger, reading: reader)
    case .object(let key):
      return try DeliveryEffect(
        ofReading: key, from: since, through: found, at: now, ledger: ledger, reading: reader)
    }
  }
}
