package import Base
package import Storage

/// Works on queues in which one bad item stops no other.
///
/// A slice is one write. If it fails for any reason but the database, each of its items is done again in a write of
/// its own, and those that fail wait, as `FailingItems` says.
package struct QueueWork: Sendable {
  package let database: Database
  package let clock: Clock

  package init(_ database: Database, clock: Clock) {
    self.database = database
    self.clock = clock
  }

  /// Works on the next account of a queue in one write. An account that fails waits, and the next
  /// call skips it. Returns false if none is due.
  package func takeNext(
    _ queue: FailingItems.Queue, _ next: @escaping @Sendable (Transaction) throws -> Identifier?,
    work: @escaping @Sendable (Transaction, Identifier) throws -> Void
  ) throws -> Bool {
    let taken = Locked<Identifier?>(nil)
    do {
      return try database.write(for: nil) { transaction in
        guard let account = try next(transaction) else { return false }
        taken.withLock { $0 = account }
        try work(transaction, account)
        try FailingItems.settle(queue, [account], in: transaction)
        return true
      }
    } catch  where !error.isOfDatabase {
      guard let account = taken.withLock({ $0 }) else { throw error }
      try fail(queue, account, of: account, error) { _, _ in }
      return true
    }
  }

  /// Does one item of a failed slice in a write of its own. If it fails, it waits.
  package func alone(
    _ queue: FailingItems.Queue, _ item: Identifier, of account: Identifier?,
    _ work: @escaping @Sendable (Transaction) throws -> Void,
    postpone: @escaping @Sendable (Transaction, Instant) throws -> Void = { _, _ in }
  ) throws {
    do {
      try database.write(for: nil) { transaction in
        try work(transaction)
        try FailingItems.settle(queue, [item], in: transaction)
      }
    } catch  where !error.isOfDatabase {
      try fail(queue, item, of: account, error, postpone)
    }
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
