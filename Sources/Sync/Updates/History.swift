internal import Base
internal import Crypto
package import Storage

/// Which history this database's sequence numbers belong to.
package enum History {
  /// Writes the first history where there is none; safe to call from several programs at once.
  package static func establish(_ database: Database) throws {
    try database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "INSERT INTO sync.history (id, history_id) VALUES (1, $1) ON CONFLICT (id) DO NOTHING",
        .id(Random.identifier()))
    }
  }

  static func current(_ queryable: some Queryable) throws -> Identifier {
    let found = try queryable.first("SELECT history_id FROM sync.history WHERE id = 1") { row in
      try row.id(0)
    }
    guard let found else {
      throw DatabaseError.unavailable(reason: "the history was never established")
    }
    return found
  }
}
