internal import Base
internal import Storage
internal import Tiers

/// Who may be let in, and by whom.
extension Judge {
  /// Judges the batch's changes of shares; `judgeFiles` comes first.
  mutating func judgeShares() throws {
    var counts: [ShareStatement.Key: Int] = [:]
    var granted: [Identifier: Int] = [:]
    for change in batch.shares {
      counts[change.statement.key, default: 0] += 1
      guard change.statement.isGrant else { continue }
      granted[change.statement.file, default: 0] += 1
    }
    for change in batch.shares {
      let statement = change.statement
      let rule =
        counts[statement.key] == 1
        ? try judge(change, grants: granted[statement.file] ?? 0) : .duplicateID
      if let rule { fail(statement.file, account: statement.account, rule) }
      try budget.check()
    }
  }

  private mutating func judge(_ change: Batch.ShareChange, grants: Int) throws -> Rule? {
    let statement = change.statement
    guard let file = tree.final(statement.file),
      tree.forest[statement.file] == nil || tree.forest.role(statement.file) > .stranger
    else { return .fileNotFound }
    if (tree.forest[file.id] ?? file).isRoot { return .rootImmutable }
    if file.kind == .link { return .linkNotShareable }
    let chain = tree.finalChain(statement.file)
    if chain.contains(where: \.isDeleted) { return .fileDeleted }
    let share = try Share.find(source, statement.file, statement.account)
    if let rule = permitted(statement, file) { return rule }
    if share?.state != change.expectation { return share == nil ? .shareNotFound : .shareStale }
    guard change.isSigned else { return .signatureInvalid }
    switch statement.action {
    case .grant:
      guard try number(of: statement.account) != nil else { return .accountNotFound }
      if share?.state != .accepted, try isBlocked(by: statement.account) {
        return .invitationNotTaken
      }
      if share?.state.isLive != true {
        let live = try liveShareCount(statement.file)
        if live + Int64(grants) > Int64(Self.shareCountMax) { return .tooManyShares }
        let between = try sharesBetween(statement.account) + 1
        if between > Int64(Self.sharesBetweenMax) { return .tooManyShares }
        known.sharesBetween[statement.account] = between
      }
      if share == nil {
        let all = try shareCount(statement.file)
        if all + grants > Self.shareRowCountMax { return .tooManyShares }
      }
      return try hasLinks(beneath: file) ? .linkInSharedFolder : nil
    case .revoke:
      guard let share else { return .shareNotFound }
      return share.state == .revoked ? .shareStale : nil
    case .reject:
      guard let share, share.state.isLive else { return .shareStale }
      return try hasLink(to: statement.file) ? .linkExists : nil
    }
  }

  private mutating func liveShareCount(_ file: Identifier) throws -> Int64 {
    if let count = known.liveShareCounts[file] { return count }
    let count = try source.first(
      """
      SELECT CAST(count(*) AS BIGINT) FROM sync.shares
      WHERE file_id = $1 AND state IN ('pending', 'accepted')
      """, .id(file)
    ) { row in try row.integer(0) }
    known.liveShareCounts[file] = count
    return count ?? 0
  }

  /// Shares of deleted files are among them until those are forgotten.
  private func sharesBetween(_ account: Identifier) throws -> Int64 {
    if let count = known.sharesBetween[account] { return count }
    let count = try source.first(
      """
      SELECT CAST(count(*) AS BIGINT) FROM (
        SELECT file_id FROM sync.shares
        WHERE account_id = $1 AND owner_id = $2 AND state IN ('pending', 'accepted') LIMIT $3) AS s
      """, .id(account), .id(caller), .integer(Int64(Self.sharesBetweenMax))
    ) { row in try row.integer(0) }
    return count ?? 0
  }

  private mutating func shareCount(_ file: Identifier) throws -> Int {
    if let count = known.shareCounts[file] { return count }
    let count = try source.rows(
      "SELECT account_id FROM sync.shares WHERE file_id = $1 LIMIT $2",
      .id(file), .integer(Int64(Self.shareRowCountMax))
    ) { row in try row.id(0) }.count
    known.shareCounts[file] = count
    return count
  }

  private func permitted(_ statement: ShareStatement, _ file: Forest.Node) -> Rule? {
    if case .reject = statement.action {
      return statement.account == caller ? nil : .notPermitted
    }
    guard file.owner == caller else { return .notOwner }
    return statement.account == caller ? .shareWithOwner : nil
  }

  /// Whether a link of the caller to the file is left after the batch.
  private func hasLink(to target: Identifier) throws -> Bool {
    let standing = try FileRecord.liveLink(source, of: caller, to: target)
    if let standing, tree.planned[standing]?.isDeleted != true { return true }
    return tree.planned.values.contains {
      $0.target == target && $0.owner == caller && !$0.isDeleted
    }
  }

  // MARK: Strangers

  /// Refuses invitations beyond what a young or free account may send to strangers, and what those
  /// take; answers which of the batch count.
  ///
  /// Without an e-mail address or a telephone number anybody opens as many accounts as they like, so
  /// an account earns the right to write to people it has nothing to do with, and whoever is written
  /// to has a limit of its own, which no number of accounts passes.
  mutating func judgeInvitations(
    _ limits: SyncLimits, catalogue: Catalogue, now: Instant
  ) throws -> Invitations.Sent {
    var invited: [ShareStatement] = []
    for change in batch.shares {
      guard change.statement.isGrant,
        try Share.find(source, change.statement.file, change.statement.account)?
          .state.isLive != true,
        try !isContact(change.statement.account)
      else { continue }
      invited.append(change.statement)
      try budget.check()
    }
    guard !invited.isEmpty, try isLimited(limits, catalogue: catalogue, now: now) else {
      return Invitations.Sent()
    }
    let max = limits.openInvitationCountMax
    let open = try Invitations.waiting(.sent, caller, source, max: max)
    let room = Int(Swift.max(0, max - open))
    for statement in invited.dropFirst(room) {
      fail(statement.file, account: statement.account, .tooManyInvitations)
    }
    var sent = Invitations.Sent()
    var rooms: [Identifier: Int64] = [:]
    for statement in invited.prefix(room) {
      let receiver = statement.account
      let left = try rooms[receiver] ?? Invitations.room(of: receiver, source, limits, now: now)
      rooms[receiver] = left - 1
      if left <= 0 { fail(statement.file, account: receiver, .invitationNotTaken) }
      sent.add(receiver)
      try budget.check()
    }
    return sent
  }

  private mutating func isBlocked(by account: Identifier) throws -> Bool {
    if let isBlocked = known.blocks[account] { return isBlocked }
    let isBlocked = try Blocks.has(source, account, caller)
    known.blocks[account] = isBlocked
    return isBlocked
  }

  private mutating func isContact(_ account: Identifier) throws -> Bool {
    if let isContact = known.contacts[account] { return isContact }
    let found = try source.first(
      """
      SELECT file_id FROM sync.shares WHERE state = 'accepted'
        AND ((account_id = $1 AND owner_id = $2) OR (account_id = $2 AND owner_id = $1))
      LIMIT 1
      """, .id(account), .id(caller)
    ) { row in try row.id(0) }
    known.contacts[account] = found != nil
    return found != nil
  }

  private func isLimited(
    _ limits: SyncLimits, catalogue: Catalogue, now: Instant
  ) throws -> Bool {
    let cap = try Cap(source, caller, catalogue: catalogue, now: now)
    if cap.planID == catalogue.free.id { return true }
    let account = try Account.find(source, caller)
    return account.map { now - $0.created < limits.youngAge } ?? true
  }
}
