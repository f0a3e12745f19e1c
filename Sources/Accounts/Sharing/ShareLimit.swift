package import Base
package import Storage
package import Tiers

/// The limit of a plan for the shares that an owner grants, of everything it owns.
package enum ShareLimit {
  /// Refuses `added` more live shares than the owner's plan allows. Existing ones stay.
  package static func require(
    _ added: Int, of owner: Identifier, _ queryable: some Queryable, _ limits: Plan.Limits?
  ) throws {
    guard let max = limits?.shareCount else { return }
    let live = try queryable.number(
      """
      SELECT count(*) FROM (
        SELECT * FROM (SELECT 1 AS one FROM sync.shares
          WHERE owner_id = $1 AND state IN ('pending', 'accepted') LIMIT $2) AS files
        UNION ALL
        SELECT * FROM (SELECT 1 AS one FROM sync.log_shares WHERE owner_id = $1 LIMIT $2) AS logs
      ) AS live
      """, .id(owner), .integer(max))
    if live + Int64(added) > max { throw AccountRefusal.tooManyShares(max: max) }
  }
}
