package import Base
package import Storage

/// Keeps one failing item from stopping its queue: it waits, twice as long after each failure, and the others go on.
/// It is retried for ever, and `coffer attention` lists it. A failure of the database is not the item's: the queue
/// waits.
package enum FailingItems {
  /// A queue. Its name is stored in the database.
  package struct Queue: Sendable {
    let name: String

    package init(_ name: String) { self.name = name }
  }

  static let pauseMax = Instant.Span.hours(1)
  /// An item that was due for so long and was not tried has left its queue by another way.
  private static let untriedSpan = Instant.Span.days(7)
  private static let reasonLengthMax = 300

  /// Counts one more failure. Returns when the item is to be tried again.
  @discardableResult
  package static func note(
    _ queue: Queue, _ item: Identifier, of account: Identifier?, because reason: String,
    now: Instant, in transaction: Transaction
  ) throws -> Instant {
    let before = try transaction.number(
      "SELECT failure_count FROM sync.failing_items WHERE queue = $1 AND item = $2",
      .text(queue.name), .id(item))
    let due = now + pause(after: before)
    let reason = String(reason.prefix(reasonLengthMax))
    try transaction.execute(
      """
      INSERT INTO sync.failing_items
        (queue, item, account_id, failure_count, since_ms, due_ms, reason)
      VALUES ($1, $2, $3, 1, $4, $5, $6)
      ON CONFLICT (queue, item) DO UPDATE SET failure_count = failing_items.failure_count + 1,
        due_ms = excluded.due_ms, reason = excluded.reason
      """, .text(queue.name), .id(item), .id(account), .instant(now),
      .instant(due), .text(reason))
    Log.warning(
      "sync.item_failed",
      [
        "queue": queue.name, "item": item.description, "failures": String(before + 1),
        "reason": reason,
      ])
    return due
  }

  private static func pause(after failures: Int64) -> Instant.Span {
    min(pauseMax, .seconds(1 << min(failures, 12)))
  }

  /// When an item that failed is to be tried again; nil if it has not failed, or has succeeded since.
  package static func due(
    _ queue: Queue, _ item: Identifier, reading database: some Queryable
  ) throws -> Instant? {
    try database.first(
      "SELECT due_ms FROM sync.failing_items WHERE queue = $1 AND item = $2",
      .text(queue.name), .id(item)
    ) { row in try row.instant(0) }
  }

  /// The items of a queue whose ids begin with `byte`.
  package static func items(
    of queue: Queue, beginningWith byte: UInt8, reading database: some Queryable
  ) throws -> [Identifier] {
    let high = UInt64(byte) << 56
    return try database.ids(
      "SELECT item FROM sync.failing_items WHERE queue = $1 AND item BETWEEN $2 AND $3",
      .text(queue.name), .id(Identifier(high: high, low: 0)),
      .id(Identifier(high: high | UInt64.max >> 8, low: UInt64.max)))
  }

  /// Removes items that are done.
  package static func settle(
    _ queue: Queue, _ items: some Sequence<Identifier>, in transaction: Transaction
  ) throws {
    for list in SQLList.slices(of: items.map { .id($0) }, after: 1) {
      try transaction.execute(
        "DELETE FROM sync.failing_items WHERE queue = $1 AND item IN (\(list.parameters))",
        values: [.text(queue.name)] + list.values)
    }
  }

  /// Removes a slice of the items that left their queues by another way. Returns how many, `count` at most.
  package static func forgetUntried(
    _ count: Int64, at now: Instant, in transaction: Transaction
  ) throws -> Int {
    try transaction.execute(
      """
      DELETE FROM sync.failing_items WHERE (queue, item) IN (
        SELECT queue, item FROM sync.failing_items WHERE due_ms <= $1 LIMIT $2)
        AND due_ms <= $1
      """, .instant(now - untriedSpan), .integer(count))
  }

  /// A condition without waiting items. `item` is a column with its table, `moment` the parameter for now.
  package static func isDue(_ queue: Queue, _ item: String, at moment: String) -> String {
    """
    NOT EXISTS (SELECT 1 FROM sync.failing_items AS w WHERE w.queue = '\(queue.name)'
      AND w.item = \(item) AND w.due_ms > \(moment))
    """
  }
}
