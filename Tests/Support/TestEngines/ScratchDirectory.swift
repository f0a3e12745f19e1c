import Glibc
import TestFiles

/// A directory for one test, removed when the test releases it.
package final class ScratchDirectory: Sendable {
  package let path: String

  /// `parent` is the place of the directory.
  package init(in parent: String = TestRun.scratch) throws {
    var random = SystemRandomNumberGenerator()
    path = "\(parent)/coffer-test-\(getpid())-\(String(random.next(), radix: 36))"
    guard unsafe mkdir(path, 0o700) == 0 else {
      throw ScratchError(reason: "cannot create \(path)")
    }
  }

  deinit { Files.removeAll(path) }

  /// Writes a file of this name, and returns its path.
  package func write(_ text: String, to name: String) throws -> String {
    let path = "\(path)/\(name)"
    try Files.write(text, to: path)
    return path
  }
}

package struct ScratchError: Error {
  let reason: String
}
