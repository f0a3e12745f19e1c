package import Base
package import Storage

/// Works on queues in which one bad item stops no other. A slice is one write. If it fails for any reason but the
/// database, each item is done again alone, and those that fail wait (`FailingItems`).
package struct QueueWork: Sendable {
  package let database: Database
  package let clock: Clock

  package init(_ database: Database, clock: Clock) {
    self.database = database
    self.clock = clock
  }

  /// Works on the next account of a queue. Returns false if none is due.
  package func takeNext(
    _ queue: FailingItems.Queue, _ next: @escaping @Sendable (Transaction) throws -> Identifier?,
    work: @escaping @Sendable (Transaction, Identifier) throws -> Void
  ) throws -> Bool {
    try takeNext(queue, next, named: { account in (account, account) }, work: work)
  }

  /// Works on the row of `sync.<table>` whose column `moment` passed first. `item` is the column of its id, `owner`
  /// that of its account, unless the id is one. Returns false if none is due.
  package func takeNext(
    _ queue: FailingItems.Queue, of table: String, by item: String, owner: String? = nil,
    at moment: String, now: Instant,
    work: @escaping @Sendable (Transaction, Identifier) throws -> Void
  ) throws -> Bool {
    let isDue = FailingItems.isDue(queue, "\(table).\(item)", at: "$1")
    let account = owner ?? item
    return try takeNext(queue) { transaction in
      try transaction.first(
        """
        SELECT \(item), \(account) FROM sync.\(table)
        WHERE \(moment) IS NOT NULL AND \(moment) <= $1 AND \(isDue)
        ORDER BY \(moment), \(item) LIMIT 1
        """, .instant(now)
      ) { row in (id: try row.id(0), account: Optional(try row.id(1))) }
    } named: { item in
      item
    } work: { transaction, item in
      try work(transaction, item.id)
    }
  }

  /// Works on the next item of a queue, named as for a slice. Returns false if none is due.
  package func takeNext<Item: Sendable>(
    _ queue: FailingItems.Queue, _ next: @escaping @Sendable (Transaction) throws -> Item?,
    named name: @escaping @Sendable (Item) -> (id: Identifier, account: Identifier?),
    work: @escaping @Sendable (Transaction, Item) throws -> Void
  ) throws -> Bool {
    let taken = try slice(queue) { transaction in
      try next(transaction).map { [$0] } ?? []
    } named: {
      name($0)
    } work: { transaction, items in
      for item in items { try work(transaction, item) }
    }
    return !taken.isEmpty
  }

  /// Works on the items that `take` finds, none of which may be waiting, and returns them. `name` gives an item's id
  /// and account. `postpone` gets an item that has to wait, and when it is tried again.
  @discardableResult
  package func slice<Item: Sendable>(
    _ queue: FailingItems.Queue,
    taking take: @escaping @Sendable (Transaction) throws -> [Item],
    named name: @escaping @Sendable (Item) -> (id: Identifier, account: Identifier?),
    work: @escaping @Sendable (Transaction, [Item]) throws -> Void,
    postpone: @escaping @Sendable (Transaction, Item, Instant) throws -> Void = { _, _, _ in }
  ) throws -> [Item] {
    let taken = Locked<[Item]>([])
    do {
      try database.write(for: nil) { transaction in
        let items = try take(transaction)
        taken.withLock { $0 = items }
        guard !items.isEmpty else { return }
        try work(transaction, items)
        try FailingItems.settle(queue, items.map { name($0).id }, in: transaction)
      }
    } catch  where !error.isOfDatabase {
      let items = taken.withLock { $0 }
      switch items.count {
      case 0: throw error
      case 1:
        let (id, account) = name(items[0])
        try fail(queue, id, of: account, error) { try postpone($0, items[0], $1) }
      default:
        for item in items {
          try slice(queue, taking: { _ in [item] }, named: name, work: work, postpone: postpone)
        }
      }
    }
    return taken.withLock { $0 }
  }

  /// Lets an item wait. `postpone` gets the moment when it is tried again.
  package func fail(
    _ queue: FailingItems.Queue, _ item: Identifier, of account: Identifier?, _ error: any Error,
    _ postpone: @escaping @Sendable (Transaction, Instant) throws -> Void = { _, _ in }
  ) throws {
    let (now, reason) = (clock.now(), "\(error)")
    try database.write(for: nil) { transaction in
      let due = try FailingItems.note(
        queue, item, of: account, because: reason, now: now, in: transaction)
      try postpone(transaction, due)
    }
  }
}
