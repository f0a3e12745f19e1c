package import Base
package import Storage
package import Subscriptions

/// A difference that a reconciliation found and repaired: a delivery that had been lost, or a read
/// whose answer changed what is derived.
package struct RepairedDifference: Sendable, Equatable {
  package let provider: ObjectKey.Provider
  /// The number of the store's run that found it.
  package let run: Int64
  package let subject: Subject
  /// When the run requested the read; for a delivery, when it came.
  package let since: Instant
  package let found: Instant

  package enum Subject: Sendable, Equatable {
    /// By its number.
    case delivery(Int64)
    case object(ObjectKey)

    fileprivate var text: String {
      switch self {
      case .delivery(let number): "#\(number)"
      case .object(let key): key.description
      }
    }

    fileprivate init?(_ text: String) {
      let subject =
        text.hasPrefix("#")
        ? Int64(text.dropFirst()).map { Self.delivery($0) }
        : ObjectKey(text).map { Self.object($0) }
      guard let subject else { return nil }
      self = subject
    }
  }

  /// The most that are kept of a run: those that it found first.
  package static let countMax: Int64 = 10_000

  private static let columns = "provider, run, subject, since_ms, found_ms"

  private init(_ row: borrowing Row) throws {
    provider = try row.word(0)
    run = try row.integer(1)
    guard let subject = Subject(try row.text(2)) else {
      throw DatabaseError.statement("a repair is of nothing")
    }
    self.subject = subject
    since = try row.instant(3)
    found = try row.instant(4)
  }

  // MARK: reading

  /// The name for `find`: `store/run/subject`.
  package var name: String { "\(provider.rawValue)/\(run)/\(subject.text)" }

  package static func find(_ name: String, reading database: some Queryable) throws
    -> RepairedDifference?
  {
    let parts = name.split(separator: "/", maxSplits: 2).map(String.init)
    guard parts.count == 3, let run = Int64(parts[1]) else { return nil }
    return try database.first(
      """
      SELECT \(columns) FROM billing.repairs WHERE provider = $1 AND run = $2 AND subject = $3
      """, .text(parts[0]), .integer(run), .text(parts[2])
    ) { row in try RepairedDifference(row) }
  }

  /// The differences of one store or of all, newest first, after `last`.
  package static func all(
    of provider: ObjectKey.Provider?, after last: RepairedDifference?, limit: Int,
    reading database: some Queryable
  ) throws -> [RepairedDifference] {
    try database.rows(
      """
      SELECT \(columns) FROM billing.repairs
      WHERE (provider = $1 OR $1 = '') AND (found_ms, provider, subject) < ($2, $3, $4)
      ORDER BY found_ms DESC, provider DESC, subject DESC LIMIT $5
      """, .text(provider?.rawValue ?? ""), .instant(last?.found ?? .distantFuture),
      .text(last?.provider.rawValue ?? ""), .text(last?.subject.text ?? ""),
      .integer(Int64(limit))
    ) { row in try RepairedDifference(row) }
  }

  // MARK: writing

  package static func forget(
    of provider: ObjectKey.Provider, through run: Int64, in transaction: Transaction
  ) throws {
    try transaction.execute(
      "DELETE FROM billing.repairs WHERE provider = $1 AND run <= $2",
      .text(provider.rawValue), .integer(run))
  }
}

extension Reconciliation {
  /// Counts a repaired difference, and records which it is.
  package mutating func noteRepair(
    _ subject: RepairedDifference.Subject, since: Instant, at now: Instant,
    in transaction: Transaction
  ) throws {
    counts.repaired += 1
    guard counts.repaired <= RepairedDifference.countMax else { return }
    try transaction.execute(
      """
      INSERT INTO billing.repairs (provider, run, subject, since_ms, found_ms)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (provider, run, subject) DO UPDATE SET found_ms = excluded.found_ms
      """, .text(provider.rawValue), .integer(number), .text(subject.text), .instant(since),
      .instant(now))
  }
}
