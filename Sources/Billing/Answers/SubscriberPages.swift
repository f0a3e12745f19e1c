package import Base
package import Ledger
package import Report
package import Storage
import Stores
import Subscriptions
import Tiers

/// The purchases of the environment that grants, each with those that continue it, for the monthly
/// report. A few statements read each page.
package struct SubscriberPages {
  private let ledger: Ledger
  private let reader: Reader
  private let now: Instant
  private let catalogue: Catalogue
  private let pageCount: Int
  /// The last subscription that was read; nil after the last of all.
  private var last: String? = ""
  /// The number of subscriptions that were read.
  package private(set) var readCount: Int64 = 0

  /// The longest chain that is followed; no customer has a longer one.
  private static let chainCountMax = 32

  package init(
    of ledger: Ledger, at now: Instant, pageCount: Int = 256, reading reader: Reader
  ) throws {
    self.ledger = ledger
    self.pageCount = pageCount
    self.reader = reader
    self.now = now
    catalogue = ledger.rules.keeping(try SoldPlans.all(reading: reader)).catalogue
  }

  /// The number of subscriptions to read, from both environments.
  package static func count(_ reader: Reader) throws -> Int64 {
    try reader.first("SELECT count(*) FROM billing.subscriptions") { try $0.integer(0) } ?? 0
  }

  /// The subscribers of the next page; nil after the last.
  package mutating func next() throws -> [Subscriber]? {
    guard let after = last else { return nil }
    let page = try reader.rows(
      """
      SELECT \(Derived.columns) FROM billing.subscriptions WHERE object > $1
      ORDER BY object LIMIT $2
      """, .text(after), .integer(pageCount)
    ) { row in try Derived(row) }
    last = page.count == pageCount ? page.last?.object : nil
    readCount += Int64(page.count)
    let chains = try chains(page.filter { counts($0) })
    let purchases = try purchases(chains.flatMap { $0 })
    return chains.map { chain in
      Subscriber(chain.compactMap { purchases[$0.object] }, catalogue)
    }
  }

  private func counts(_ one: Derived) -> Bool {
    one.row.environment == ledger.rules.grantingEnvironment
  }

  // MARK: chains

  /// Each purchase that continues no other, with those that continue it.
  private func chains(_ page: [Derived]) throws -> [[Derived]] {
    let older = try predecessors(of: page.map(\.object))
    var chains = page.filter { older[$0.object] == nil }.map { [$0] }
    var ends = Dictionary(
      uniqueKeysWithValues: chains.enumerated().map { ($1[0].object, $0) })
    for _ in 1..<Self.chainCountMax where !ends.isEmpty {
      let newer = try successors(of: Array(ends.keys))
      let rows = try self.rows(newer.map(\.object)).filter { counts($0) }
      // A purchase that continues several counts with the first of them only.
      let first = try predecessors(of: rows.map(\.object))
      var next: [String: Int] = [:]
      for row in rows {
        guard let index = first[row.object].flatMap({ ends[$0] }),
          !chains[index].contains(where: { $0.object == row.object })
        else { continue }
        chains[index].append(row)
        next[row.object] = index
      }
      ends = next
    }
    return chains
  }

  /// For each object, the first of the purchases in the same environment that it continues, if any.
  private func predecessors(of objects: [String]) throws -> [String: String] {
    let found = try SQLList.slices(of: objects.map { .text($0) }, after: 1).flatMap { list in
      try reader.rows(
        """
        SELECT l.target, min(l.origin) FROM billing.links l
        JOIN billing.subscriptions s ON s.object = l.origin AND s.environment = $1
        WHERE l.target IN (\(list.parameters)) AND l.kind = 'predecessor' GROUP BY l.target
        """, values: [.text(ledger.rules.grantingEnvironment.rawValue)] + list.values
      ) { row in (try row.text(0), try row.text(1)) }
    }
    return Dictionary(found) { $1 }
  }

  private func successors(of objects: [String]) throws -> [(target: String, object: String)] {
    try SQLList.slices(of: objects.map { .text($0) }, after: 0).flatMap { list in
      try reader.rows(
        """
        SELECT target, origin FROM billing.links
        WHERE target IN (\(list.parameters)) AND kind = 'successor'
        """, values: list.values
      ) { row in (try row.text(0), try row.text(1)) }
    }
  }

  private func rows(_ objects: [String]) throws -> [Derived] {
    try SQLList.slices(of: Set(objects).sorted().map { .text($0) }, after: 0).flatMap { list in
      try reader.rows(
        """
        SELECT \(Derived.columns) FROM billing.subscriptions
        WHERE object IN (\(list.parameters)) ORDER BY object
        """, values: list.values
      ) { row in try Derived(row) }
    }
  }

  // MARK: purchases

  private func purchases(_ derived: [Derived]) throws -> [String: Purchase] {
    let bills = try bills(of: derived.compactMap { ObjectKey($0.object) })
    let changes = try changes(of: derived.map(\.object))
    var purchases: [String: Purchase] = [:]
    for one in derived {
      guard let key = ObjectKey(one.object), let bill = bills[key] else { continue }
      let coverage = try Coverage(text: one.row.coverage)
      // What `Derivation` will write with the next fact.
      let byClock = one.row.changesByClock(coverage, upTo: now).map {
        Purchase.Change(at: $0.at, noticed: $0.at, before: $0.before, after: $0.after)
      }
      purchases[one.object] = Purchase(
        store: key.provider.rawValue, coverage: coverage, bill: bill,
        changes: (changes[one.object] ?? []) + byClock)
    }
    return purchases
  }

  /// The products and money that the stores reported.
  private func bills(of keys: [ObjectKey]) throws -> [ObjectKey: Bill] {
    let reading = ledger.reading(reader)
    var subscriptions: [ObjectKey: Subscription] = [:]
    for key in keys { subscriptions[key] = try ledger.stores.subscription(key) }
    let holders = try holders(of: keys)
    for row in try reading.mirrors(of: holders.keys.sorted()) {
      for key in holders[row.fact.key] ?? [] {
        subscriptions[key]?.insert(row.fact, delivery: row.delivery)
      }
    }
    return subscriptions.mapValues { $0.record.bill }
  }

  /// The subscriptions that each object is about, found as `LedgerReading.reach` does, but for many at once.
  private func holders(of keys: [ObjectKey]) throws -> [ObjectKey: Set<ObjectKey>] {
    var holders = Dictionary(uniqueKeysWithValues: keys.map { ($0, Set([$0])) })
    var open = keys.map(\.description)
    while !open.isEmpty {
      var found: [(target: ObjectKey, origin: ObjectKey, isBridge: Bool)] = []
      for list in SQLList.slices(of: open.map { .text($0) }, after: 0) {
        try reader.query(
          """
          SELECT target, origin, kind FROM billing.links
          WHERE target IN (\(list.parameters)) AND kind IN ('part', 'bridge')
          """, list.values
        ) { row in
          if let target = ObjectKey(try row.text(0)), let origin = ObjectKey(try row.text(1)) {
            found.append((target, origin, try row.text(2) == "bridge"))
          }
          return true
        }
      }
      var next: Set<ObjectKey> = []
      for link in found {
        let owners = holders[link.target] ?? []
        let known = holders[link.origin] ?? []
        guard !owners.isSubset(of: known) else { continue }
        holders[link.origin] = known.union(owners)
        if link.isBridge { next.insert(link.origin) }
      }
      open = next.map(\.description).sorted()
    }
    return holders
  }

  private func changes(of objects: [String]) throws -> [String: [Purchase.Change]] {
    var changes: [String: [Purchase.Change]] = [:]
    for list in SQLList.slices(of: objects.map { .text($0) }, after: 0) {
      try reader.query(
        """
        SELECT object, at_ms, noticed_ms, cause, state_before, state_after
        FROM billing.transitions
        WHERE object IN (\(list.parameters)) AND cause <> 'owner' AND state_before <> state_after
        ORDER BY object, number
        """, list.values
      ) { row in
        let at = try row.instant(1)
        let byClock = try row.text(3) == "clock"
        guard let after = Label(rawValue: try row.text(5)) else { return true }
        changes[try row.text(0), default: []].append(
          Purchase.Change(
            at: at, noticed: byClock ? at : try row.instant(2),
            before: Label(rawValue: try row.text(4)), after: after))
        return true
      }
    }
    return changes
  }
}

/// The derived state of one subscription.
private struct Derived {
  let object: String
  let row: SubscriptionRow

  static let columns = "\(SubscriptionRow.columns), object"

  init(_ row: borrowing Row) throws {
    object = try row.text(SubscriptionRow.columnCount)
    self.row = try SubscriptionRow(row)
  }
}
