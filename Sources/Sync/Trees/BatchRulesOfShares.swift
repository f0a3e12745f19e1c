import Base

extension BatchRules {
  mutating func judgeShares() {
    var counts: [Share.Statement.Key: Int] = [:]
    for change in batch.shares { counts[change.statement.key, default: 0] += 1 }
    for change in batch.shares {
      let statement = change.statement
      let rule = counts[statement.key] == 1 ? rule(of: change) : .duplicateID
      if let rule { fail(statement.file, account: statement.account, rule) }
    }
  }

  private mutating func rule(of change: Batch.ShareChange) -> Rule? {
    let statement = change.statement
    guard let file = tree.final(statement.file),
      tree.current[statement.file] == nil || tree.current.role(statement.file) > .stranger
    else { return .fileNotFound }
    if (tree.current[file.id] ?? file).isRoot { return .rootImmutable }
    if file.kind == .link { return .linkNotShareable }
    if tree.finalChain(statement.file).contains(where: \.isDeleted) { return .fileDeleted }
    let state = snapshot.shareStates[statement.key]
    if let rule = permitted(statement, file) { return rule }
    if state != change.expectation { return state == nil ? .shareNotFound : .shareStale }
    guard change.isSigned else { return .signatureInvalid }
    switch statement.action {
    case .grant:
      return rule(ofGrant: statement, from: state)
        ?? (hasLinks(below: file) ? .linkInSharedFolder : nil)
    case .revoke:
      guard let state else { return .shareNotFound }
      return state == .revoked ? .shareStale : nil
    case .reject:
      guard let state, state.isLive else { return .shareStale }
      return hasLink(to: statement.file) ? .linkExists : nil
    }
  }

  private func permitted(_ statement: Share.Statement, _ file: AncestorTree.Node) -> Rule? {
    if case .reject = statement.action {
      return statement.account == caller ? nil : .notPermitted
    }
    guard file.owner == caller else { return .notOwner }
    return statement.account == caller ? .shareWithOwner : nil
  }

  private mutating func rule(
    ofGrant statement: Share.Statement, from state: Share.State?
  ) -> Rule? {
    guard snapshot.numbers[statement.account] != nil else { return .accountNotFound }
    if state != .accepted, snapshot.blockers.contains(statement.account) {
      return .invitationNotTaken
    }
    let counts = snapshot.shareCounts[statement.file] ?? BatchSnapshot.ShareCounts()
    let grants = grantCounts[statement.file] ?? 0
    if state?.isLive != true {
      if counts.live + Int64(grants) > Int64(Self.shareCountMax) { return .tooManyShares }
      let between = (sharesBetween[statement.account] ?? 0) + 1
      if between > Int64(Self.sharesBetweenMax) { return .tooManyShares }
      sharesBetween[statement.account] = between
    }
    if state == nil, counts.all + grants > Self.shareRowCountMax { return .tooManyShares }
    return nil
  }

  // MARK: Strangers

  /// Refuses invitations beyond what a young or free account may send to strangers, and beyond what a receiver
  /// accepts. Returns how many of the batch count, by receiver. Anyone can open many accounts. So an account earns
  /// the right to write to strangers, and no number of accounts exceeds a receiver's own limit.
  mutating func judgeInvitations() -> [Identifier: Int64] {
    guard var room = snapshot.invitationRoom else { return [:] }
    let invited = batch.shares.map(\.statement).filter(snapshot.invitesStranger)
    for statement in invited.dropFirst(room.sent) {
      fail(statement.file, account: statement.account, .tooManyInvitations)
    }
    var sent: [Identifier: Int64] = [:]
    for statement in invited.prefix(room.sent) {
      let left = room.received[statement.account] ?? 0
      room.received[statement.account] = left - 1
      if left <= 0 { fail(statement.file, account: statement.account, .invitationNotTaken) }
      sent[statement.account, default: 0] += 1
    }
    return sent
  }
}
