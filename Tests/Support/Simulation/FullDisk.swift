internal import Glibc

/// A disk that takes no more, for this whole process: programs with a single story alone may use it.
package enum FullDisk {
  /// Runs `body` while no file of this process may grow beyond so many bytes: a write across that is
  /// short, the next one fails (setrlimit(2), RLIMIT_FSIZE). Fewer than a page of SQLite's, and no
  /// transaction commits.
  package static func within<Value>(byteCount: Int, _ body: () throws -> Value) rethrows -> Value {
    // Else the signal would end the process.
    signal(SIGXFSZ, SIG_IGN)
    setLimit(rlim_t(byteCount))
    defer { setLimit(rlim_t.max) }
    return try body()
  }

  private static func setLimit(_ byteCount: rlim_t) {
    // The hard limit stays, so that the soft one can be lifted again.
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    let isRead = unsafe getrlimit(resource, &limit) == 0
    limit.rlim_cur = min(byteCount, limit.rlim_max)
    let isSet = unsafe setrlimit(resource, &limit) == 0
    precondition(isRead && isSet, "cannot limit the size of files")
  }
}
