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
    Migration(number: 1, name: "schema", sql: PackageResources.sync_0001_schema_sql),
    Migration(
      number: 2, name: "logs", isAdditive: true, sql: PackageResources.sync_0002_logs_sql),
    Migration(
      number: 3, name: "mailboxes", isAdditive: true,
      sql: PackageResources.sync_0003_mailboxes_sql),
    Migration(
      number: 4, name: "chains", isAdditive: true, sql: PackageResources.sync_0004_chains_sql),
    Migration(
      number: 5, name: "key_backup", isAdditive: true,
      sql: PackageResources.sync_0005_key_backup_sql),
    Migration(
      number: 6, name: "public_links", isAdditive: true,
      sql: PackageResources.sync_0006_public_links_sql),
  ]

  package static let billing: [Migration] = [
    Migration(number: 1, name: "schema", sql: PackageResources.billing_0001_schema_sql)
  ]
}
