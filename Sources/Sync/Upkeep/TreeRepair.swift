import Accounts
package import Base
package import JSON
package import Storage

/// Repairs rows that break a rule of trees, if exactly one repair is right and no content depends on it. The rest is
/// left alone: a name, a place, a signature or a content belongs to the user, and nothing says what it was.
package enum TreeRepair {
  package enum Outcome: Sendable, Equatable {
    /// With the members that changed.
    case repaired(before: JSONValue, after: JSONValue)
    /// The row obeys the rule now.
    case right
    /// There is more than one possible repair.
    case left
  }

  /// Checks again while the rows of the accounts are held, and repairs what is still broken.
  package static func repair(
    _ finding: TreeFinding, of account: Identifier, at now: Instant, in transaction: Transaction
  ) throws -> Outcome {
    guard let owners = try held(finding, account, transaction) else { return .right }
    let repair = Repair(
      transaction: transaction, account: account, subject: finding.subject, now: now)
    switch finding.law {
    case .height: return try repair.height()
    case .content: return try repair.weight(owners)
    case .deletion: return try repair.mark(owners)
    case .shareOfNothing: return try repair.share(owners)
    case .view: return try repair.view(owners)
    case .root, .parent, .cycle, .depth, .name, .number, .mark, .object, .link, .signature,
      .shareOwner, .shareLink:
      return .left
    }
  }

  /// The rows of all accounts that a repair involves; nil if the account is gone or being deleted.
  private static func held(
    _ finding: TreeFinding, _ account: Identifier, _ transaction: Transaction
  ) throws -> LockedOwners? {
    var accounts: Set<Identifier> = [account]
    if finding.law == .view { accounts.insert(finding.subject) }
    if finding.law == .shareOfNothing,
      let share = try Share.find(transaction, finding.subject, account)
    {
      accounts.insert(share.owner)
    }
    let owners = try LockedOwners(transaction, accounts)
    guard owners.accounts.contains(account),
      try TreeAudit.Erasure.of(account, transaction) == .none
    else { return nil }
    return owners
  }
}

/// A repair of one finding of an account, whose row is held.
private struct Repair {
  let transaction: Transaction
  let account: Identifier
  let subject: Identifier
  let now: Instant

  /// The way from the file to the root; nil if it does not end there.
  private func chain() throws -> [AncestorTree.Node]? {
    var tree = AncestorTree(seenBy: account)
    try tree.load(subject, transaction)
    let chain = tree.chain(subject)
    guard let top = chain.last, top.isRoot else { return nil }
    return chain
  }

  /// A height may be more than the levels below, so raising it is always right.
  func height() throws -> TreeRepair.Outcome {
    guard let chain = try chain(), !chain.contains(where: \.isDeleted) else { return .left }
    let low = chain.enumerated().filter { $0.element.height < Int64($0.offset) }
    guard !low.isEmpty else { return .right }
    for (offset, folder) in low {
      try transaction.execute(
        "UPDATE sync.files SET height = $2 WHERE id = $1", .id(folder.id), .integer(Int64(offset)))
    }
    func members(_ height: (Int, AncestorTree.Node) -> Int64) -> JSONValue {
      .object(
        low.map { offset, folder in
          .init(folder.id.description, .integer(height(offset, folder)))
        })
    }
    return .repaired(
      before: ["height": members { $1.height }],
      after: ["height": members { offset, _ in Int64(offset) }])
  }

  /// A record without content has no size. If there is any content, nothing says which value is right.
  func weight(_ owners: LockedOwners) throws -> TreeRepair.Outcome {
    guard let file = try FileRecord.find(transaction, subject), file.owner == account else {
      return .right
    }
    let hasInline = try transaction.hasRow(
      "SELECT 1 FROM sync.inline_contents WHERE file_id = $1", .id(subject))
    guard !file.hasContent, file.objectID == nil, !hasInline else { return .left }
    guard !file.isWeightRight else { return .right }
    try change("content_bytes = 0", owners)
    return .repaired(
      before: ["content_bytes": .integer(file.contentByteCount)],
      after: ["content_bytes": .integer(0)])
  }

  /// A record that is not deleted, and is in no deleted folder, was deleted with no folder.
  func mark(_ owners: LockedOwners) throws -> TreeRepair.Outcome {
    guard let file = try FileRecord.find(transaction, subject), file.owner == account else {
      return .right
    }
    guard !file.isMarkRight, let folder = file.deletedWith else { return .right }
    guard let chain = try chain(), !chain.contains(where: \.isDeleted) else { return .left }
    try change("deleted_with = NULL", owners)
    return .repaired(
      before: ["deleted_with": .string(folder.description)], after: ["deleted_with": .null])
  }

  /// The record gets the account's next number, so that its devices and a concurrent count see it.
  private func change(_ assignment: String, _ owners: LockedOwners) throws {
    var owners = owners
    try transaction.execute(
      "UPDATE sync.files SET \(assignment), seq = $2 WHERE id = $1", .id(subject),
      .integer(try owners.nextSequence(of: account)))
    try owners.save(transaction, now: now)
  }

  /// A share of a missing file shows nothing. A link to it was made by the account itself, and stays.
  func share(_ owners: LockedOwners) throws -> TreeRepair.Outcome {
    guard let share = try Share.find(transaction, subject, account),
      try FileRecord.find(transaction, subject) == nil
    else { return .right }
    guard try FileRecord.liveLink(transaction, of: account, to: subject) == nil else {
      return .left
    }
    try transaction.execute(
      "DELETE FROM sync.shares WHERE file_id = $1 AND account_id = $2", .id(subject), .id(account))
    var owners = owners
    try Visibility(transaction, now: now).close(account, share.owner, &owners)
    try owners.save(transaction, now: now)
    return .repaired(
      before: [
        "share": .string(share.state.rawValue), "owner": .string(share.owner.description),
      ], after: ["share": .null, "owner": .null])
  }

  /// A missing view is read from its beginning. A view without an accepted share shows nothing.
  func view(_ owners: LockedOwners) throws -> TreeRepair.Outcome {
    let owner = subject
    func isThere(_ sql: String) throws -> Bool {
      try transaction.hasRow(sql, .id(account), .id(owner))
    }
    let isSeen = try isThere("SELECT 1 FROM sync.views WHERE account_id = $1 AND owner_id = $2")
    let isShared = try isThere(
      """
      SELECT 1 FROM sync.shares
      WHERE account_id = $1 AND owner_id = $2 AND state = 'accepted' LIMIT 1
      """)
    guard isSeen != isShared else { return .right }
    var owners = owners
    let visibility = Visibility(transaction, now: now)
    if isShared {
      try visibility.openFromBeginning(account, owner)
    } else {
      try visibility.close(account, owner, &owners)
    }
    try owners.save(transaction, now: now)
    return .repaired(before: ["view": .bool(isSeen)], after: ["view": .bool(isShared)])
  }
}
