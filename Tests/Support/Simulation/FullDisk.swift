import Glibc

/// A full disk, simulated for this whole process. Only programs with a single story may use it.
package enum FullDisk {
  /// Runs `body` while no file of this process may grow beyond `byteCount`. A write across that limit is
  /// short, and the next one fails (setrlimit(2), RLIMIT_FSIZE). With fewer bytes than a page of SQLite, no
  /// transaction commits.
  package static func within<Value>(byteCount: Int, _ body: () throws -> Value) rethrows -> Value {
    // Otherwise the signal would end the process.
    signal(SIGXFSZ, SIG_IGN)
    setLimit(rlim_t(byteCount))
    defer { setLimit(rlim_t.max) }
    return try body()
  }

  private static func setLimit(_ byteCount: rlim_t) {
    // The hard limit stays, so that the soft one can be raised again.
    var limit = rlimit()
    let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    let isRead = unsafe getrlimit(resource, &limit) == 0
    limit.rlim_cur = min(byteCount, limit.rlim_max)
    let isSet = unsafe setrlimit(resource, &limit) == 0
    precondition(isRead && isSet, "cannot limit the size of files")
  }
}
