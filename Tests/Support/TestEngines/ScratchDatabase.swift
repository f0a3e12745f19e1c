import Base
import Glibc
import Postgres
package import Storage
import TestFiles

/// A database and a directory for one test, which exist until the test releases them.
package final class ScratchDatabase: Sendable {
  /// The initial content of the database.
  package enum Content: Sendable {
    /// Nothing: the program that opens it creates the schemas.
    case nothing
    /// Both schemas as this build has them, and no rows.
    case schemas
  }

  package let location: DatabaseLocation
  /// SQLite's files are in its `database` folder; tests may add other files.
  package let directory: ScratchDirectory
  private let postgresName: String?

  /// `parent` is the place of the directory, `encoding` PostgreSQL's encoding of text.
  package init(
    _ engine: TestEngine, with content: Content = .nothing, in parent: String = TestRun.scratch,
    encoding: String = "UTF8"
  ) throws {
    directory = try ScratchDirectory(in: parent)
    switch engine {
    case .sqlite:
      postgresName = nil
      let folder = directory.path + "/database"
      location = .sqlite(directory: folder)
      try Files.createFolder(folder)
      if content == .nothing { return }
      for (name, bytes) in try MigratedDatabase.files() {
        try Files.write(bytes, to: "\(folder)/\(name)", isSecret: true)
      }
    case .postgres:
      let name = Self.newPostgresName()
      let template = try content == .nothing ? "template0" : MigratedDatabase.postgresName()
      postgresName = name
      location = Self.postgresLocation(name)
      try Self.administer("CREATE DATABASE \(name) ENCODING '\(encoding)' TEMPLATE \(template)")
    }
  }

  deinit {
    guard let postgresName else { return }
    do {
      try Self.administer("DROP DATABASE \(postgresName) WITH (FORCE)")
    } catch {
      print("scratch database \(postgresName) stays behind: \(error)")
    }
  }

  static func newPostgresName() -> String {
    var random = SystemRandomNumberGenerator()
    return "coffer_\(getpid())_\(String(random.next(), radix: 36))"
  }

  static func postgresLocation(_ name: String) -> DatabaseLocation {
    .postgres(url: Secret(url(of: name)))
  }

  private static let idle = Locked<[PostgresConnection]>([])

  static func administer(_ sql: String) throws {
    let connection =
      try idle.withLock { $0.popLast() }
      ?? PostgresConnection(
        url: Secret(TestEngine.postgresURL ?? ""), connectSeconds: 5, answerWait: .seconds(60))
    try connection.execute(sql)
    // A connection of its own for each database would take as long as making it.
    idle.withLock { $0.append(connection) }
  }

  /// The cluster's URL with another database name.
  private static func url(of database: String) -> String {
    let url = TestEngine.postgresURL ?? ""
    let query = url.drop { $0 != "?" }
    let base = url.prefix { $0 != "?" }
    let slash = base.lastIndex(of: "/") ?? base.endIndex
    return "\(base[..<slash])/\(database)\(query)"
  }
}
