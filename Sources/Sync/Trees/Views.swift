internal import Base
internal import Crypto
internal import Storage

/// Which accounts have a view of which owner's tree, and when one has to be read again.
extension Visibility {
  /// Begins a view where there is none.
  func open(_ share: Share, _ owners: LockedOwners) throws {
    try transaction.execute(
      """
      INSERT INTO sync.views (account_id, owner_id, number, from_seq) VALUES ($1, $2, $3, $4)
      ON CONFLICT (account_id, owner_id) DO NOTHING
      """,
      .id(share.account), .id(share.owner), .integer(Self.newNumber()),
      .integer(try owners.require(share.owner).sequence))
  }

  /// Ends the view with the last accepted share.
  func close(_ account: Identifier, _ owner: Identifier) throws {
    try transaction.execute(
      """
      DELETE FROM sync.views WHERE account_id = $1 AND owner_id = $2 AND NOT EXISTS (
        SELECT 1 FROM sync.shares
        WHERE account_id = $1 AND owner_id = $2 AND state = 'accepted')
      """, .id(account), .id(owner))
  }

  func isOpen(_ account: Identifier, _ owner: Identifier) throws -> Bool {
    let number = try transaction.first(
      "SELECT number FROM sync.views WHERE account_id = $1 AND owner_id = $2",
      .id(account), .id(owner)
    ) { row in try row.integer(0) }
    return number != nil
  }

  private static func newNumber() -> Int64 { Int64(bitPattern: Random.identifier().high) }

  /// Has views read again: from here on, if what they show is little enough to get new numbers.
  func restart(
    _ accounts: [Identifier], _ owner: Identifier, _ owners: inout LockedOwners
  ) throws {
    guard !accounts.isEmpty else { return }
    let from = try owners.require(owner).sequence
    let files = try inView(of: accounts, owner)
    if let files { try restamp(files, owner, &owners) }
    for account in accounts {
      try transaction.execute(
        """
        UPDATE sync.views SET number = $3, from_seq = $4 WHERE account_id = $1 AND owner_id = $2
        """, .id(account), .id(owner), .integer(Self.newNumber()), .integer(files == nil ? 0 : from)
      )
    }
  }

  /// All that the accounts see of the owner's tree; nil where that is too much.
  private func inView(of accounts: [Identifier], _ owner: Identifier) throws -> [Identifier]? {
    var shared: Set<Identifier> = []
    for account in accounts {
      shared.formUnion(
        try transaction.rows(
          """
          SELECT file_id FROM sync.shares
          WHERE account_id = $1 AND owner_id = $2 AND state = 'accepted'
          """, .id(account), .id(owner)
        ) { row in try row.id(0) })
      guard shared.count <= Self.restampCountMax else { return nil }
    }
    var files: Set<Identifier> = []
    for file in shared {
      files.formUnion(try live(file))
      guard files.count <= Self.restampCountMax else { return nil }
    }
    return files.sorted()
  }
}
