import Accounts
import Base
import Storage

/// Keeps the accounts' updates in step with what they may see of others' trees.
///
/// A share is accepted exactly while a live link of its sharee leads to it. An account has a view of
/// another's tree exactly while one of that owner's shares is accepted. Files that come into view get new
/// numbers of the owner's sequence, so that readers of the sequence find them. If there are too many for one
/// transaction, the view gets a new number and is read again from its beginning.
final class Visibility {
  /// The most files in one transaction that come into view with new numbers, or leave it with departures.
  static let restampCountMax = 1000

  let transaction: Transaction
  let now: Instant

  /// The files for which there is still room.
  private(set) var stampable = restampCountMax
  /// The files that may still be read to find them.
  var readable = 4 * restampCountMax
  /// Views that are read again from the very beginning, regardless of other changes.
  var restarted: Set<ViewID> = []

  struct ViewID: Hashable {
    let account: Identifier
    let owner: Identifier
  }

  /// The accounts that see a folder, as far as it was asked.
  private var accepted: [Identifier: [Identifier]] = [:]
  /// The numbers of the owner's sequence that files got last.
  private(set) var numbers: [Identifier: Int64] = [:]
  /// The folders above a file, as far as it was asked.
  private var chains: [Identifier: Set<Identifier>] = [:]

  init(_ transaction: Transaction, now: Instant) {
    self.transaction = transaction
    self.now = now
  }

  /// The accounts that see everything below one of the folders.
  func sharees(of folders: [AncestorTree.Node]) throws -> Set<Identifier> {
    var sharees: Set<Identifier> = []
    for folder in folders where folder.hasLiveShares {
      let own =
        try accepted[folder.id] ?? Share.accounts(transaction, of: folder.id, in: .accepted)
      accepted[folder.id] = own
      sharees.formUnion(own)
    }
    return sharees
  }

  // MARK: Shares

  /// Follows a new link of the sharee to the file, which accepts its share, or its end.
  func link(
    _ target: Identifier, _ account: Identifier, isMade: Bool, _ owners: inout LockedOwners
  ) throws {
    let (current, next): (Share.State, Share.State) =
      isMade ? (.pending, .accepted) : (.accepted, .pending)
    guard var share = try Share.find(transaction, target, account), share.state == current else {
      return
    }
    share.become(next, at: try owners.nextSequence(of: account))
    try change(share, from: current, &owners)
  }

  /// The state of a share after a grant: a live one keeps its state.
  func grantedState(_ current: Share?, _ statement: Share.Statement) throws -> Share.State {
    if let current, current.state.isLive { return current.state }
    let link = try FileRecord.liveLink(transaction, of: statement.account, to: statement.file)
    return link == nil ? .pending : .accepted
  }

  /// Writes a share, and updates its owner and its sharee. The share has a number of the sharee's sequence. The owner
  /// sees it with the file, which gets a new number regardless of others' views.
  func change(
    _ share: Share, from current: Share.State?, _ owners: inout LockedOwners
  ) throws {
    try share.save(transaction, now: now)
    accepted[share.file] = nil
    try restamp(share.file, share.owner, &owners)
    if share.state == .accepted && current != .accepted {
      try open(share, &owners)
      try appear(share.file, to: [share.account], share.owner, &owners)
    }
    let isShut = current == .accepted && share.state != .accepted
    if isShut { try close(share.account, share.owner, &owners) }
    if isShut || current?.isLive == true && !share.state.isLive { try leave(share, &owners) }
  }

  /// Removes from view what no other share shows. An account without a view of the tree will begin a new one.
  private func leave(_ share: Share, _ owners: inout LockedOwners) throws {
    let others = try files(in: .accepted, share.account, share.owner)
    guard !others.isEmpty, try above(share.file).isDisjoint(with: others) else { return }
    try depart(share.file, from: [share.account], share.owner, &owners)
  }

  private func above(_ file: Identifier) throws -> Set<Identifier> {
    if let chain = chains[file] { return chain }
    // The reader does not matter: only the folders are used.
    var tree = AncestorTree(seenBy: file)
    try tree.load(file, transaction)
    let chain = Set(tree.chain(file).map(\.id))
    chains[file] = chain
    return chain
  }

  func filesMoved() { chains = [:] }

  // MARK: Files

  /// Brings a file and everything below it into view of the accounts.
  func appear(
    _ root: Identifier, to accounts: Set<Identifier>, _ owner: Identifier,
    _ owners: inout LockedOwners
  ) throws {
    let accounts = kept(accounts, owner)
    guard !accounts.isEmpty else { return }
    if let files = try live(root) {
      try restamp(files, owner, &owners)
    } else {
      try restart(accounts, owner, &owners)
    }
  }

  /// The accounts whose views are not read from the very beginning anyway.
  private func kept(_ accounts: Set<Identifier>, _ owner: Identifier) -> [Identifier] {
    accounts.filter { !restarted.contains(ViewID(account: $0, owner: owner)) }.sorted()
  }

  /// A file and its live descendants; nil if there is no room for them.
  func live(_ root: Identifier) throws -> [Identifier]? {
    let countMax = min(stampable, readable)
    guard countMax > 0 else { return nil }
    let files = try transaction.ids(
      """
      WITH RECURSIVE below (id) AS (
        SELECT id FROM sync.files WHERE id = $1
        UNION ALL
        SELECT f.id FROM below AS b JOIN sync.files AS f ON f.parent_id = b.id
        WHERE f.deleted = 0 AND f.id <> f.parent_id)
      SELECT id FROM below LIMIT $2
      """, .id(root), .integer(Int64(countMax) + 1))
    readable -= files.count
    return files.count > countMax ? nil : files
  }

  func restamp(
    _ files: [Identifier], _ owner: Identifier, _ owners: inout LockedOwners
  ) throws {
    stampable -= files.count
    for file in files { try restamp(file, owner, &owners) }
  }

  private func restamp(
    _ file: Identifier, _ owner: Identifier, _ owners: inout LockedOwners
  ) throws {
    let number = try owners.nextSequence(of: owner)
    numbers[file] = number
    try transaction.execute(
      "UPDATE sync.files SET seq = $2 WHERE id = $1", .id(file), .integer(number))
  }

  /// Removes a file and everything below it from view of the accounts. A departure is written for each file. A file
  /// that just moved into the folder is still at its old place for a reader that has not seen the move.
  func depart(
    _ root: Identifier, from accounts: Set<Identifier>, _ owner: Identifier,
    _ owners: inout LockedOwners
  ) throws {
    let accounts = kept(accounts, owner)
    guard !accounts.isEmpty else { return }
    let countMax = min(stampable, readable) / accounts.count
    guard let files = try below(root, countMax: countMax) else {
      return try restart(accounts, owner, &owners)
    }
    stampable -= files.count * accounts.count
    for account in accounts {
      for file in files { try depart(file, from: account, owner, &owners) }
    }
  }

  /// A file has one row, however often it departs: a reader that missed an earlier one sees the last.
  private func depart(
    _ file: Identifier, from account: Identifier, _ owner: Identifier,
    _ owners: inout LockedOwners
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.departures (account_id, owner_id, seq, file_id, at_ms)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (account_id, owner_id, file_id) DO UPDATE
      SET seq = excluded.seq, at_ms = excluded.at_ms
      """,
      .id(account), .id(owner), .integer(try owners.nextSequence(of: owner)), .id(file),
      .instant(now))
  }

  /// A file and its descendants, deleted or not; nil if there are too many.
  private func below(_ root: Identifier, countMax: Int) throws -> [Identifier]? {
    var files = [root]
    defer { readable -= files.count }
    guard files.count <= countMax else { return nil }
    var folders = [root]
    while let folder = folders.popLast() {
      // Each mark has its own index.
      for mark in 0...1 {
        let children = try transaction.rows(
          """
          SELECT id, kind FROM sync.files
          WHERE parent_id = $1 AND deleted = \(mark) AND id <> parent_id LIMIT $2
          """, .id(folder), .integer(Int64(countMax))
        ) { row in (id: try row.id(0), kind: try row.text(1)) }
        files += children.map(\.id)
        folders += children.filter { $0.kind == FileRecord.Kind.folder.rawValue }.map(\.id)
        guard files.count <= countMax else { return nil }
      }
    }
    return files
  }

  /// Sends a changed file to accounts that are only invited to it, by their share, which keeps its version.
  func renew(_ file: Identifier, _ owners: inout LockedOwners) throws {
    for account in try Share.accounts(transaction, of: file, in: .pending) {
      try renew(file, account, &owners)
    }
  }

  func renew(
    _ file: Identifier, _ account: Identifier, _ owners: inout LockedOwners
  ) throws {
    try transaction.execute(
      "UPDATE sync.shares SET seq = $3 WHERE file_id = $1 AND account_id = $2",
      .id(file), .id(account), .integer(try owners.nextSequence(of: account)))
  }
}
