package import Base
package import Storage

/// Accounts that know each other: one of them has accepted a share of the other's.
package enum Contacts {
  /// A condition of SQL: whether two accounts, each a column or a parameter, know each other.
  package static func areContacts(_ one: String, _ other: String) -> String {
    ["shares", "log_shares"].flatMap { table in
      [(one, other), (other, one)].map { sharee, owner in
        """
        (SELECT k.account_id FROM sync.\(table) AS k
          WHERE k.state = 'accepted' AND k.account_id = \(sharee) AND k.owner_id = \(owner) LIMIT 1)
          IS NOT NULL
        """
      }
    }.joined(separator: " OR ")
  }

  /// Whether an account has any contact.
  package static func exist(of account: Identifier, _ queryable: some Queryable) throws -> Bool {
    let conditions = ["shares", "log_shares"].flatMap { table in
      ["account_id", "owner_id"].map { column in
        "SELECT 1 FROM sync.\(table) AS k WHERE k.state = 'accepted' AND k.\(column) = accounts.id"
      }
    }
    return try queryable.hasRow(
      "SELECT id FROM sync.accounts WHERE id = $1 AND ("
        + conditions.map { "EXISTS (\($0))" }.joined(separator: " OR ") + ")", .id(account))
  }

  /// Whether an account takes what another one sends it: they know each other, and it does not block the sender.
  package static func receives(
    _ receiver: Identifier, from sender: Identifier, _ queryable: some Queryable
  ) throws -> Bool {
    try areContacts(queryable, sender, receiver) && !Blocks.has(queryable, receiver, sender)
  }

  package static func areContacts(
    _ queryable: some Queryable, _ one: Identifier, _ other: Identifier
  ) throws -> Bool {
    let condition = areContacts("$1", "$2")
    return try queryable.hasRow(
      "SELECT id FROM sync.accounts WHERE id = $1 AND (\(condition))",
      .id(one), .id(other))
  }
}
