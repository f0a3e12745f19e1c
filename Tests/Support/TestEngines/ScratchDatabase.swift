internal import Base
internal import Glibc
internal import Postgres
package import Storage

/// An empty database of one test, and a directory, which hold until the test lets go of them.
package final class ScratchDatabase: Sendable {
  package let location: DatabaseLocation
  /// Where SQLite keeps its files; there is room for others.
  package let directory: ScratchDirectory
  private let postgresName: String?

  /// `parent` is where the directory goes, `encoding` how PostgreSQL keeps text.
  package init(
    _ engine: TestEngine, in parent: String = TestRun.scratch, encoding: String = "UTF8"
  ) throws {
    directory = try ScratchDirectory(in: parent)
    switch engine {
    case .sqlite:
      postgresName = nil
      location = .sqlite(directory: directory.path)
    case .postgres:
      var random = SystemRandomNumberGenerator()
      let name = "coffer_\(getpid())_\(String(random.next(), radix: 36))"
      postgresName = name
      location = .postgres(url: Secret(Self.url(of: name)))
      try Self.administer("CREATE DATABASE \(name) ENCODING '\(encoding)' TEMPLATE template0")
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

  private static func administer(_ sql: String) throws {
    let connection = try PostgresConnection(
      url: Secret(TestEngine.postgresURL ?? ""), connectSeconds: 5, answerWait: .seconds(60))
    try connection.execute(sql)
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
