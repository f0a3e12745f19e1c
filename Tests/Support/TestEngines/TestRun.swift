import Glibc

/// What the run of all tests was asked to be.
package enum TestRun {
  /// Whether it is the long one (`ops/test --full`).
  package static let isFull = unsafe getenv("COFFER_TEST_FULL") != nil

  /// Where the programs of an earlier version lie (`ops/upgrade-test`).
  package static let previousPrograms = unsafe getenv("COFFER_TEST_PREVIOUS").map {
    unsafe String(cString: $0)
  }

  /// Where tests keep their files. `ops/test` names a place in memory where there is room, since most of
  /// their time goes to waiting for a disk.
  package static let scratch =
    unsafe getenv("COFFER_TEST_SCRATCH").map {
      unsafe String(cString: $0)
    } ?? "/tmp"
}
