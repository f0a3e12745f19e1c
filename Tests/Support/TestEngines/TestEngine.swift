internal import Glibc

/// An engine that this machine can test.
///
/// PostgreSQL takes part when `COFFER_TEST_POSTGRES` holds the URL of a throw-away cluster
/// (`ops/postgres start DIR` prints one), as `ops/test` has it.
package enum TestEngine: String, Sendable, CaseIterable {
  case sqlite
  case postgres

  package static let available: [TestEngine] =
    postgresURL == nil ? [.sqlite] : [.sqlite, .postgres]

  /// Every one in a full run, `engine` alone in a short one: for what takes long and says little of engines.
  package static func mainly(_ engine: TestEngine) -> [TestEngine] {
    TestRun.isFull ? available : [available.contains(engine) ? engine : .sqlite]
  }

  /// Each value on every engine in a full run; in a short one each on one of them, by turns.
  package static func byTurns<Value: Sendable>(_ values: [Value]) -> [(Value, TestEngine)] {
    values.enumerated().flatMap { index, value in
      let engines = TestRun.isFull ? available : [available[index % available.count]]
      return engines.map { (value, $0) }
    }
  }

  package static let postgresURL: String? = {
    guard let text = unsafe getenv("COFFER_TEST_POSTGRES") else { return nil }
    let url = unsafe String(cString: text)
    return url.isEmpty ? nil : url
  }()
}
