/// The choice of when the purchases of a deleted account end.
package enum DeletionPolicy: String, Sendable, CaseIterable {
  /// Billing stops, and the purchase runs to the end of what was paid.
  case periodEnd = "period_end"
  /// The purchase ends with the erasure, if the store does not give money back for that.
  case now
}
