internal import Glibc

/// What the sanitizers of this process were told, for the programs of ours that it starts: they are built as it
/// is, and would take what only tagged pointers of Swift lead to for leaked.
package enum Sanitizers {
  package static let environment: [String: String] = {
    var environment: [String: String] = [:]
    for name in ["ASAN_OPTIONS", "TSAN_OPTIONS"] {
      if let value = unsafe getenv(name) { environment[name] = unsafe String(cString: value) }
    }
    return environment
  }()
}
