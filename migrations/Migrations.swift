/// The database schema of both programs, in the order it grows; embedded, so a binary carries it.
///
/// A file is never edited after release: its digest is recorded where it was applied and compared
/// at every start. A new change is a new file and a new line here.
package struct Migration: Sendable {
  package let number: Int
  package let name: String
  /// Whether programs that do not know it go on, and may start, beside those that do. It only adds:
  /// tables, columns that have a default or may be NULL; indexes may change. What stands there means what it
  /// meant, and whoever writes a row as before breaks nothing.
  package let isAdditive: Bool
  package let sql: [UInt8]

  package init(number: Int, name: String, isAdditive: Bool = false, sql: [UInt8]) {
    self.number = number
    self.name = name
    self.isAdditive = isAdditive
    self.sql = sql
  }
}

package enum Migrations {
  package static let sync: [Migration] = [
    Migration(number: 1, name: "accounts", sql: PackageResources.sync_0001_accounts_sql),
    Migration(number: 2, name: "trees", sql: PackageResources.sync_0002_trees_sql),
    Migration(number: 3, name: "links", sql: PackageResources.sync_0003_links_sql),
    Migration(number: 4, name: "devices", sql: PackageResources.sync_0004_devices_sql),
    Migration(number: 5, name: "uploads", sql: PackageResources.sync_0005_uploads_sql),
    Migration(number: 6, name: "kept", sql: PackageResources.sync_0006_kept_sql),
    Migration(number: 7, name: "cursors", sql: PackageResources.sync_0007_cursors_sql),
    Migration(number: 8, name: "live_shares", sql: PackageResources.sync_0008_live_shares_sql),
    Migration(number: 9, name: "strangers", sql: PackageResources.sync_0009_strangers_sql),
    Migration(
      number: 10, name: "share_versions", sql: PackageResources.sync_0010_share_versions_sql),
    Migration(number: 11, name: "folds", sql: PackageResources.sync_0011_folds_sql),
    Migration(number: 12, name: "suspension", sql: PackageResources.sync_0012_suspension_sql),
    Migration(
      number: 13, name: "leaving", isAdditive: true, sql: PackageResources.sync_0013_leaving_sql),
    Migration(
      number: 14, name: "sessions", isAdditive: true,
      sql: PackageResources.sync_0014_sessions_sql),
    Migration(
      number: 15, name: "moved", isAdditive: true, sql: PackageResources.sync_0015_moved_sql),
    Migration(
      number: 16, name: "deletion_asker", isAdditive: true,
      sql: PackageResources.sync_0016_deletion_asker_sql),
    Migration(
      number: 17, name: "failing_items", isAdditive: true,
      sql: PackageResources.sync_0017_failing_items_sql),
    Migration(
      number: 18, name: "operator_keys", isAdditive: true,
      sql: PackageResources.sync_0018_operator_keys_sql),
  ]

  package static let billing: [Migration] = [
    Migration(number: 1, name: "ledger", sql: PackageResources.billing_0001_ledger_sql),
    Migration(number: 2, name: "stores", sql: PackageResources.billing_0002_stores_sql),
    Migration(number: 3, name: "jobs", sql: PackageResources.billing_0003_jobs_sql),
    Migration(number: 4, name: "job_times", sql: PackageResources.billing_0004_job_times_sql),
    Migration(
      number: 5, name: "catalogues", sql: PackageResources.billing_0005_catalogues_sql),
    Migration(number: 6, name: "held", sql: PackageResources.billing_0006_held_sql),
    Migration(number: 7, name: "outages", sql: PackageResources.billing_0007_outages_sql),
    Migration(number: 8, name: "claims", sql: PackageResources.billing_0008_claims_sql),
    Migration(
      number: 9, name: "former_owners",
      sql: PackageResources.billing_0009_former_owners_sql),
    Migration(
      number: 10, name: "sold_prices", sql: PackageResources.billing_0010_sold_prices_sql),
    Migration(
      number: 11, name: "vocabulary", sql: PackageResources.billing_0011_vocabulary_sql),
    Migration(
      number: 12, name: "compression", sql: PackageResources.billing_0012_compression_sql),
    Migration(number: 13, name: "audit", sql: PackageResources.billing_0013_audit_sql),
    Migration(number: 14, name: "search", sql: PackageResources.billing_0014_search_sql),
    Migration(
      number: 15, name: "attention", sql: PackageResources.billing_0015_attention_sql),
    Migration(
      number: 16, name: "proofs", isAdditive: true, sql: PackageResources.billing_0016_proofs_sql),
    Migration(
      number: 17, name: "flows", isAdditive: true, sql: PackageResources.billing_0017_flows_sql),
    Migration(
      number: 18, name: "notices", isAdditive: true,
      sql: PackageResources.billing_0018_notices_sql),
    Migration(
      number: 19, name: "refunds", isAdditive: true,
      sql: PackageResources.billing_0019_refunds_sql),
    Migration(
      number: 20, name: "reconciliations", isAdditive: true,
      sql: PackageResources.billing_0020_reconciliations_sql),
    Migration(
      number: 21, name: "leaving", isAdditive: true,
      sql: PackageResources.billing_0021_leaving_sql),
    Migration(
      number: 22, name: "jobs", isAdditive: true, sql: PackageResources.billing_0022_jobs_sql),
    Migration(
      number: 23, name: "shrunk_caps", isAdditive: true,
      sql: PackageResources.billing_0023_shrunk_caps_sql),
    Migration(
      number: 24, name: "owed_changes", isAdditive: true,
      sql: PackageResources.billing_0024_owed_changes_sql),
    Migration(
      number: 25, name: "unknown_accounts", isAdditive: true,
      sql: PackageResources.billing_0025_unknown_accounts_sql),
    Migration(
      number: 26, name: "unread_types", isAdditive: true,
      sql: PackageResources.billing_0026_unread_types_sql),
    Migration(
      number: 27, name: "heard_deletions", isAdditive: true,
      sql: PackageResources.billing_0027_heard_deletions_sql),
    Migration(
      number: 28, name: "rules_changes", isAdditive: true,
      sql: PackageResources.billing_0028_rules_changes_sql),
    Migration(
      number: 29, name: "failing_jobs", isAdditive: true,
      sql: PackageResources.billing_0029_failing_jobs_sql),
    Migration(
      number: 30, name: "repairs", isAdditive: true,
      sql: PackageResources.billing_0030_repairs_sql),
    Migration(
      number: 31, name: "unconfirmed", isAdditive: true,
      sql: PackageResources.billing_0031_unconfirmed_sql),
    Migration(
      number: 32, name: "orders", isAdditive: true,
      sql: PackageResources.billing_0032_orders_sql),
    Migration(
      number: 33, name: "checks", isAdditive: true,
      sql: PackageResources.billing_0033_checks_sql),
  ]
}
