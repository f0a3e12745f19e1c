package import Accounts
package import Base
import Requests
package import Storage

/// Changes of an account's recoveries. The account's row must be locked. Each change is told to all devices.
package struct RecoveryWrite {
  private let transaction: Transaction
  private let account: Identifier
  private let now: Instant

  package init(_ transaction: Transaction, of account: Identifier, now: Instant) {
    self.transaction = transaction
    self.account = account
    self.now = now
  }

  /// Records what the recovery key asks for. Without a delay it opens at once. Nothing is asked for while the account
  /// is suspended, because its devices would not be told.
  func ask(
    _ key: RecoveryKey, for guest: Recovery.Guest?, _ owners: inout LockedOwners
  ) throws -> Recovery {
    let condition = Recovery.isSuspended("accounts.id")
    let isSuspended = try transaction.hasRow(
      "SELECT id FROM sync.accounts WHERE id = $1 AND \(condition)", .id(account))
    guard !isSuspended else { throw AccountRefusal.accountSuspended(isCallers: true) }
    if let earlier = try Recovery.unfinished(transaction, of: account) {
      guard earlier.state == .ended else {
        throw RecoveryRefusal.recoveryUnderWay(opens: earlier.opens)
      }
      try end(.ended, &owners)
    }
    let all = try Recovery.list(transaction, of: account)
    let lately = all.filter { $0.asked > now - .days(1) }
    if lately.count >= Recovery.countPerDay, let first = lately.last {
      let wait = (first.asked + .days(1)).milliseconds - now.milliseconds
      throw RecoveryRefusal.recoveryLimited(retryAfterSeconds: Int((wait + 999) / 1000))
    }
    if let guest {
      guard try Device.find(transaction, guest.key) == nil,
        try RecoveryKey.find(transaction, guest.key) == nil,
        try !Device.hasRemains(transaction, guest.key)
      else { throw AccountRefusal.keyRegistered }
    }
    let number = (all.first?.number ?? 0) + 1
    let opens = now + .days(key.delayDays)
    try transaction.execute(
      """
      INSERT INTO sync.recoveries
        (account_id, number, recovery_key, state, asked_ms, opens_ms, look_ms, device_key, label,
         statement_created_s, statement_signature, statement_proof, history_id)
      VALUES ($1, $2, $3, 'waiting', $4, $5, $5, $6, $7, $8, $9, $10, $11)
      """, .id(account), .integer(number), .blob(key.publicKey), .instant(now), .instant(opens),
      .blob(guest?.key), .text(guest?.label), .integer(guest?.created), .blob(guest?.signature),
      .blob(guest?.proof), .id(History.current(transaction).id))
    try transaction.execute(
      "DELETE FROM sync.recoveries WHERE account_id = $1 AND number <= $2",
      .id(account), .integer(number - Recovery.countMax))
    if opens <= now { try advance(&owners) } else { try tell(&owners) }
    guard let recovery = try Recovery.find(transaction, number, of: account) else {
      throw RecoveryRefusal.recoveryNotFound
    }
    return recovery
  }

  /// Opens the account's recovery if it has waited for long enough, and ends it when its time is over.
  func advance(_ owners: inout LockedOwners) throws {
    guard let live = try Recovery.unfinished(transaction, of: account) else { return }
    let isErased = try Departure.find(account, reading: transaction)?.hasBegun ?? false
    let isOver = isErased || live.closes <= now || live.state == .ended
    guard !isOver else {
      try end(.ended, &owners)
      return
    }
    guard live.state == .waiting, live.opens <= now else { return }
    if let guest = live.guest {
      do { try letIn(guest, by: live.key) } catch is AccountRefusal {
        // The account has as many keys as it may, or another one has registered the key.
        try end(.failed, &owners)
        return
      }
    }
    try transaction.execute(
      "UPDATE sync.recoveries SET state = 'open', look_ms = $3 WHERE account_id = $1 AND number = $2",
      .id(account), .integer(live.number), .instant(live.closes))
    try tell(&owners)
  }

  private func letIn(_ guest: Recovery.Guest, by key: [UInt8]) throws {
    try Device.add(
      transaction, guest.key, to: account, label: guest.label,
      statement: Device.Statement(
        author: KeySignature(created: guest.created, author: key, signature: guest.signature),
        proof: guest.proof), now: now)
  }

  /// Ends what waits or is open at once. Returns false if nothing does.
  @discardableResult
  package func end(_ state: Recovery.State, _ owners: inout LockedOwners) throws -> Bool {
    let count = try transaction.execute(
      """
      UPDATE sync.recoveries SET state = $2, ended_ms = $3, look_ms = NULL
      WHERE account_id = $1 AND look_ms IS NOT NULL
      """, .id(account), .text(state.rawValue), .instant(now))
    if count > 0 { try tell(&owners) }
    return count > 0
  }

  /// Takes the account's next number, so that devices that sleep are woken, too.
  func tell(_ owners: inout LockedOwners) throws {
    _ = try owners.change(account) { $0.nextSequence(for: .recovery) }
    try owners.save(transaction, now: now)
  }
}
