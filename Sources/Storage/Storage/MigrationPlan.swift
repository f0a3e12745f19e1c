import Crypto
package import Migrations

/// The migrations that one schema still needs, after a check of those that were applied.
package struct MigrationPlan {
  package let pending: [Migration]
  private let schema: Schema

  /// A row of the table `migrations`.
  package struct Applied: Equatable, Sendable {
    package let number: Int
    package let name: String
    package let digest: [UInt8]

    package init(number: Int, name: String, digest: [UInt8]) {
      self.number = number
      self.name = name
      self.digest = digest
    }
  }

  /// Both lists ascend. `oldestProgram` is how many migrations a program must know; nil if none recorded it.
  ///
  /// - Throws: `.migration` for an edited file, a gap, or a database that a newer program migrated for itself.
  package init(
    _ schema: Schema, applied: [Applied], oldestProgram: Int?, known: [Migration]
  ) throws(DatabaseError) {
    for (index, migration) in known.enumerated() where migration.number != index + 1 {
      throw .migration("\(schema): this program has no migration \(index + 1)")
    }
    for (index, row) in applied.enumerated() {
      guard row.number == index + 1 else {
        throw .migration(
          "\(schema): migration \(index + 1) was never applied to the database",
          remedy: "restore a backup")
      }
      guard index < known.count else {
        if known.count >= oldestProgram ?? applied.count { break }
        throw .migration(
          "\(schema): the database is at migration \(applied.count), this program knows "
            + "\(known.count)", remedy: "run a newer program")
      }
      guard row.digest == Self.digest(of: known[index]) else {
        throw .migration(
          "\(schema): migration \(row.number) (\(row.name)) was edited after it was applied",
          remedy: "run the program that the database was made with, or a newer release")
      }
    }
    pending = Array(known.dropFirst(applied.count))
    self.schema = schema
  }

  /// For callers that may not migrate. Throws `.migration` if anything is pending.
  package func requireNothingPending() throws(DatabaseError) {
    guard let next = pending.first else { return }
    throw .migration(
      "\(schema): the database lacks migration \(next.number) (\(next.name))",
      remedy: "coffer migrate brings it up to date")
  }

  package static func digest(of migration: Migration) -> [UInt8] { SHA256.hash(migration.sql) }
}
