import Glibc

/// The options of the test run.
package enum TestRun {
  /// Whether this is the long run (`ops/test --full`).
  package static let isFull = unsafe getenv("COFFER_TEST_FULL") != nil

  /// The path of an earlier version's programs (`ops/upgrade-test`).
  package static let previousPrograms = unsafe getenv("COFFER_TEST_PREVIOUS").map {
    unsafe String(cString: $0)
  }

  /// The place of tests' files. `ops/test` chooses memory if there is room, because waiting for a disk takes
  /// most of the time.
  package static let scratch =
    unsafe getenv("COFFER_TEST_SCRATCH").map {
      unsafe String(cString: $0)
    } ?? "/tmp"
}
