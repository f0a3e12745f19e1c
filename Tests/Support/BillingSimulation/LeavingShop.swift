import Base
import Crypto
import Ledger
import Requests
import Storage
import Sync

/// The work and the rows of coffer-sync for an account that is being deleted.
extension BuyingShop {
  package func askForEnd(hasMoved: Bool = false) throws {
    let (account, now) = (account, installation.now)
    try inSync { transaction in
      try transaction.execute(
        """
        INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
        VALUES ($1, $1, 0, 0, 0) ON CONFLICT (id) DO NOTHING
        """, .id(account))
      _ = try AccountDeletion.ask(
        for: account, erasing: now + .days(7), by: .owner, hasMoved: hasMoved, at: now,
        in: transaction)
    }
  }

  package func stay() throws {
    let account = account
    try inSync { _ = try AccountDeletion.cancel(account, in: $0) }
  }

  /// From now on the deletion cannot be cancelled.
  package func beginErasing() throws {
    let (account, now) = (account, installation.now)
    try inSync { transaction in
      try transaction.execute(
        "UPDATE sync.account_deletions SET begun_ms = $2 WHERE account_id = $1", .id(account),
        .instant(now))
    }
  }

  /// Erases the account within a second, as `coffer account delete --now` does to a small account.
  package func eraseAtOnce() throws {
    try askForEnd()
    let (account, now) = (account, installation.now)
    try inSync { transaction in
      try transaction.execute(
        """
        UPDATE sync.account_deletions SET erase_ms = $2, begun_ms = $2, erased_ms = $2
        WHERE account_id = $1
        """, .id(account), .instant(now))
    }
  }

  /// Erases another account, of whose deletion billing has not heard.
  package func eraseUnheard(daysAgo: Int64) throws {
    let asked = installation.now - .days(daysAgo)
    try inSync { transaction in
      try transaction.execute(
        """
        INSERT INTO sync.account_deletions (account_id, asked_ms, erase_ms, begun_ms, erased_ms)
        VALUES ($1, $2, $2, $2, $2)
        """, .id(Random.identifier()), .instant(asked))
    }
  }

  /// Billing's progress with each account that leaves.
  package var leavingStates: [String] {
    get throws {
      try installation.database.read { reader in
        try reader.rows("SELECT state FROM billing.account_deletions ORDER BY state") { row in
          try row.text(0)
        }
      }
    }
  }

  /// The number of deletions that billing would learn of now.
  package var unheardCount: Int {
    get throws {
      try installation.database.read { try LeavingAccount.unheard(limit: 9, reading: $0).count }
    }
  }

  /// The deliveries that can still be read, by type and object.
  package var keptBodies: [String] {
    get throws {
      try installation.database.read { reader in
        try reader.rows(
          "SELECT type, object FROM billing.deliveries WHERE length(sealed) > 0 ORDER BY id"
        ) { row in "\(try row.text(0)) \(try row.optionalText(1) ?? "-")" }
      }
    }
  }

  /// Whether billing has finished the erasure.
  package var isErased: Bool {
    get throws {
      try installation.count(
        "SELECT count(*) FROM billing.account_deletions WHERE state = 'erased'") == 1
    }
  }

  private func inSync(_ body: @escaping @Sendable (Transaction) throws -> Void) throws {
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    try database.write(for: nil, body)
  }
}
