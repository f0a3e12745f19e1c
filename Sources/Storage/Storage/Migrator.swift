import Base
import Migrations

/// The engine-specific part of creating schemas and bringing them up to date.
protocol MigrationSite {
  /// Makes a place for both schemas, then runs `body` while no other program migrates.
  func alone(_ body: () throws -> Void) throws
  /// A schema that may be changed. It is made if it is missing.
  func opened(_ schema: Schema) throws -> SchemaSite
  /// A schema for reading only; nil if it is missing. Nothing is made.
  func found(_ schema: Schema) throws -> SchemaSite?
  /// The name for operators of what holds both schemas.
  var place: String { get }
  /// The error for a schema that should be there and is missing.
  func absence(of schema: Schema) -> DatabaseError
}

struct SchemaSite {
  let connection: any ScriptConnection
  /// The qualifier of the schema's tables on this connection, e.g. `billing`.
  let qualifier: String
  /// SQL that returns a row if the schema has the table of that name.
  let tableQuery: (String) -> String
  /// Statements that begin the transaction of one migration. In it, unqualified names mean this schema.
  let begin: [String]
  /// Translates a script from the common dialect to that of this engine.
  let translate: (String) -> String
}

protocol ScriptConnection: EngineConnection {
  func execute(_ script: String) throws
  var canRollBack: Bool { get }
}

/// Creates both schemas and brings them up to date, one program at a time.
///
/// Each migration runs in its own transaction, together with the row that records it.
struct Migrator {
  let site: any MigrationSite
  let options: DatabaseOptions

  func prepare(_ preparation: Database.Preparation) throws {
    switch preparation {
    case .migrates: try migrate()
    case .requiresSchema:
      for plan in try plans() { try plan.requireNothingPending() }
    case .acceptsEarlier: _ = try plans()
    }
  }

  private func migrate() throws {
    try site.alone {
      try refuseHalf()
      for schema in Schema.allCases {
        let opened = try site.opened(schema)
        for migration in try plan(schema, opened).pending {
          try apply(migration, to: schema, opened)
        }
      }
    }
  }

  /// The pending migrations of both schemas. Throws if one is missing, without changing anything.
  private func plans() throws -> [MigrationPlan] {
    try refuseHalf()
    return try Schema.allCases.map { schema in
      guard let found = try site.found(schema) else { throw site.absence(of: schema) }
      return (schema, found)
    }.map { try plan($0, $1) }
  }

  /// Throws if one schema is missing or empty although a program has worked with the other.
  /// Programs start work only once both are made, so a first start that was cut off is not refused.
  private func refuseHalf() throws {
    for schema in Schema.allCases where try isEmpty(schema) {
      // Sync is made first. It may have been made meanwhile by another program's first start, so it
      // is checked again below.
      let isInUse =
        try schema == .sync ? !isEmpty(schema.other) : isUsed(schema.other)
      if isInUse, try isEmpty(schema) {
        throw DatabaseError.half(of: site.place, without: schema)
      }
    }
  }

  private func isEmpty(_ schema: Schema) throws -> Bool {
    guard let found = try site.found(schema) else { return true }
    return try applied(found).isEmpty
  }

  private func isUsed(_ schema: Schema) throws -> Bool {
    guard let found = try site.found(schema) else { return false }
    for table in schema.tablesOfUse where try has(table, found) {
      let sql = "SELECT 1 FROM \(found.qualifier).\(table) LIMIT 1"
      if try !found.connection.rows(sql, row: { _ in true }).isEmpty { return true }
    }
    return false
  }

  private func plan(_ schema: Schema, _ site: SchemaSite) throws -> MigrationPlan {
    try MigrationPlan(
      schema, applied: applied(site), oldestProgram: oldestProgram(site),
      known: options.migrations(of: schema))
  }

  private func has(_ table: String, _ site: SchemaSite) throws -> Bool {
    try !site.connection.rows(site.tableQuery(table), row: { _ in true }).isEmpty
  }

  private func oldestProgram(_ site: SchemaSite) throws -> Int? {
    guard try has("oldest_program", site) else { return nil }
    return try site.connection.rows("SELECT number FROM \(site.qualifier).oldest_program") { row in
      Int(try row.integer(0))
    }.last
  }

  private func applied(_ site: SchemaSite) throws -> [MigrationPlan.Applied] {
    guard try has("migrations", site) else { return [] }
    return try site.connection.rows(
      "SELECT number, name, digest FROM \(site.qualifier).migrations ORDER BY number"
    ) { row in
      MigrationPlan.Applied(
        number: Int(try row.integer(0)), name: try row.text(1), digest: try row.blob(2))
    }
  }

  private func apply(_ migration: Migration, to schema: Schema, _ site: SchemaSite) throws {
    let connection = site.connection
    do {
      for statement in site.begin { try connection.execute(statement) }
      try connection.execute(site.translate(Self.recordCreation))
      try connection.execute(site.translate(String(decoding: migration.sql, as: UTF8.self)))
      _ = try connection.perform(Self.recordInsertion, Self.record(of: migration)) { _ in true }
      _ = try connection.perform(
        Self.oldestProgram(after: migration),
        [.integer(migration.number - (migration.isAdditive ? 1 : 0))]
      ) { _ in true }
      try connection.execute("COMMIT")
    } catch {
      if connection.canRollBack { try connection.execute("ROLLBACK") }
      guard let error = error as? any EngineError else { throw error }
      switch error.databaseError {
      case .statement, .constraint:
        throw DatabaseError.migration("\(schema): migration \(migration.number): \(error.message)")
      default: throw error
      }
    }
    Log.info(
      "storage.migrated",
      ["schema": schema.rawValue, "number": String(migration.number), "name": migration.name])
  }
}

extension Schema {
  /// One of these tables has a row once a server has started, or a command has decided or made something.
  fileprivate var tablesOfUse: [String] {
    switch self {
    case .sync: ["history", "accounts"]
    case .billing: ["rules_in_force", "deliveries", "decisions", "catalogues_of_record"]
    }
  }
}

/// The tables that record, in each schema, which migrations were applied and which programs may use it.
extension Migrator {
  private static let recordCreation = """
    CREATE TABLE IF NOT EXISTS migrations (
      number INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      digest BLOB NOT NULL,
      applied_at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS oldest_program (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      number INTEGER NOT NULL
    ) STRICT
    """

  /// SQL that records which programs can use the schema now. A migration that only adds leaves a recorded number.
  private static func oldestProgram(after migration: Migration) -> String {
    "INSERT INTO oldest_program (id, number) VALUES (1, $1) ON CONFLICT (id) DO "
      + (migration.isAdditive ? "NOTHING" : "UPDATE SET number = excluded.number")
  }

  private static let recordInsertion =
    "INSERT INTO migrations (number, name, digest, applied_at) VALUES ($1, $2, $3, $4)"

  private static func record(of migration: Migration) -> [SQLValue] {
    [
      .integer(migration.number), .text(migration.name),
      .blob(MigrationPlan.digest(of: migration)), .instant(Clock.system.now()),
    ]
  }
}
