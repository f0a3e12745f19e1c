package import Base
import Jobs
package import Storage
package import Subscriptions

/// A run that compares what is known with what one store reports again: its lists, page by page,
/// then what no list shows.
package struct Reconciliation: Sendable, Equatable {
  package let provider: ObjectKey.Provider
  package let number: Int64
  /// Whether it requests everything that the store remembers, and reads each subscription that no list shows.
  package let isWhole: Bool
  package private(set) var began: Instant
  /// Earlier events are not requested; nil if all are.
  package let since: Instant?
  /// The current list, or one of the steps that follow the lists.
  package var step: String
  /// Where the step's next page begins; nil for the first page.
  package var place: String?
  package var pageCount: Int64 = 0
  package var counts = Counts()
  package var updated: Instant
  package var ended: Instant?

  package struct Counts: Sendable, Equatable {
    package var examined: Int64 = 0
    package var agreed: Int64 = 0
    /// Something was lost or different.
    package var repaired: Int64 = 0
    /// The store's reports contradict each other or cannot be read.
    package var disputed: Int64 = 0
    /// The store did not answer about it.
    package var unreachable: Int64 = 0

    package init() {}
  }

  private static let columns = """
    provider, number, whole, began_ms, since_ms, step, place, pages, examined, agreed, repaired,
    disputed, unreachable, updated_ms, ended_ms
    """

  private init(_ row: borrowing Row) throws {
    provider = try row.word(0)
    number = try row.integer(1)
    isWhole = try row.integer(2) == 1
    began = try row.instant(3)
    since = try row.optionalInstant(4)
    step = try row.text(5)
    place = try row.optionalText(6)
    pageCount = try row.integer(7)
    counts.examined = try row.integer(8)
    counts.agreed = try row.integer(9)
    counts.repaired = try row.integer(10)
    counts.disputed = try row.integer(11)
    counts.unreachable = try row.integer(12)
    updated = try row.instant(13)
    ended = try row.optionalInstant(14)
  }

  private init(
    of provider: ObjectKey.Provider, number: Int64, isWhole: Bool, since: Instant?, at now: Instant
  ) {
    self.provider = provider
    self.number = number
    self.isWhole = isWhole
    self.since = since
    (began, updated) = (now, now)
    step = ""
  }

  // MARK: runs

  /// The most runs of a store that are kept.
  private static let keptCountMax: Int64 = 100
  /// How long before the start of the previous run events are requested once more.
  private static let overlap = Instant.Span.hours(1)

  /// The run that is under way; nil if there is none.
  package static func open(
    of provider: ObjectKey.Provider, reading database: some Queryable
  ) throws -> Reconciliation? {
    let last = try last(of: provider, where: "1 = 1", reading: database)
    return last?.ended == nil ? last : nil
  }

  /// The run that ended last.
  package static func ended(
    of provider: ObjectKey.Provider, reading database: some Queryable
  ) throws -> Reconciliation? {
    try last(of: provider, where: "ended_ms IS NOT NULL", reading: database)
  }

  private static func last(
    of provider: ObjectKey.Provider, where condition: String, reading database: some Queryable
  ) throws -> Reconciliation? {
    try database.first(
      """
      SELECT \(columns) FROM billing.reconciliations WHERE provider = $1 AND \(condition)
      ORDER BY number DESC LIMIT 1
      """, .text(provider.rawValue)
    ) { row in try Reconciliation(row) }
  }

  package static func find(
    _ number: Int64, of provider: ObjectKey.Provider, reading database: some Queryable
  ) throws -> Reconciliation? {
    try last(of: provider, where: "number = \(number)", reading: database)
  }

  /// The runs of one store or of all, newest first, after `last`.
  package static func all(
    of provider: ObjectKey.Provider?, after last: Reconciliation?, limit: Int,
    reading database: some Queryable
  ) throws -> [Reconciliation] {
    try database.rows(
      """
      SELECT \(columns) FROM billing.reconciliations
      WHERE (provider = $1 OR $1 = '') AND (began_ms < $2 OR began_ms = $2 AND provider > $3)
      ORDER BY began_ms DESC, provider LIMIT $4
      """, .text(provider?.rawValue ?? ""), .instant(last?.began ?? .distantFuture),
      .text(last?.provider.rawValue ?? ""), .integer(Int64(limit))
    ) { row in try Reconciliation(row) }
  }

  /// The number of runs that are kept.
  package static func count(
    of provider: ObjectKey.Provider?, reading database: some Queryable
  ) throws -> Int64 {
    try database.first(
      "SELECT count(*) FROM billing.reconciliations WHERE provider = $1 OR $1 = ''",
      .text(provider?.rawValue ?? "")
    ) { row in try row.integer(0) } ?? 0
  }

  /// Begins a run, unless one is under way, which becomes a whole one if that is requested.
  package static func begin(
    of provider: ObjectKey.Provider, isWhole: Bool, at now: Instant, in transaction: Transaction
  ) throws {
    // Whoever continues the run holds the sequence, too, and stores the row as it was read.
    try LedgerSequence.lock(in: transaction)
    let last = try last(of: provider, where: "1 = 1", reading: transaction)
    if let last, last.ended == nil, last.isWhole || !isWhole { return }
    if let last, last.ended == nil {
      return try Reconciliation(
        of: provider, number: last.number, isWhole: true, since: nil, at: now
      ).store(in: transaction)
    }
    let since = try ended(of: provider, reading: transaction).map { $0.began - overlap }
    let new = Reconciliation(
      of: provider, number: (last?.number ?? 0) + 1, isWhole: isWhole,
      since: isWhole ? nil : since, at: now)
    try transaction.execute(
      "DELETE FROM billing.reconciliations WHERE provider = $1 AND number <= $2",
      .text(provider.rawValue), .integer(new.number - keptCountMax))
    try RepairedDifference.forget(of: provider, through: new.number - keptCountMax, in: transaction)
    try new.store(in: transaction)
  }

  /// Starts over, up to `now`, because the store has forgotten what the run would request.
  package mutating func beginAnew(at now: Instant) {
    began = now
    step = ""
    place = nil
  }

  package func store(in transaction: Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO billing.reconciliations (\(Self.columns))
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
      ON CONFLICT (provider, number) DO UPDATE SET whole = excluded.whole,
        began_ms = excluded.began_ms, since_ms = excluded.since_ms, step = excluded.step, place = excluded.place,
        pages = excluded.pages, examined = excluded.examined, agreed = excluded.agreed,
        repaired = excluded.repaired, disputed = excluded.disputed,
        unreachable = excluded.unreachable, updated_ms = excluded.updated_ms,
        ended_ms = excluded.ended_ms
      """, .text(provider.rawValue), .integer(number), .integer(isWhole ? 1 : 0), .instant(began),
      .instant(since), .text(step), .text(place), .integer(pageCount), .integer(counts.examined),
      .integer(counts.agreed), .integer(counts.repaired), .integer(counts.disputed),
      .integer(counts.unreachable), .instant(updated), .instant(ended))
  }
}

extension Reconciliation {
  /// The kind of the jobs that continue runs, one for each store.
  package static let job = "reconcile"

  /// Requests that the store's run be continued, or a check whether one is due.
  package static func request(
    of provider: ObjectKey.Provider, at due: Instant, in transaction: Transaction
  ) throws {
    try Jobs.request(job, provider.rawValue, due: due, in: transaction)
  }
}
