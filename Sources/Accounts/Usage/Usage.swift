package import Base
package import Storage
package import Tiers

/// Why an account's usage changed.
package enum UsageReason: String, CaseIterable, Sendable {
  case recordCreated = "record_created"
  case recordDeleted = "record_deleted"
  case contentChanged = "content_changed"
  case versionsDropped = "versions_dropped"
  case messagesAppended = "messages_appended"
  /// A log began an epoch, without the messages that its snapshot stands for.
  case epochBegun = "epoch_begun"
  /// Versions of documents of versions were stored.
  case documentsPushed = "documents_pushed"
  /// Replaced versions and deletions of documents of versions were kept long enough.
  case documentsCollected = "documents_collected"
  case mailSent = "mail_sent"
  /// Messages for mailboxes were acknowledged, or have expired.
  case mailEnded = "mail_ended"
  /// A device offered key packages, or withdrew them.
  case keyPackagesOffered = "key_packages_offered"
  case keyPackageClaimed = "key_package_claimed"
  case blocksAppended = "blocks_appended"
  case trashPurged = "trash_purged"
  /// A correction by `coffer usage recount`.
  case recount
  /// Everything that came with an account from another Coffer.
  case arrived
}

/// An account's quota at a moment, as scheduled by billing.
package struct Cap: Sendable, Equatable {
  package let byteCount: Int64
  package let planID: String
  package let reason: CapReason

  /// Reads one row of coffer-billing's schedule. Without a row it is the free plan. An account whose founded plan is
  /// gone, as after a transfer, has lapsed.
  package init(
    _ queryable: some Queryable, _ account: Identifier, catalogue: Catalogue, now: Instant
  ) throws {
    let found = try queryable.first(
      """
      SELECT cap_bytes, plan,
        CASE WHEN reason = 'never_subscribed' AND EXISTS (SELECT 1 FROM billing.held h
          WHERE h.account_id = $1 AND h.reason IN (\(Self.foundedReasons))) THEN 'lapsed'
        ELSE reason END
      FROM billing.entitlements
      WHERE account_id = $1 AND from_ms <= $2 ORDER BY from_ms DESC LIMIT 1
      """,
      .id(account), .instant(now)
    ) { row in (try row.integer(0), try row.text(1), try row.text(2)) }
    guard let (byteCount, planID, reason) = found else {
      self.byteCount = catalogue.free.byteCount
      self.planID = catalogue.free.id
      self.reason = .neverSubscribed
      return
    }
    self.byteCount = byteCount
    self.planID = planID
    // A newer coffer-billing may write a reason that this program does not know. The cap still applies.
    self.reason = CapReason(rawValue: reason) ?? .subscribed
  }

  private static let foundedReasons = CapReason.allCases.filter(\.isFounded)
    .map { "'\($0.rawValue)'" }.joined(separator: ", ")
}

extension Cap {
  /// When the cap at `now` ends if no further events come; nil: never.
  package static func end(
    _ queryable: some Queryable, _ account: Identifier, after now: Instant
  ) throws -> Instant? {
    try queryable.first(
      """
      SELECT from_ms FROM billing.entitlements WHERE account_id = $1 AND from_ms > $2
      ORDER BY from_ms LIMIT 1
      """, .id(account), .instant(now)
    ) { row in try row.instant(0) }
  }

  /// The plan's limits besides bytes.
  package func limits(_ catalogue: Catalogue) -> Plan.Limits {
    catalogue.limits(of: planID)
  }
}

extension LockedOwner {
  /// Refuses content that is above the plan's limit for one document and larger than what it replaces.
  package func requireSize(
    _ byteCount: Int64, insteadOf before: Int64, _ limits: Plan.Limits
  ) throws(AccountRefusal) {
    if let max = limits.fileByteCount, byteCount > max, byteCount > before {
      throw .fileTooLarge(max: max)
    }
  }

  /// Refuses a write that would leave usage above the cap and higher than before. `reserved` is the room promised to
  /// uploads. Only the owner is told the owner's numbers.
  package func requireRoom(
    for delta: Int64, reserved: Int64 = 0, askedBy caller: Identifier,
    _ queryable: some Queryable, catalogue: Catalogue, now: Instant
  ) throws {
    let lack = try lack(
      of: delta, growingBy: delta, reserved: reserved, askedBy: caller, queryable,
      catalogue: catalogue, now: now)
    if let lack { throw lack }
  }

  /// Why there is no room for `delta` more bytes; nil if there is. `growth` is their part outside of versions and
  /// trash. If the owner chose that versions and trash make room, only what is live must fit. The rest is deleted
  /// right after the write, and may take no more than the cap once more meanwhile.
  package func lack(
    of delta: Int64, growingBy growth: Int64, reserved: Int64, askedBy caller: Identifier,
    _ queryable: some Queryable, catalogue: Catalogue, now: Instant
  ) throws -> AccountRefusal? {
    guard delta > 0 else { return nil }
    let cap = try Cap(queryable, account, catalogue: catalogue, now: now)
    let usage = usageByteCount + reserved
    guard
      case .exceeded(var needed) = Quota.admission(usage: usage, delta: delta, cap: cap.byteCount)
    else { return nil }
    if purgesHistory {
      switch Quota.admission(
        usage: liveByteCount + reserved, delta: growth, cap: cap.byteCount)
      {
      case .admitted:
        // Compared without a sum that could overflow.
        return needed - cap.byteCount <= cap.byteCount
          ? nil : .tooMuchReplaced(retryAfterSeconds: 5)
      case .exceeded(let live): needed = live
      }
    }
    return .overCap(
      OverCap(
        owner: account, isCallers: account == caller, usageByteCount: usageByteCount,
        capByteCount: cap.byteCount,
        neededByteCount: needed, reason: cap.reason, planID: cap.planID,
        fitting: catalogue.plansThatFit(needed, beside: cap.byteCount)))
  }
}
