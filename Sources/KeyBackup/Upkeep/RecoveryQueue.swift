import Accounts
import Base
import Storage

/// Recoveries that open or end by their time.
enum RecoveryQueue {
  static let queue = FailingItems.Queue("recovery")

  /// The next account whose recovery is due by its time, or has ended before.
  static func next(_ transaction: Transaction, now: Instant) throws -> Identifier? {
    let isDue = FailingItems.isDue(queue, "recoveries.account_id", at: "$1")
    return try transaction.first(
      """
      SELECT account_id FROM sync.recoveries
      WHERE look_ms IS NOT NULL AND \(isDue) AND (look_ms <= $1 OR \(Recovery.hasEnded))
      ORDER BY look_ms, account_id LIMIT 1
      """, .instant(now)
    ) { row in try row.id(0) }
  }

  static func advance(_ transaction: Transaction, _ account: Identifier, now: Instant) throws {
    var owners = try LockedOwners(transaction, [account])
    try RecoveryWrite(transaction, of: account, now: now).advance(&owners)
  }

  /// What waits or is open for a key that has ended; nil if nothing does.
  private static func astray(
    _ queryable: some Queryable, of account: Identifier
  ) throws -> Recovery? {
    guard let live = try Recovery.live(queryable, of: account),
      try RecoveryKey.find(queryable, of: account)?.publicKey != live.key
    else { return nil }
    return live
  }

  static func faults(of account: Identifier, in database: Database) throws -> [String] {
    try database.read { try astray($0, of: account) }.map { live in
      ["the recovery \(live.number) is \(live.state.rawValue), and its key has ended"]
    } ?? []
  }

  /// Ends it. Returns how many there were: 0 or 1.
  static func repair(of account: Identifier, in database: Database) throws -> Int {
    try database.write(for: account) { transaction in
      var owners = try LockedOwners(transaction, [account])
      guard let live = try astray(transaction, of: account) else { return 0 }
      try RecoveryWrite(transaction, of: account, now: live.asked).end(.ended, &owners)
      return 1
    }
  }
}
