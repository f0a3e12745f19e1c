import Accounts
import Base
import Crypto
import Requests
import Storage

/// The accounts' views of owners' trees, and when one must be read again.
extension Visibility {
  /// Begins a view if there is none. Its reader forgets the owner, so invitations of the owner are sent again.
  func open(_ share: Share, _ owners: inout LockedOwners) throws {
    let isOpen = try transaction.hasRow(
      "SELECT 1 FROM sync.views WHERE account_id = $1 AND owner_id = $2", .id(share.account),
      .id(share.owner))
    guard !isOpen else { return }
    let from = try owners.require(share.owner).sequence
    let offered = try files(in: .pending, share.account, share.owner)
    let isLittle = offered.count <= stampable
    if isLittle {
      try restamp(offered, share.owner, &owners)
    } else {
      restarted.insert(ViewID(account: share.account, owner: share.owner))
    }
    try insert(share.account, share.owner, from: isLittle ? from : 0)
  }

  private func insert(_ account: Identifier, _ owner: Identifier, from number: Int64) throws {
    try transaction.execute(
      "INSERT INTO sync.views (account_id, owner_id, number, from_seq) VALUES ($1, $2, $3, $4)",
      .id(account), .id(owner), .integer(Self.newNumber()), .integer(number))
    transaction.report(News(of: account, .account))
  }

  /// Ends the view with the last accepted share. The rest of it is never read, so invitations are sent again.
  func close(
    _ account: Identifier, _ owner: Identifier, _ owners: inout LockedOwners
  ) throws {
    let count = try transaction.execute(
      """
      DELETE FROM sync.views WHERE account_id = $1 AND owner_id = $2 AND NOT EXISTS (
        SELECT 1 FROM sync.shares
        WHERE account_id = $1 AND owner_id = $2 AND state = 'accepted')
      """, .id(account), .id(owner))
    guard count == 1 else { return }
    transaction.report(News(of: account, .account))
    restarted.remove(ViewID(account: account, owner: owner))
    for file in try files(in: .pending, account, owner) { try renew(file, account, &owners) }
  }

  /// Restores a missing view while a share of it is accepted. The whole owner's tree is read anew.
  func openFromBeginning(_ account: Identifier, _ owner: Identifier) throws {
    restarted.insert(ViewID(account: account, owner: owner))
    try insert(account, owner, from: 0)
  }

  private static func newNumber() -> Int64 { Int64(bitPattern: Random.identifier().high) }

  /// Has views read again: only from here on, if they show few enough files to get new numbers.
  func restart(
    _ accounts: [Identifier], _ owner: Identifier, _ owners: inout LockedOwners
  ) throws {
    guard !accounts.isEmpty else { return }
    let from = try owners.require(owner).sequence
    let files = try inView(of: accounts, owner)
    if let files { try restamp(files, owner, &owners) }
    for account in accounts {
      if files == nil { restarted.insert(ViewID(account: account, owner: owner)) }
      try transaction.execute(
        """
        UPDATE sync.views SET number = $3, from_seq = $4 WHERE account_id = $1 AND owner_id = $2
        """, .id(account), .id(owner), .integer(Self.newNumber()), .integer(files == nil ? 0 : from)
      )
    }
  }

  /// Everything that the accounts see of the owner's tree; nil if that is too much.
  private func inView(of accounts: [Identifier], _ owner: Identifier) throws -> [Identifier]? {
    var shared: Set<Identifier> = []
    var files: Set<Identifier> = []
    for account in accounts {
      guard readable > 0 else { return nil }
      let accepted = try self.files(in: .accepted, account, owner)
      let offered = try self.files(in: .pending, account, owner)
      readable -= accepted.count + offered.count
      shared.formUnion(accepted)
      files.formUnion(offered)
      guard shared.count + files.count <= stampable else { return nil }
    }
    for file in shared {
      guard let below = try live(file) else { return nil }
      files.formUnion(below)
      guard files.count <= stampable else { return nil }
    }
    return files.sorted()
  }

  /// The files that the owner shares with the account in a state. The rules limit their number.
  func files(
    in state: Share.State, _ account: Identifier, _ owner: Identifier
  ) throws -> [Identifier] {
    try transaction.ids(
      """
      SELECT file_id FROM sync.shares WHERE account_id = $1 AND owner_id = $2 AND state = $3
      ORDER BY file_id
      """, .id(account), .id(owner), .text(state.rawValue))
  }
}
