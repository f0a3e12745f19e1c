import Glibc

/// The sanitizer options of this process, for Coffer's programs that it starts. They are built in the same
/// way, and would report as leaked what only tagged pointers of Swift lead to.
package enum Sanitizers {
  package static let environment: [String: String] = {
    var environment: [String: String] = [:]
    for name in ["ASAN_OPTIONS", "TSAN_OPTIONS"] {
      if let value = unsafe getenv(name) { environment[name] = unsafe String(cString: value) }
    }
    return environment
  }()
}
