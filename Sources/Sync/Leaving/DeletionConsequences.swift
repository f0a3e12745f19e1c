package import Base
package import JSON
package import Storage

/// The effects of an account's deletion, shown to its owner beforehand.
package struct DeletionConsequences: Sendable {
  package let recordCount: Int64
  package let byteCount: Int64
  /// The accounts that lose a share of a file or of a log, or their place in a chain, up to the limit of the answer.
  private let sharees: [(kind: String, subject: Identifier, account: Identifier)]
  package let shareCount: Int64
  /// The versions of documents that its devices wrote in other accounts, and that go there.
  private let versionCount: Int64
  /// The account's signature chains in which others have members.
  private let chainCount: Int64
  /// The account's subscriptions, and whether each store would bill again.
  package let subscriptions: [(key: String, renews: Bool)]

  private static let toldCountMax: Int64 = 100

  package init(of account: Identifier, reading database: some Queryable) throws {
    let figures = try database.first(
      "SELECT record_count, usage_bytes FROM sync.accounts WHERE id = $1", .id(account)
    ) { row in (try row.integer(0), try row.integer(1)) }
    (recordCount, byteCount) = figures ?? (0, 0)
    sharees = try database.rows(
      """
      SELECT 'file' AS kind, file_id AS subject, account_id FROM sync.shares
      WHERE owner_id = $1 AND state IN ('pending', 'accepted')
      UNION ALL SELECT 'log', log_id, account_id FROM sync.log_shares WHERE owner_id = $1
      UNION ALL SELECT 'chain', chain_id, account_id FROM sync.chain_accounts
      WHERE owner_id = $1 AND account_id <> $1 AND left_ms IS NULL
      ORDER BY account_id, kind, subject LIMIT $2
      """, .id(account), .integer(Self.toldCountMax)
    ) { row in (kind: try row.text(0), subject: try row.id(1), account: try row.id(2)) }
    shareCount = try database.number(
      """
      SELECT count(*) FROM (SELECT file_id FROM sync.shares
        WHERE owner_id = $1 AND state IN ('pending', 'accepted')
        UNION ALL SELECT log_id FROM sync.log_shares WHERE owner_id = $1 LIMIT 10000) AS found
      """, .id(account))
    versionCount = try database.number(
      """
      SELECT count(*) FROM (
        SELECT seq FROM sync.document_versions WHERE writer_id = $1 LIMIT 10000) AS found
      """, .id(account))
    chainCount = try database.number(
      """
      SELECT count(DISTINCT chain_id) FROM sync.chain_accounts
      WHERE owner_id = $1 AND account_id <> $1 AND left_ms IS NULL
      """, .id(account))
    subscriptions = try database.rows(
      "SELECT object, will_renew FROM billing.subscriptions WHERE owner = $1 ORDER BY object LIMIT $2",
      .id(account), .integer(Self.toldCountMax)
    ) { row in (key: try row.text(0), renews: try row.integer(1) == 1) }
  }

  package var members: [JSONValue.Member] {
    [
      .init("records", .integer(recordCount)), .init("bytes", .integer(byteCount)),
      .init("shares", .integer(shareCount)), .init("versions", .integer(versionCount)),
      .init("chains", .integer(chainCount)),
      .init(
        "shared_with",
        .array(
          sharees.map {
            .object([
              .init($0.kind, .string($0.subject.description)),
              .init("account", .string($0.account.description)),
            ])
          })),
      .init(
        "subscriptions",
        .array(
          subscriptions.map { ["subscription": .string($0.key), "renews": .bool($0.renews)] })),
    ]
  }
}
