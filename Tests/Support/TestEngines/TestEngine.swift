import Glibc

/// An engine that this machine can test.
///
/// PostgreSQL is tested if `COFFER_TEST_POSTGRES` holds the URL of a throw-away cluster, as with `ops/test`
/// (`ops/postgres start DIR` prints one).
package enum TestEngine: String, Sendable, CaseIterable {
  case sqlite
  case postgres

  package static let available: [TestEngine] =
    postgresURL == nil ? [.sqlite] : [.sqlite, .postgres]

  /// Every engine in a full run, only `engine` in a short one. For tests that take long and depend little on
  /// the engine.
  package static func mainly(_ engine: TestEngine) -> [TestEngine] {
    TestRun.isFull ? available : [available.contains(engine) ? engine : .sqlite]
  }

  /// Each value on every engine in a full run; in a short run each on one engine, by turns.
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
