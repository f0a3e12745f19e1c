internal import Base
internal import Storage

/// Keeps what accounts are told in step with what they may see of others' trees.
///
/// A share is accepted exactly while a link of the sharee to it lives, and an account has a view of
/// another's tree exactly while one of that owner's shares is accepted. What comes into view gets new
/// numbers of the owner's sequence, so that whoever reads the sequence meets it; where that would be
/// too much for one transaction, the view gets another number, and is read again from its beginning.
struct Visibility {
  /// Files that come into view with new numbers of their own.
  static let restampCountMax = 1000

  let transaction: Transaction
  let now: Instant

  init(_ transaction: Transaction, now: Instant) {
    self.transaction = transaction
    self.now = now
  }

  /// The accounts that see everything beneath one of the folders.
  func sharees(of folders: [Identifier]) throws -> Set<Identifier> {
    var sharees: Set<Identifier> = []
    for folder in folders {
      sharees.formUnion(try shares(of: folder, in: .accepted))
    }
    return sharees
  }

  private func shares(of file: Identifier, in state: Share.State) throws -> [Identifier] {
    try transaction.rows(
      "SELECT account_id FROM sync.shares WHERE file_id = $1 AND state = $2 ORDER BY account_id",
      .id(file), .text(state.rawValue)
    ) { row in try row.id(0) }
  }

  /// The accounts that a change of the file is news to, though they see nothing else of the tree.
  func invited(to file: Identifier) throws -> [Identifier] { try shares(of: file, in: .pending) }

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
    let (standing, next): (Share.State, Share.State) =
      isMade ? (.pending, .accepted) : (.accepted, .pending)
    guard var share = try Share.find(transaction, target, account), share.state == standing else {
      return
    }
    share.state = next
    share.sequence = try owners.nextSequence(of: account)
    try change(share, from: standing, &owners)
  }

  /// What a grant makes of a share: a live one keeps its state.
  func grantedState(_ standing: Share?, _ statement: ShareStatement) throws -> Share.State {
    if let standing, standing.state.isLive { return standing.state }
    let link = try FileRecord.liveLink(transaction, of: statement.account, to: statement.file)
    return link == nil ? .pending : .accepted
  }

  /// Writes a share, and tells its owner and its sharee what it means for them.
  ///
  /// To the sharee it has a number of its own. The owner is told of it with the file, which gets
  /// another number whatever the views of others need.
  func change(
    _ share: Share, from standing: Share.State?, _ owners: inout LockedOwners
  ) throws {
    try share.save(transaction, now: now)
    try restamp(share.file, share.owner, &owners)
    if share.state == .accepted && standing != .accepted {
      try open(share, &owners)
      try appear(share.file, to: [share.account], share.owner, &owners)
    }
    let isShut = standing == .accepted && share.state != .accepted
    if isShut { try close(share.account, share.owner, &owners) }
    if isShut || standing?.isLive == true && !share.state.isLive { try leave(share, &owners) }
  }

  /// What a share showed is out of view, unless another shows it; an account that has no view of the
  /// tree will begin one anew.
  private func leave(_ share: Share, _ owners: inout LockedOwners) throws {
    guard try isOpen(share.account, share.owner) else { return }
    var forest = Forest(seenBy: share.account)
    try forest.load(share.file, transaction)
    guard forest.role(share.file) < .reader else { return }
    try depart(share.file, from: [share.account], share.owner, &owners)
  }

  // MARK: Files

  /// A file with all beneath it came into view of the accounts.
  func appear(
    _ root: Identifier, to accounts: Set<Identifier>, _ owner: Identifier,
    _ owners: inout LockedOwners
  ) throws {
    guard !accounts.isEmpty else { return }
    let files = try live(root)
    if files.count <= Self.restampCountMax {
      try restamp(files, owner, &owners)
    } else {
      try restart(accounts.sorted(), owner, &owners)
    }
  }

  /// A file and what lives beneath it, as far as that is not too much.
  func live(_ root: Identifier) throws -> [Identifier] {
    try transaction.rows(
      """
      WITH RECURSIVE beneath (id) AS (
        SELECT id FROM sync.files WHERE id = $1
        UNION ALL
        SELECT f.id FROM beneath AS b JOIN sync.files AS f ON f.parent_id = b.id
        WHERE f.deleted = 0 AND f.id <> f.parent_id)
      SELECT id FROM beneath LIMIT $2
      """, .id(root), .integer(Int64(Self.restampCountMax) + 1)
    ) { row in try row.id(0) }
  }

  func restamp(
    _ files: [Identifier], _ owner: Identifier, _ owners: inout LockedOwners
  ) throws {
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
    guard !accounts.isEmpty else { return }
    guard let files = try beneath(root, countMax: Self.restampCountMax / accounts.count) else {
      return try restart(accounts.sorted(), owner, &owners)
    }
    for account in accounts.sorted() {
      for file in files { try depart(file, from: account, owner, &owners) }
    }
  }

  private func depart(
    _ file: Identifier, from account: Identifier, _ owner: Identifier,
    _ owners: inout LockedOwners
  ) throws {
    try transaction.execute(
      """
      INSERT INTO sync.departures (account_id, owner_id, seq, file_id, at_ms)
      VALUES ($1, $2, $3, $4, $5)
      """,
      .id(account), .id(owner), .integer(try owners.nextSequence(of: owner)), .id(file),
      .instant(now))
  }

  /// A file and what lies beneath it, deleted or not; nil where that is too much.
  private func beneath(_ root: Identifier, countMax: Int) throws -> [Identifier]? {
    var files = [root]
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

  /// Tells those who are only invited to a file that it changed, by telling them of their share anew.
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
