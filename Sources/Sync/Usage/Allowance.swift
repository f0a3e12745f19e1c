internal import Base
internal import Storage
internal import Tiers

/// What an account may keep on disk beyond what it is charged for, so that no pace of writing takes more
/// than its cap accounts for.
///
/// Content that was replaced or deleted stays for downloads that hold it, and uploads under way lie
/// beside what they will replace. Records that were deleted stay for clients that have not been told.
enum Allowance {
  /// Beside twice the cap: so that a small cap does not forbid to save a document often.
  static let byteCount: Int64 = 32 << 20
  /// Kept objects of an account with more than this go as soon as no download begins with them.
  static let crowdedByteCount: Int64 = 8 << 20
  /// Records that may be made at once beside twice as many as the cap holds.
  private static let recordCount: Int64 = 5000
  /// In which time as many may be made again.
  private static let recordSpan = Instant.Span.days(30)

  /// Refuses an upload whose object would be too much beside all that the owner keeps uncharged.
  ///
  /// `reserved` is what uploads under way may bring. An account above its cap may still shrink.
  static func require(
    _ byteCount: Int64, reserved: Int64, of owner: LockedOwner, _ transaction: Transaction,
    catalogue: Catalogue, now: Instant
  ) throws {
    let cap = try Cap(transaction, owner.account, catalogue: catalogue, now: now).byteCount
    // No cap is so large that a sum of it overflows.
    let charged = min(max(cap, owner.usageByteCount), .max / 8)
    let kept = owner.keptByteCount + reserved + byteCount
    guard kept <= 2 * charged + Self.byteCount else {
      throw Refusal.tooMuchReplaced(retryAfterSeconds: 5)
    }
  }

  /// Counts records that are made. Each takes its part of a span that ends in the future as long as they
  /// come faster than the pace that the cap allows.
  static func count(
    _ added: Int64, of account: Identifier, _ transaction: Transaction, catalogue: Catalogue,
    now: Instant
  ) throws {
    let cap = try Cap(transaction, account, catalogue: catalogue, now: now).byteCount
    let fitting = cap / max(1, catalogue.metadataFeeByteCount)
    let part = recordSpan.milliseconds / (2 * min(fitting, .max / 8) + recordCount)
    let current = try transaction.first(
      "SELECT created_until_ms FROM sync.accounts WHERE id = $1", .id(account)
    ) { row in try row.instant(0) }
    // No count reaches further than a span: one that does was made by a clock that went back since.
    let begin = current.flatMap { now...(now + recordSpan) ~= $0 ? $0 : nil } ?? now
    let until = begin + .milliseconds(added * part)
    guard until <= now + recordSpan else {
      let wait = until.milliseconds - (now + recordSpan).milliseconds
      throw Refusal.creationLimited(retryAfterSeconds: Int(wait / 1000) + 1)
    }
    try transaction.execute(
      "UPDATE sync.accounts SET created_until_ms = $2 WHERE id = $1",
      .id(account), .instant(until))
  }
}
