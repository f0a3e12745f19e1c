package import Base
package import Storage
package import Tiers

/// Invitations by limited accounts, in a day (UTC) and unanswered: pending shares of files and logs.
package enum Invitations {
  private static let day: Int64 = 86_400_000

  /// Whether an account's invitations to strangers are limited: a young or a free one.
  package static func isLimited(
    _ account: Identifier, _ queryable: some Queryable, _ limits: SyncLimits,
    catalogue: Catalogue, now: Instant
  ) throws -> Bool {
    let cap = try Cap(queryable, account, catalogue: catalogue, now: now)
    if cap.planID == catalogue.free.id { return true }
    let found = try Account.find(queryable, account)
    return found.map { now - $0.created < limits.youngAge } ?? true
  }

  /// Counts an invitation, unless it is blocked or one too many for either account. Both rows are held.
  package static func admit(
    _ receiver: Identifier, by account: Identifier, _ transaction: Transaction,
    _ limits: SyncLimits, catalogue: Catalogue, now: Instant
  ) throws {
    guard try !Blocks.has(transaction, receiver, account) else {
      throw AccountRefusal.invitationNotTaken
    }
    guard try !Contacts.areContacts(transaction, account, receiver),
      try isLimited(account, transaction, limits, catalogue: catalogue, now: now)
    else { return }
    let max = limits.openInvitationCountMax
    guard try waiting(.sent, account, transaction, max: max) < max else {
      throw AccountRefusal.tooManyInvitations
    }
    guard try room(of: receiver, transaction, limits, now: now) > 0 else {
      throw AccountRefusal.invitationNotTaken
    }
    try count([receiver: 1], of: account, transaction, limits, now: now)
  }

  /// Counts invitations by receiver, unless they are too many for today. The rows of all accounts are held.
  package static func count(
    _ sent: [Identifier: Int64], of account: Identifier, _ transaction: Transaction,
    _ limits: SyncLimits, now: Instant
  ) throws {
    guard !sent.isEmpty else { return }
    let today = now.milliseconds / day
    let before = try transaction.number(
      "SELECT invitation_count FROM sync.accounts WHERE id = $1 AND invitation_day = $2",
      .id(account), .integer(today))
    let total = before + sent.values.reduce(0, +)
    guard total <= limits.invitationsPerDay else {
      throw AccountRefusal.sharingLimited(
        retryAfterSeconds: Int(((today + 1) * day - now.milliseconds) / 1000) + 1)
    }
    try transaction.execute(
      "UPDATE sync.accounts SET invitation_day = $2, invitation_count = $3 WHERE id = $1",
      .id(account), .integer(today), .integer(total))
    for (receiver, count) in sent {
      let before = try receivedCount(receiver, transaction, now: now)
      try transaction.execute(
        "UPDATE sync.accounts SET received_day = $2, received_count = $3 WHERE id = $1",
        .id(receiver), .integer(today), .integer(before + count))
    }
  }

  /// How many more invitations the receiver accepts, by the limits of unanswered ones and of one day.
  package static func room(
    of receiver: Identifier, _ queryable: some Queryable, _ limits: SyncLimits, now: Instant
  ) throws -> Int64 {
    let max = limits.receivedInvitationCountMax
    let today = try receivedCount(receiver, queryable, now: now)
    guard today < max else { return 0 }
    let waiting = try waiting(.received, receiver, queryable, max: max)
    return max - Swift.max(today, waiting)
  }

  private static func receivedCount(
    _ receiver: Identifier, _ queryable: some Queryable, now: Instant
  ) throws -> Int64 {
    try queryable.number(
      "SELECT received_count FROM sync.accounts WHERE id = $1 AND received_day = $2",
      .id(receiver), .integer(now.milliseconds / day))
  }

  /// The side of an account in its invitations.
  package enum Side {
    case sent, received

    fileprivate var own: String { self == .sent ? "owner_id" : "account_id" }
    fileprivate var other: String { self == .sent ? "account_id" : "owner_id" }
  }

  /// Unanswered invitations between an account and strangers, counted up to `max`.
  package static func waiting(
    _ side: Side, _ account: Identifier, _ queryable: some Queryable, max: Int64
  ) throws -> Int64 {
    let files = try waiting(
      side, in: "shares", account, queryable,
      "CROSS JOIN sync.files AS f", "AND f.id = p.file_id AND f.deleted = 0", max: max)
    guard files < max else { return files }
    return files
      + (try waiting(side, in: "log_shares", account, queryable, "", "", max: max - files))
  }

  /// Contacts are excluded by account, however many their shares. SQLite keeps this order of joins if they are
  /// `CROSS`.
  private static func waiting(
    _ side: Side, in table: String, _ account: Identifier, _ queryable: some Queryable,
    _ join: String, _ condition: String, max: Int64
  ) throws -> Int64 {
    let (own, other) = (side.own, side.other)
    let next = """
      SELECT s.\(other) FROM sync.\(table) AS s
      WHERE s.\(own) = $1 AND s.state = 'pending'
      """
    let areContacts = Contacts.areContacts("o.id", "$1")
    let open = try queryable.ids(
      """
      WITH RECURSIVE others (id) AS (
        SELECT (\(next) ORDER BY s.\(other) LIMIT 1)
        UNION ALL
        SELECT (\(next) AND s.\(other) > o.id ORDER BY s.\(other) LIMIT 1)
        FROM others AS o WHERE o.id IS NOT NULL)
      SELECT p.\(other) FROM others AS o CROSS JOIN sync.\(table) AS p \(join)
      WHERE p.\(own) = $1 AND p.state = 'pending' AND p.\(other) = o.id \(condition)
        AND NOT (\(areContacts))
      LIMIT $2
      """, .id(account), .integer(max))
    return Int64(open.count)
  }
}
