import Storage
import TestFiles

/// An empty database with both schemas of this build, to be copied. Migrating takes longer than most tests,
/// so each process does it once for each engine.
enum MigratedDatabase {
  /// SQLite's files, by name.
  static func files() throws -> [String: [UInt8]] { try sqlite.get() }

  /// The name of PostgreSQL's database. It remains in the throw-away cluster.
  static func postgresName() throws -> String { try postgres.get() }

  private static let sqlite = Result {
    let scratch = try ScratchDatabase(.sqlite)
    try Database.open(scratch.location, owning: .billing).close()
    var files: [String: [UInt8]] = [:]
    let folder = scratch.directory.path + "/database"
    for name in Files.names(in: folder) { files[name] = Files.bytes("\(folder)/\(name)") }
    return files
  }

  private static let postgres = Result {
    let name = ScratchDatabase.newPostgresName()
    try ScratchDatabase.administer(
      "CREATE DATABASE \(name) ENCODING 'UTF8' TEMPLATE template0")
    try Database.open(ScratchDatabase.postgresLocation(name), owning: .billing).close()
    return name
  }
}
