import Audit
import Base
import Configuration
import JSON
import Ledger
import Storage
import Subscriptions

/// The move of a purchase from the account that owns it to the one whose device presents it.
struct Restore {
  let key: ObjectKey
  let owner: Identifier
  let claimant: Identifier
  let now: Instant

  /// Nil if no single account owns it. If the store contradicts itself about the owner, an operator decides.
  init?(of key: ObjectKey, from ownership: Ownership, to claimant: Identifier, at now: Instant) {
    guard let owner = ownership.account, owner != claimant else { return nil }
    self.key = key
    self.owner = owner
    self.claimant = claimant
    self.now = now
  }

  /// The most moves of one purchase within `span`, so that two people cannot have it in turns.
  private static let countMax: Int64 = 3
  private static let span = Instant.Span.days(30)

  func isAllowed(by policy: RestorePolicy, in transaction: Transaction) throws -> Bool {
    switch policy {
    case .refuse: return false
    case .transfer: break
    case .afterInactivity(let span):
      guard try lastActive(reading: transaction).map({ $0 + span <= now }) ?? true else {
        return false
      }
    }
    let count = try transaction.first(
      """
      SELECT count(*) FROM billing.decisions
      WHERE object = $1 AND kind = 'transfer' AND decided_ms > $2
      """, .text(key.description), .instant(now - Self.span)
    ) { row in try row.integer(0) }
    return (count ?? 0) < Self.countMax
  }

  /// When the owner was last active, by what coffer-sync records of it: transferred content,
  /// counted by months, changed files, keys. Nil if the account is gone.
  private func lastActive(reading transaction: Transaction) throws -> Instant? {
    let moments = try transaction.first(
      """
      SELECT a.created_ms,
        (SELECT max(added_ms) FROM sync.device_keys WHERE account_id = a.id),
        (SELECT at_ms FROM sync.usage_entries WHERE owner_id = a.id ORDER BY seq DESC LIMIT 1),
        (SELECT max(month) FROM sync.transfers WHERE owner_id = a.id)
      FROM sync.accounts AS a WHERE a.id = $1
      """, .id(owner)
    ) { row in
      (
        [try row.optionalInstant(0), try row.optionalInstant(1), try row.optionalInstant(2)],
        try row.optionalInteger(3)
      )
    }
    guard let (known, month) = moments else { return nil }
    return (known + [month.flatMap(Self.end(ofMonth:))]).compactMap { $0 }.max()
  }

  /// The end of a month like 202611.
  private static func end(ofMonth number: Int64) -> Instant? {
    let next = number % 100 == 12 ? number + 89 : number + 1
    let month = next % 100
    return Instant(rfc3339: "\(next / 100)-\(month < 10 ? "0" : "")\(month)-01T00:00:00Z")
  }

  /// Transfers the purchase. The audit log names both accounts.
  func perform(
    by policy: RestorePolicy, _ ledger: Ledger, in transaction: Transaction
  ) throws {
    let reason =
      policy == .transfer ? "restored on another account" : "restored, its owner was inactive"
    try ledger.decide(.transfer(claimant, key, note: reason), at: now, in: transaction)
    try AuditLog.append(
      AuditLog.Draft(
        actor: "coffer-billing", act: "subscription restore", subject: key.description,
        account: claimant, formerAccount: owner, reason: reason,
        before: ["owner": .string(owner.description)],
        after: ["owner": .string(claimant.description)]),
      at: now, in: transaction)
  }
}
