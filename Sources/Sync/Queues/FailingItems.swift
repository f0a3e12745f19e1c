internal import Base
internal import Storage

/// Keeps one item that fails from stopping the queue it lies in.
///
/// The item waits, twice as long after each failure, and the others go on. It is tried for ever, since nothing
/// but its success is an end; `coffer attention` lists it meanwhile. What fails because of the database or
/// its disk is nobody's item: it is thrown on, and the whole queue waits.
enum FailingItems {
  /// The names stand in the database.
  enum Queue: String, Sendable, CaseIterable {
    /// Folders whose children are to be marked deleted.
    case deletions
    /// Accounts that are to be erased.
    case erasures
    /// Erased accounts of which nothing needs to be known any more.
    case forgetting
    /// Objects that nothing points to.
    case garbage
    /// Reservations of uploads that ended, by their objects.
    case reservations
    /// Files of uploads that a crash cut off, by their objects.
    case leftovers
    /// Deleted files that every client knows of.
    case pruning
  }

  static let pauseMax = Instant.Span.hours(1)
  private static let reasonLengthMax = 300

  /// Notes one more failure; returns when the item is to be tried again.
  @discardableResult
  static func note(
    _ queue: Queue, _ item: Identifier, of account: Identifier?, because reason: String,
    now: Instant, in transaction: Transaction
  ) throws -> Instant {
    let before =
      try transaction.first(
        "SELECT failure_count FROM sync.failing_items WHERE queue = $1 AND item = $2",
        .text(queue.rawValue), .id(item)
      ) { row in try row.integer(0) } ?? 0
    let due = now + pause(after: before)
    let reason = String(reason.prefix(reasonLengthMax))
    try transaction.execute(
      """
      INSERT INTO sync.failing_items
        (queue, item, account_id, failure_count, since_ms, due_ms, reason)
      VALUES ($1, $2, $3, 1, $4, $5, $6)
      ON CONFLICT (queue, item) DO UPDATE SET failure_count = failing_items.failure_count + 1,
        due_ms = excluded.due_ms, reason = excluded.reason
      """, .text(queue.rawValue), .id(item), account.map { .id($0) } ?? .null, .instant(now),
      .instant(due), .text(reason))
    Log.warning(
      "sync.item_failed",
      [
        "queue": queue.rawValue, "item": item.description, "failures": String(before + 1),
        "reason": reason,
      ])
    return due
  }

  private static func pause(after failures: Int64) -> Instant.Span {
    min(pauseMax, .seconds(1 << min(failures, 12)))
  }

  /// Whether it failed and was not done since.
  static func isNoted(
    _ queue: Queue, _ item: Identifier, reading database: some Queryable
  ) throws -> Bool {
    try database.first(
      "SELECT due_ms FROM sync.failing_items WHERE queue = $1 AND item = $2",
      .text(queue.rawValue), .id(item)
    ) { row in try row.instant(0) } != nil
  }

  /// The items are done.
  static func settle(
    _ queue: Queue, _ items: some Sequence<Identifier>, in transaction: Transaction
  ) throws {
    for list in SQLList.slices(of: items.map { .id($0) }, after: 1) {
      try transaction.execute(
        "DELETE FROM sync.failing_items WHERE queue = $1 AND item IN (\(list.parameters))",
        values: [.text(queue.rawValue)] + list.values)
    }
  }

  /// A condition that leaves out what still waits; `item` is a column with its table, `moment` the
  /// statement's parameter for now.
  static func isDue(_ queue: Queue, _ item: String, at moment: String) -> String {
    """
    NOT EXISTS (SELECT 1 FROM sync.failing_items AS w WHERE w.queue = '\(queue.rawValue)'
      AND w.item = \(item) AND w.due_ms > \(moment))
    """
  }
}
