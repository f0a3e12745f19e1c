internal import Base
internal import Storage

/// A batch that breaks no rule, and all that was read to find that out.
///
/// It holds for as long as the accounts that it concerns stand at the numbers they had: whatever
/// changes a file or a share that was decided by gives its owner's or its sharee's sequence a number.
struct Judgement: Sendable {
  let tree: PlannedTree
  let records: [Identifier: FileRecord]
  /// Unchanged folders that may have more levels beneath them than before.
  let raisedHeights: [Identifier: Int64]
  /// Strangers that it invites, where the caller may invite only so many.
  let invitations: Invitations.Sent
  /// The accounts whose rows the batch changes or was decided by, with the numbers they stood at: of
  /// those that share with the caller or that it names as sharees.
  let numbers: [Identifier: Int64]
  /// Those among them in whose trees it changes something: a write of theirs may change the others.
  let owners: Set<Identifier>

  var accounts: Set<Identifier> { Set(numbers.keys) }

  /// Whether it still holds, as far as can be told without a lock.
  func isCurrent(_ queryable: some Queryable) throws -> Bool {
    try owners.allSatisfy { try Self.number(of: $0, queryable) == numbers[$0] }
  }

  /// Where the accounts that it concerns stand now.
  func currentNumbers(_ queryable: some Queryable) throws -> [Identifier: Int64] {
    var current: [Identifier: Int64] = [:]
    for account in accounts { current[account] = try Self.number(of: account, queryable) }
    return current
  }

  static func number(of account: Identifier, _ queryable: some Queryable) throws -> Int64? {
    try queryable.first("SELECT seq FROM sync.accounts WHERE id = $1", .id(account)) { row in
      try row.integer(0)
    }
  }
}
