internal import Base
internal import Storage

extension Batch {
  /// Whose rows the batch changes or decides by: of those that it may concern at all.
  ///
  /// Read before the locks: a file never changes its owner, so the answer stays right.
  func concernedAccounts(
    _ transaction: Transaction, _ caller: Identifier, now: Instant
  ) throws -> Set<Identifier> {
    var accounts: Set<Identifier> = [caller]
    var owners: Set<Identifier> = Set(files.map(\.statement.owner))
    let ids =
      files.map(\.statement.id) + files.compactMap(\.statement.target)
      + shares.map(\.statement.file)
    var links: [Identifier] = []
    var changed: [Identifier: Identifier] = [:]
    for id in Set(ids) {
      let found = try transaction.first(
        "SELECT owner_id, target_id FROM sync.files WHERE id = $1", .id(id)
      ) { row in (try row.id(0), try row.optionalID(1)) }
      guard let (owner, target) = found else { continue }
      owners.insert(owner)
      changed[id] = owner
      if let target { links.append(target) }
    }
    let visibility = Visibility(transaction, now: now)
    for target in links {
      if let owner = try visibility.owner(of: target) { owners.insert(owner) }
    }
    for owner in owners where owner != caller {
      let share = try transaction.first(
        "SELECT file_id FROM sync.shares WHERE account_id = $1 AND owner_id = $2 LIMIT 1",
        .id(caller), .id(owner)
      ) { row in try row.id(0) }
      if share != nil { accounts.insert(owner) }
    }
    for (id, owner) in changed where accounts.contains(owner) {
      accounts.formUnion(try visibility.invited(to: id))
    }
    return accounts.union(shares.map(\.statement.account))
  }
}
