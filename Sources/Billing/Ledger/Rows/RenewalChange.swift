import Storage
import Subscriptions

/// A change of whether a subscription renews, as its transitions record it.
package enum RenewalChange: String {
  case ended = "does_not_renew"
  case begun = "renews"

  /// The last one that was recorded; nil if there is none.
  static func last(of key: ObjectKey, reading database: some Queryable) throws -> RenewalChange? {
    try database.first(
      """
      SELECT state_after FROM billing.transitions
      WHERE object = $1 AND state_after IN ($2, $3) ORDER BY number DESC LIMIT 1
      """, .text(key.description), .text(ended.rawValue), .text(begun.rawValue)
    ) { row in try row.text(0) }.flatMap { RenewalChange(rawValue: $0) }
  }
}
