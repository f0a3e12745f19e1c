package import Base
package import Storage

/// The news of a topic of another account, which concern an account that sees its data.
package struct Followed: Hashable, Sendable {
  package let owner: Identifier
  package let topic: News.Topic
  /// Nil if all news of the topic do.
  package let subject: Identifier?

  package init(_ owner: Identifier, _ topic: News.Topic, _ subject: Identifier? = nil) {
    self.owner = owner
    self.topic = topic
    self.subject = subject
  }
}

extension Followed {
  /// What `read` returns for each of the accounts that have rows in a table. Most have none, so one statement asks
  /// for all of them.
  package static func byAccount(
    _ accounts: [Identifier], in table: String, reading queryable: some Queryable,
    _ read: (Identifier) throws -> [Followed]
  ) throws -> [Identifier: [Followed]] {
    let following = try queryable.rows(in: accounts.map { .id($0) }) { list in
      """
      SELECT a.id FROM sync.accounts AS a WHERE a.id IN (\(list))
        AND EXISTS (SELECT 1 FROM sync.\(table) AS f WHERE f.account_id = a.id)
      """
    } row: { row in
      try row.id(0)
    }
    return Dictionary(uniqueKeysWithValues: try following.map { ($0, try read($0)) })
  }

  /// The accounts, each once for an owner and at most `count`, that a table has beside the owners. `condition` chooses
  /// among its rows.
  package static func accounts(
    of owners: [Identifier], in table: String, where condition: String = "TRUE",
    atMost count: Int, reading queryable: some Queryable
  ) throws -> [Identifier] {
    var accounts: [Identifier] = []
    for list in SQLList.slices(of: owners.map { .id($0) }, after: 1) where accounts.count < count {
      try queryable.query(
        """
        SELECT DISTINCT owner_id, account_id FROM sync.\(table)
        WHERE owner_id IN (\(list.parameters)) AND \(condition)
        ORDER BY owner_id, account_id LIMIT $1
        """, [.integer(Int64(count - accounts.count))] + list.values
      ) { row in
        accounts.append(try row.id(1))
        return true
      }
    }
    return accounts
  }
}
