internal import Base
internal import Storage

/// Keeps what accounts are told in step with what they may see of others' trees.
///
/// A share is accepted exactly while a link of the sharee to it lives, and an account has a view of
/// another's tree exactly while one of that owner's shares is accepted. What comes into view gets new
/// numbers of the owner's sequence, so that whoever reads the sequence meets it; where that would be
/// too much for one transaction, the view gets another number, and is read again from its beginning.
final class Visibility {
  /// Files that come into view with new numbers of their own, or out of it with departures, in one
  /// transaction.
  static let restampCountMax = 1000

  let transaction: Transaction
  let now: Instant

  /// Of those files, how many there is room for yet.
  private(set) var stampable = restampCountMax
  /// Files that may yet be looked at to find them.
  var readable = 4 * restampCountMax
  /// Views that are read again from the very beginning, whatever else happens to them.
  var restarted: Set<ViewID> = []

  struct ViewID: Hashable {
    let account: Identifier
    let owner: Identifier
  }

  /// The accounts that see a folder, where it was asked about.
  private var accepted: [Identifier: [Identifier]] = [:]
  /// What lies above a file, where it was asked about.
  private var chains: [Identifier: Set<Identifier>] = [:]

  init(_ transaction: Transaction, now: Instant) {
    self.transaction = transaction
    self.now = now
  }

  /// The accounts that see everything beneath one of the folders.
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

  /// The accounts that a change of the file is news to, though they see nothing else of the tree.
  func invited(to file: Identifier) throws -> [Identifier] {
    try Share.accounts(transaction, of: file, in: .pending)
  }

  func owner(of file: Identifier) throws -> Identifier? {
    try transaction.first("SELECT owner_id FROM sync.files WHERE id = $1", .id(file)) { row in
      try row.id(0)
    }
  }

  // MARK: Shares

  /// The sharee's link to the file was made, which accepts its share, or is gone.
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

  /// What a grant makes of a share: a live one keeps its state.
  func grantedState(_ current: Share?, _ statement: Share.Statement) throws -> Share.State {
    if let current, current.state.isLive { return current.state }
    let link = try FileRecord.liveLink(transaction, of: statement.account, to: statement.file)
    return link == nil ? .pending : .accepted
  }

  /// Writes a share, and tells its owner and its sharee what it means for them.
  ///
  /// To the sharee it has a number of its own. The owner is told of it with the file, which gets
  /// another number whatever the views of others need.
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

  /// What a share showed is out of view, unless another shows it; an account that has no view of the
  /// tree will begin one anew.
  private func leave(_ share: Share, _ owners: inout LockedOwners) throws {
    let others = try files(in: .accepted, share.account, share.owner)
    guard !others.isEmpty, try above(share.file).isDisjoint(with: others) else { return }
    try depart(share.file, from: [share.account], share.owner, &owners)
  }

  /// The file and all above it.
  private func above(_ file: Identifier) throws -> Set<Identifier> {
    if let chain = chains[file] { return chain }
    // Whoever sees it: only the folders are asked for.
    var tree = AncestorTree(seenBy: file)
    try tree.load(file, transaction)
    let chain = Set(tree.chain(file).map(\.id))
    chains[file] = chain
    return chain
  }

  /// Files lie elsewhere than before.
  func filesMoved() { chains = [:] }

  // MARK: Files

  /// A file with all beneath it came into view of the accounts.
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

  /// A file and what lives beneath it; nil where there is no room for so much.
  func live(_ root: Identifier) throws -> [Identifier]? {
    let countMax = min(stampable, readable)
    guard countMax > 0 else { return nil }
    let files = try transaction.rows(
      """
      WITH RECURSIVE beneath (id) AS (
        SELECT id FROM sync.files WHERE id = $1
        UNION ALL
        SELECT f.id FROM beneath AS b JOIN sync.files AS f ON f.parent_id = b.id
        WHERE f.deleted = 0 AND f.id <> f.parent_id)
      SELECT id FROM beneath LIMIT $2
      """, .id(root), .integer(Int64(countMax) + 1)
    ) { row in try row.id(0) }
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
    try transaction.execute(
      "UPDATE sync.files SET seq = $2 WHERE id = $1",
      .id(file), .integer(try owners.nextSequence(of: owner)))
  }

  /// A file with all beneath it went out of view of the accounts.
  ///
  /// Each file is said to have left: one that moved beneath the folder just before is, to who has not
  /// read that yet, still where it was.
  func depart(
    _ root: Identifier, from accounts: Set<Identifier>, _ owner: Identifier,
    _ owners: inout LockedOwners
  ) throws {
    let accounts = kept(accounts, owner)
    guard !accounts.isEmpty else { return }
    let countMax = min(stampable, readable) / accounts.count
    guard let files = try beneath(root, countMax: countMax) else {
      return try restart(accounts, owner, &owners)
    }
    stampable -= files.count * accounts.count
    for account in accounts {
      for file in files { try depart(file, from: account, owner, &owners) }
    }
  }

  /// Whoever has not read of an earlier time reads of this one: a file leaves one row, however often it
  /// comes and goes.
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

  /// A file and what lies beneath it, deleted or not; nil where that is too much.
  private func beneath(_ root: Identifier, countMax: Int) throws -> [Identifier]? {
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

  /// Tells those who are only invited to a file that it changed, by telling them of their share anew:
  /// the share keeps its version.
  func renew(_ file: Identifier, _ owners: inout LockedOwners) throws {
    for account in try invited(to: file) { try renew(file, account, &owners) }
  }

  func renew(
    _ file: Identifier, _ account: Identifier, _ owners: inout LockedOwners
  ) throws {
    try transaction.execute(
      "UPDATE sync.shares SET seq = $3 WHERE file_id = $1 AND account_id = $2",
      .id(file), .id(account), .integer(try owners.nextSequence(of: account)))
  }
}
