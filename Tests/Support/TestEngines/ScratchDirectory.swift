internal import Glibc
internal import TestFiles

/// A directory of one test, removed when the test lets go of it.
package final class ScratchDirectory: Sendable {
  package let path: String

  /// `parent` is where it goes.
  package init(in parent: String = TestRun.scratch) throws {
    var random = SystemRandomNumberGenerator()
    path = "\(parent)/coffer-test-\(getpid())-\(String(random.next(), radix: 36))"
    guard unsafe mkdir(path, 0o700) == 0 else {
      throw ScratchError(reason: "cannot create \(path)")
    }
  }

  deinit { Files.removeAll(path) }

  /// Writes a file of that name; returns its path.
  package func write(_ text: String, to name: String) throws -> String {
    let path = "\(path)/\(name)"
    try Files.write(text, to: path)
    return path
  }
}

package struct ScratchError: Error {
  let reason: String
}
