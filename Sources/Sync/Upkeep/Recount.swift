package import Accounts
package import Base
package import Storage
package import Tiers

/// Audits accounts and corrects their recorded usage while their writers continue.
package struct Recount {
  private let database: Database
  private let fee: Int64
  private let protocols: [any ProtocolRoom.Type]
  private let sliceRowCount: Int64

  /// How often an account is audited again because another recount came in between.
  private static let attemptCountMax = 5

  package init(
    _ database: Database, catalogue: Catalogue, protocols: [any ProtocolRoom.Type],
    sliceRowCount: Int64 = UsageAudit.sliceRowCountUsual
  ) {
    self.database = database
    fee = catalogue.metadataFeeByteCount
    self.protocols = protocols
    self.sliceRowCount = sliceRowCount
  }

  /// The recorded and the true usage; nil if there is no such account.
  package func audit(_ account: Identifier) throws -> UsageFinding? {
    let begun = try database.read { reader in
      try UsageAudit(
        reader, account, fee: fee, protocols: protocols, sliceRowCount: sliceRowCount)
    }
    guard var audit = begun else { return nil }
    while !audit.isRead { try database.read { try audit.readSlice($0) } }
    return try database.read { try audit.settle($0) }
  }

  /// Repairs the protocols' totals, audits and corrects. Returns the finding. `note` runs in the same transaction.
  package func correct(
    _ account: Identifier, now: Instant,
    noting note: @escaping @Sendable (UsageFinding, Transaction) throws -> Void = { _, _ in }
  ) throws -> UsageFinding? {
    let repaired = try protocols.reduce(0) {
      try $0 + $1.repairTotals(of: account, in: database)
    }
    for _ in 0..<Self.attemptCountMax {
      guard let finding = try audit(account) else { return nil }
      if finding.isRight {
        if repaired > 0 { try database.write(for: account) { try note(finding, $0) } }
        return finding
      }
      let isPosted = try database.write(for: account) { transaction in
        guard try finding.post(transaction, now: now) else { return false }
        try note(finding, transaction)
        return true
      }
      if isPosted { return finding }
    }
    throw DatabaseError.busy(retryAfterSeconds: 1)
  }
}

extension UsageFinding {
  /// Adds the differences to the totals and the usage ledger. Returns false and writes nothing if another recount has
  /// posted since the audit, which its entry shows. Writers do not change a difference.
  package func post(_ transaction: Transaction, now: Instant) throws -> Bool {
    var owners = try LockedOwners(transaction, [account])
    guard let root = try Account.find(transaction, account)?.root else { return false }
    let isOutdated = try transaction.hasRow(
      """
      SELECT 1 FROM sync.usage_entries WHERE owner_id = $1 AND seq > $2 AND reason = $3 LIMIT 1
      """, .id(account), .integer(number), .text(UsageReason.recount.rawValue))
    guard !isOutdated else { return false }
    try owners.change(account) { owner in
      // The entry corrects the usage ledger, which may need a different amount.
      owner.charge(
        trueByteCount - recordedByteCount, ledger: trueByteCount - ledgerByteCount,
        history: history.contentByteCount - recordedHistoryByteCount,
        trash: trueTrashByteCount - recordedTrashByteCount,
        records: trueRecordCount - recordedRecordCount, reason: .recount, file: root,
        sequence: owner.nextSequence(quietly: true))
    }
    for folder in folders {
      try FolderCap.find(transaction, folder.folder)?
        .post(folder.trueByteCount - folder.recordedByteCount, transaction)
    }
    try owners.save(transaction, now: now)
    return true
  }
}
