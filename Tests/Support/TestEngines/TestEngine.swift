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

  package static let postgresURL: String? = {
    guard let text = unsafe getenv("COFFER_TEST_POSTGRES") else { return nil }
    let url = unsafe String(cString: text)
    return url.isEmpty ? nil : url
  }()
}
