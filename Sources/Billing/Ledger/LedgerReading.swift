internal import Base
package import Storage
package import Stores
package import Subscriptions

/// What is stored of objects and how they hang together, in the words of their stores.
package struct LedgerReading: LinkReader {
  let stores: StoreList
  let database: any Queryable

  package func origins(of kind: Link.Kind, to target: ObjectKey) throws -> [ObjectKey] {
    try database.rows(
      "SELECT origin FROM billing.links WHERE target = $1 AND kind = $2 ORDER BY origin",
      .text(target.description), .text(kind.rawValue)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
  }

  /// More than this are linked to one object only by mistake or malice.
  private static let bridgedCountMax = 1000

  package func bridged(to key: ObjectKey) throws -> [Fact] {
    try database.rows(
      """
      WITH RECURSIVE near (object) AS (
        SELECT origin FROM billing.links WHERE target = $1 AND kind = 'bridge'
        UNION
        SELECT l.origin FROM near n JOIN billing.links l ON l.target = n.object
        WHERE l.kind = 'bridge')
      SELECT object, delivery, as_of_from_ms, as_of_to_ms, content
      FROM billing.mirrors WHERE object = $1
      UNION ALL
      SELECT m.object, m.delivery, m.as_of_from_ms, m.as_of_to_ms, m.content
      FROM near n JOIN billing.mirrors m ON m.object = n.object
      LIMIT $2
      """, .text(key.description), .integer(Self.bridgedCountMax)
    ) { row in try MirrorRow(row, of: stores).fact }
  }

  /// What belongs to an object, the newest first.
  private static let partCountMax: Int64 = 16

  /// What a reader of the object may need to know.
  package func known(of key: ObjectKey) throws -> StoreRead.Known {
    StoreRead.Known(
      reasons: try database.rows(
        "SELECT DISTINCT reason FROM billing.read_requests WHERE object = $1 ORDER BY reason",
        .text(key.description)
      ) { row in try row.text(0) },
      parts: try database.rows(
        """
        SELECT origin FROM billing.links WHERE target = $1 AND kind = 'part'
        ORDER BY delivery DESC, origin LIMIT $2
        """, .text(key.description), .integer(Self.partCountMax)
      ) { row in try row.text(0) }.compactMap { ObjectKey($0) })
  }
}

extension Ledger {
  package func reading(_ database: any Queryable) -> LedgerReading {
    LedgerReading(stores: stores, database: database)
  }
}
