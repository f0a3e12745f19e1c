package import Base
package import Storage
package import Tiers

/// How much an account may keep on disk beyond its charged usage, so that fast writers take no more than that.
/// Replaced and deleted content stays for downloads that read it, uploads take room beside what they replace, and
/// deleted records stay for clients that have not seen the deletion.
package enum Allowance {
  /// Allowed in addition to twice the cap, so that a small cap still allows frequent saves.
  static let byteCount: Int64 = 32 << 20
  /// If an account keeps more, its unused objects are deleted as soon as no download can start with them.
  package static let crowdedByteCount: Int64 = 8 << 20
  /// The records that may be created at once, in addition to twice as many as the cap holds.
  private static let recordCount: Int64 = 5000
  /// The time in which the same number may be created again.
  private static let recordSpan = Instant.Span.days(30)

  /// Refuses an upload that is too large beside the `reserved` room of others and all that the owner keeps uncharged.
  /// An account above its cap may still shrink.
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

  /// Counts new records, each of which takes a part of the span. While they come too fast, it ends in the future.
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
    // One that reaches further than the span was made by a clock that has since been set back.
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
