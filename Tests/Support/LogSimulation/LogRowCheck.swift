import Accounts
import Base
import Logs
import Simulation
import Storage
import Sync
import TreeSimulation

/// Comparing the rows with the model, and with each other.
extension LogStory {
  /// The charge of each account.
  func checkUsage() throws {
    for account in people.map(\.account) {
      let usage = try number(
        "SELECT usage_bytes FROM sync.accounts WHERE id = $1", .id(account))
      guard usage == model.usage(account) else {
        throw Mismatch("\(account) is charged \(usage), and must be \(model.usage(account))")
      }
      let overdraft = try server.database.read { try LogOverdraft.byteCount($0, of: account) }
      guard overdraft == model.overdraft(account) else {
        throw Mismatch(
          "\(account) is \(overdraft) above its cap, and must be \(model.overdraft(account))")
      }
    }
  }

  /// Every message, and what a recount and the doctor find.
  func checkRows() throws {
    let logs = try server.database.read { reader in
      try reader.rows("SELECT id, epoch_id FROM sync.logs ORDER BY id") { row in
        (id: try row.id(0), epoch: try row.id(1))
      }
    }
    guard logs.map(\.id) == model.logs.keys.sorted() else { throw Mismatch("there are other logs") }
    for (id, epoch) in logs {
      guard let log = model.logs[id], log.current.id == epoch else {
        throw Mismatch("\(id) has another epoch")
      }
      try check(log.current)
      let kept = try ids("SELECT id FROM sync.log_epochs WHERE log_id = $1 AND kept = 1", .id(id))
      guard kept == [log.kept?.epoch.id].compactMap(\.self) else {
        throw Mismatch("\(id) keeps \(kept)")
      }
      if let kept = log.kept { try check(kept.epoch) }
    }
    for account in people.map(\.account) { try check(account) }
    let shareCount = model.logs.values.reduce(0) { $0 + $1.shares.count }
    guard try number("SELECT count(*) FROM sync.log_shares") == Int64(shareCount) else {
      throw Mismatch("there are other shares")
    }
  }

  private func check(_ epoch: LogModel.Epoch) throws {
    let messages = try server.database.read { reader in
      try reader.rows(
        "SELECT stamp, content FROM sync.log_messages WHERE epoch_id = $1 ORDER BY number",
        .id(epoch.id)
      ) { row in (stamp: try row.blob(0), content: try row.blob(1)) }
    }
    let found: [Message] = messages.compactMap { stamp, content in
      guard let text = LogTimestamp(bytes: stamp)?.description else { return nil }
      return Stamp(text).map { Message($0, content) }
    }
    guard found == epoch.messages else {
      throw Mismatch("\(epoch.id) has other messages")
    }
  }

  private func check(_ account: Identifier) throws {
    let faults = try MessageLogs.faults(of: account, in: server.database)
    guard faults.isEmpty else { throw Mismatch("\(account): \(faults)") }
    let finding = try Recount(
      server.database, catalogue: server.catalogue,
      protocols: [FileTrees.self, MessageLogs.self], sliceRowCount: 50
    ).audit(account)
    guard finding?.isRight == true else {
      throw Mismatch("a recount of \(account) differs: \(finding as Any)")
    }
    let kept = try number("SELECT kept_bytes FROM sync.accounts WHERE id = $1", .id(account))
    let unused = try number(
      """
      SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM (
        SELECT bytes FROM sync.garbage WHERE owner_id = $1
        UNION ALL
        SELECT bytes FROM sync.log_epochs
        WHERE owner_id = $1 AND kept = 0 AND purge_ms IS NOT NULL) AS unused
      """, .id(account))
    guard kept == unused else { throw Mismatch("\(account) keeps \(kept), and has \(unused)") }
  }

  /// After all work, only epochs that the model has are there, and each row belongs to one.
  func checkRemains() throws {
    let epochs = model.logs.values.flatMap { log in [log.current.id, log.kept?.epoch.id] }
    let expected = epochs.compactMap(\.self).sorted()
    guard try ids("SELECT id FROM sync.log_epochs ORDER BY id") == expected else {
      throw Mismatch("epochs are left that no log has")
    }
    for table in ["log_messages", "log_trie_pages"] {
      let count = try number(
        """
        SELECT count(*) FROM sync.\(table) AS t
        WHERE NOT EXISTS (SELECT 1 FROM sync.log_epochs AS e WHERE e.id = t.epoch_id)
        """)
      guard count == 0 else { throw Mismatch("\(count) rows of \(table) are left") }
    }
    let snapshots = try number(
      """
      SELECT count(*) FROM sync.log_snapshots AS s
      WHERE NOT EXISTS (SELECT 1 FROM sync.log_epochs AS e WHERE e.snapshot_id = s.object_id)
      """)
    guard snapshots == 0 else { throw Mismatch("\(snapshots) snapshots are left") }
  }

  /// The number that a query returns; 0 if it returns no row.
  private func number(_ sql: String, _ values: SQLValue...) throws -> Int64 {
    try server.database.read { reader in
      try reader.rows(sql, values: values) { row in try row.integer(0) }.first ?? 0
    }
  }

  private func ids(_ sql: String, _ values: SQLValue...) throws -> [Identifier] {
    try server.database.read { reader in
      try reader.rows(sql, values: values) { row in try row.id(0) }
    }
  }
}
