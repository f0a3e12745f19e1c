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
