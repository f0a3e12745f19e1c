internal import Base
internal import Storage

/// How many strangers an account has invited today (UTC).
enum Invitations {
  private static let day: Int64 = 86_400_000

  static func count(
    _ added: Int64, of account: Identifier, _ transaction: Transaction, _ limits: SyncLimits,
    now: Instant
  ) throws {
    let today = now.milliseconds / day
    let sent = try transaction.first(
      "SELECT invitation_count FROM sync.accounts WHERE id = $1 AND invitation_day = $2",
      .id(account), .integer(today)
    ) { row in try row.integer(0) }
    let total = (sent ?? 0) + added
    guard total <= limits.invitationsPerDay else {
      throw Refusal.sharingLimited(
        retryAfterSeconds: Int(((today + 1) * day - now.milliseconds) / 1000) + 1)
    }
    try transaction.execute(
      "UPDATE sync.accounts SET invitation_day = $2, invitation_count = $3 WHERE id = $1",
      .id(account), .integer(today), .integer(total))
  }
}
