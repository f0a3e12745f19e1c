package import Base
package import Storage
package import Tiers

/// How much an account may keep on disk beyond its charged usage, so that fast writers cannot take more than
/// their cap accounts for.
///
/// Replaced and deleted content stays for downloads that are reading it, and uploads under way take room next
/// to the content that they will replace. Deleted records stay for clients that have not seen the deletion.
package enum Allowance {
  /// Allowed in addition to twice the cap, so that a small cap still allows frequent saves.
  static let byteCount: Int64 = 32 << 20
  /// If an account keeps more than this, its unused objects are deleted as soon as no download can
  /// start with them.
  package static let crowdedByteCount: Int64 = 8 << 20
  /// The records that may be created at once, in addition to twice as many as the cap holds.
  private static let recordCount: Int64 = 5000
  /// The time in which the same number may be created again.
  private static let recordSpan = Instant.Span.days(30)

  /// Refuses an upload whose object would be too large beside everything that the owner keeps uncharged.
  ///
  /// `reserved` is the size of the uploads under way. An account above its cap may still shrink.
  package static func require(
    _ byteCount: Int64, reserved: Int64, of owner: LockedOwner, _ transaction: Transaction,
    catalogue: Catalogue, now: Instant
  ) throws {
    let cap = try Cap(transaction, owner.account, catalogue: catalogue, now: now).byteCount
    // Clamped, so that no sum with a cap overflows.
    let charged = min(max(cap, owner.liveByteCount), .max / 8)
    let kept = owner.keptByteCount + reserved + byteCount
    guard kept <= 2 * charged + Self.byteCount else {
      throw AccountRefusal.tooMuchReplaced(retryAfterSeconds: 5)
    }
  }

  /// Counts new records against the pace that the cap allows. Each takes a part of the span; while
  /// they come faster than that pace, the span ends in the future.
  package static func count(
    _ added: Int64, of account: Identifier, _ transaction: Transaction, catalogue: Catalogue,
    now: Instant
  ) throws {
    let cap = try Cap(transaction, account, catalogue: catalogue, now: now).byteCount
    let fitting = cap / max(1, catalogue.metadataFeeByteCount)
    let part = recordSpan.milliseconds / (2 * min(fitting, .max / 8) + recordCount)
    let current = try transaction.first(
      "SELECT created_until_ms FROM sync.accounts WHERE id = $1", .id(account)
    ) { row in try row.instant(0) }
    // A count never reaches further than one span. One that does was made by a clock that has since
    // been set back.
    let begin = current.flatMap { now...(now + recordSpan) ~= $0 ? $0 : nil } ?? now
    let until = begin + .milliseconds(added * part)
    guard until <= now + recordSpan else {
      let wait = until.milliseconds - (now + recordSpan).milliseconds
      throw AccountRefusal.creationLimited(retryAfterSeconds: Int(wait / 1000) + 1)
    }
    try transaction.execute(
      "UPDATE sync.accounts SET created_until_ms = $2 WHERE id = $1",
      .id(account), .instant(until))
  }
}
