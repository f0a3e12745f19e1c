internal import Base
internal import Glibc
package import Storage

/// Which database a test runs on; PostgreSQL takes part where `COFFER_TEST_POSTGRES` names a
/// cluster, which `ops/test` always does.
package enum TestEngine: String, CaseIterable, Sendable {
  case sqlite, postgres

  package static let available: [TestEngine] = cluster == nil ? [.sqlite] : [.sqlite, .postgres]

  fileprivate static let cluster: String? = unsafe getenv("COFFER_TEST_POSTGRES").map {
    unsafe String(cString: $0)
  }
}

/// A directory and a database of one test, gone when the test lets go of them.
package final class Scratch: Sendable {
  package let directory: String
  package let location: DatabaseLocation
  private let postgresName: String?

  package init(_ engine: TestEngine) throws {
    var random = SystemRandomNumberGenerator()
    let name = "coffer_test_\(getpid())_\(String(random.next(), radix: 36))"
    directory = "/tmp/" + name
    guard unsafe mkdir(directory, 0o700) == 0 else { throw ScratchError.noDirectory }
    switch engine {
    case .sqlite:
      postgresName = nil
      location = .sqlite(directory: directory + "/database")
    case .postgres:
      postgresName = name
      try Self.psql("CREATE DATABASE \(name)")
      let parts = Self.cluster.split(separator: "/postgres?", maxSplits: 1)
      let url = parts.joined(separator: "/\(name)?")
      location = .postgres(url: Secret(url))
    }
  }

  deinit {
    if let postgresName { try? Self.psql("DROP DATABASE \(postgresName) WITH (FORCE)") }
    _ = unsafe system("rm -rf '\(directory)'")
  }

  private static var cluster: String { TestEngine.cluster ?? "" }

  private static func psql(_ statement: String) throws {
    let command = "psql --quiet --no-psqlrc '\(cluster)' --command '\(statement)' >/dev/null 2>&1"
    guard unsafe system(command) == 0 else { throw ScratchError.noDatabase }
  }
}

package enum ScratchError: Error {
  case noDirectory, noDatabase
}
