package import Answers
package import Base
package import Crypto
package import Ledger
package import Storage
package import Stores
import Subscriptions

/// A stored delivery, decoded again by the current decoder.
package struct RedecodedDelivery: Sendable {
  package let delivery: DeliverySummary
  package let decoded: DecodedDelivery
  /// The stored form of each fact's content.
  fileprivate let contents: [String]
  private let terms: [SearchRow]

  /// Throws like `KeptDelivery.decoded`.
  package init(
    _ delivery: DeliverySummary, of stores: StoreList, sealing: SealingKeys, search: SearchKey?,
    reading queryable: some Queryable
  ) throws {
    self.delivery = delivery
    decoded = try KeptDelivery.decoded(
      again: delivery, of: stores, sealing: sealing, reading: queryable)
    contents = try decoded.facts.map { fact in
      try stores.store(of: fact.key).stored(fact.object)
    }
    terms = SearchRow.all(decoded.terms, search)
  }

  fileprivate var facts: [(fact: Fact, content: String)] {
    decoded.disposition == .joined ? Array(zip(decoded.facts, contents)) : []
  }

  fileprivate func writeTerms(in transaction: Transaction) throws {
    for term in terms { try term.write(in: transaction) }
  }

  /// Updates the delivery's row to the current decoder's result.
  fileprivate func writeRow(in transaction: Transaction) throws {
    try transaction.execute(
      """
      UPDATE billing.deliveries SET type = $2, error = NULL, object = $3, disposition = $4, decoder = $5
      WHERE id = $1
      """, .integer(delivery.number), .text(decoded.type), .text(decoded.object),
      .text(decoded.disposition.rawValue), .integer(DeliveryRow.decoderVersion))
  }
}

/// The consequences if a delivery had never arrived.
package struct Supposition: Sendable {
  package let change: DerivedChange
  /// Why no subscription would differ; nil if one would.
  package let unchanged: Unchanged?
  /// The other deliveries about the same objects that count.
  package let otherCount: Int
  /// The other deliveries that no longer can be decoded, and are left out.
  package internal(set) var unreadCount = 0
  /// Whether there are more others, which are left out.
  package internal(set) var isCutShort = false

  /// As many deliveries as one purchase gets in years.
  package static let otherCountMax = 500

  package enum Unchanged: Sendable, Equatable {
    /// The delivery is about no object; its disposition.
    case saysNothing(DecodedDelivery.Disposition)
    /// Other deliveries, newest first, report more about the same objects.
    case outdated(by: [String])
    /// Other deliveries, newest first, report the same.
    case saidAgain(by: [String])
    /// Sandbox purchases grant nothing here.
    case sandbox
    /// What only this delivery reports has no effect on what is owed.
    case owesTheSame
  }
}

extension Ledger {
  /// Joins a stored delivery again, in place of what its first decoder made of it.
  package func replay(
    _ again: RedecodedDelivery, at now: Instant, in transaction: Transaction
  ) throws -> DerivedChange {
    try LedgerSequence.lock(in: transaction)
    let before = reading(transaction)
    let (subscriptions, objects) = try before.subject(of: again.delivery)
    let facts = again.facts
    let contents = Dictionary(facts.map { ($0.fact.key, $0.content) }) { $1 }
    for key in try before.held(objects, by: again.delivery)
    where try stored(key, again.delivery, transaction) != contents[key] {
      try forget(key, again.delivery.number, in: transaction)
    }
    // What was read before remembers the rows that are gone now.
    try join(facts, again.delivery.number, reading(transaction), in: transaction)
    try again.writeRow(in: transaction)
    try again.writeTerms(in: transaction)
    return try derivedAgain(
      subscriptions, facts.map { $0.fact }, from: again.delivery.number, at: now,
      about: now, in: transaction)
  }

  /// Removes what one delivery reports, and the links that only it reports, and joins what others report
  /// about the same objects. Returns the states at `moment`. The caller must roll this back, because
  /// nothing is ever forgotten.
  func suppose(
    without delivery: RedecodedDelivery, among others: [RedecodedDelivery], at now: Instant,
    about moment: Instant, in transaction: Transaction
  ) throws -> Supposition {
    try LedgerSequence.lock(in: transaction)
    let number = delivery.delivery.number
    let before = reading(transaction)
    let (subscriptions, objects) = try before.subject(of: delivery.delivery)
    let held = try before.held(objects, by: delivery.delivery)
    let own = Set(delivery.facts.map { $0.fact.key } + held)
    let known = try contents(of: own, in: transaction)
    for key in held { try forget(key, number, in: transaction) }
    for link in delivery.facts.flatMap({ $0.fact.links }) {
      try link.forget(delivery: number, in: transaction)
    }
    let after = reading(transaction)
    for other in others where other.delivery.number != number {
      let facts = other.facts.filter { own.contains($0.fact.key) }
      try join(facts, other.delivery.number, after, in: transaction)
    }
    let left = try contents(of: own, in: transaction)
    let change = try derivedAgain(
      subscriptions, delivery.facts.map { $0.fact }, from: number, at: now, about: moment,
      in: transaction)
    let reason: Supposition.Unchanged? =
      if !change.subscriptions.isEmpty { nil } else if delivery.facts.isEmpty {
        .saysNothing(delivery.decoded.disposition)
      } else if known.contents == left.contents {
        held.isEmpty
          ? .outdated(by: try ids(of: known.deliveries, in: transaction))
          : .saidAgain(by: try ids(of: left.deliveries.subtracting([number]), in: transaction))
      } else { try isOfSandbox(change, in: transaction) ? .sandbox : .owesTheSame }
    return Supposition(change: change, unchanged: reason, otherCount: others.count)
  }

  /// Whether all subscriptions of the change are from the environment that grants nothing.
  private func isOfSandbox(_ change: DerivedChange, in transaction: Transaction) throws -> Bool {
    let keys = change.after.subscriptions.keys
    return try !keys.isEmpty
      && keys.allSatisfy { key in
        try SubscriptionRow(key, reading: transaction)
          .map { $0.environment != rules.grantingEnvironment } ?? false
      }
  }

  /// The stored contents of objects, and the deliveries that reported them.
  private func contents(
    of keys: Set<ObjectKey>, in transaction: Transaction
  ) throws -> (contents: Set<String>, deliveries: Set<Int64>) {
    var (contents, deliveries): (Set<String>, Set<Int64>) = ([], [])
    for key in keys {
      let rows = try transaction.rows(
        "SELECT content, delivery FROM billing.mirrors WHERE object = $1", .text(key.description)
      ) { row in (try row.text(0), try row.integer(1)) }
      for (content, delivery) in rows {
        contents.insert("\(key) \(content)")
        deliveries.insert(delivery)
      }
    }
    return (contents, deliveries)
  }

  private static let toldIDCountMax = 3

  /// The stores' ids of the newest of these deliveries.
  private func ids(of deliveries: Set<Int64>, in transaction: Transaction) throws -> [String] {
    try deliveries.sorted(by: >).prefix(Self.toldIDCountMax).compactMap { number in
      try transaction.first(
        "SELECT delivery_id FROM billing.deliveries WHERE id = $1", .integer(number)
      ) { row in try row.text(0) }
    }
  }

  /// The other deliveries that may be about the same objects as this one, newest first. Returns at
  /// most `countMax`, and whether there are more.
  func deliveries(
    beside delivery: DeliverySummary, countMax: Int, reading reader: Reader
  ) throws -> (deliveries: [DeliverySummary], areMore: Bool) {
    let objects = try reading(reader).subject(of: delivery).objects
    var filter = DeliveryFilter()
    filter.countMax = countMax
    let found = try DeliverySummary.candidates(
      for: filter, about: Set(objects.map(\.id)).sorted(), below: .max, from: 0,
      sandboxCounts: false, reading: reader
    ).filter { $0.number != delivery.number && $0.provider == delivery.provider }
    return (Array(found.prefix(countMax)), found.count > countMax)
  }

  // MARK: parts

  private func stored(
    _ key: ObjectKey, _ delivery: DeliverySummary, _ transaction: Transaction
  ) throws -> String? {
    try transaction.first(
      "SELECT content FROM billing.mirrors WHERE object = $1 AND delivery = $2",
      .text(key.description), .integer(delivery.number)
    ) { row in try row.text(0) }
  }

  private func forget(_ key: ObjectKey, _ number: Int64, in transaction: Transaction) throws {
    try transaction.execute(
      "DELETE FROM billing.mirrors WHERE object = $1 AND delivery = $2", .text(key.description),
      .integer(number))
  }

  private func join(
    _ facts: [(fact: Fact, content: String)], _ number: Int64, _ reading: LedgerReading,
    in transaction: Transaction
  ) throws {
    for (fact, content) in facts {
      _ = try reading.join(fact, content: content, delivery: number, in: transaction)
      for link in fact.links { _ = try link.write(delivery: number, in: transaction) }
    }
  }

  private func derivedAgain(
    _ known: [ObjectKey], _ facts: [Fact], from number: Int64, at now: Instant,
    about moment: Instant, in transaction: Transaction
  ) throws -> DerivedChange {
    let named = try Affected.subscriptions(by: facts, reading(transaction))
    let keys = Set(known + named).sorted()
    var before = try DerivedState(of: keys, at: moment, reading: transaction)
    let owners = try keys.compactMap { key in
      try reading(transaction).subscription(key).ownership.account
    }
    try before.readSchedules(of: owners, reading: transaction)
    try derive(keys, cause: .fact, entry: number, at: now, in: transaction)
    var after = try DerivedState(of: keys, at: moment, reading: transaction)
    try after.readSchedules(of: Array(before.schedules.keys), reading: transaction)
    return DerivedChange(before: before, after: after)
  }
}
