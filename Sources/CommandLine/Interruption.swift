import Glibc

/// SIGINT and SIGTERM during long work that can say where to continue. They wait until the work
/// asks for them.
package enum Interruption {
  /// Call before the database is opened. Threads started later inherit the blocked signals, so that
  /// none of them receives one.
  package static func hold() {
    var signals = signals()
    _ = unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// The signal that arrived; nil for none. After that, another signal ends the program at once.
  package static func taken() -> Int32? {
    var signals = signals()
    var pending = sigset_t()
    guard unsafe sigpending(&pending) == 0,
      let number = [SIGINT, SIGTERM].first(where: { unsafe sigismember(&pending, $0) == 1 })
    else { return nil }
    var taken: Int32 = 0
    guard unsafe sigwait(&signals, &taken) == 0 else { return number }
    _ = unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    return taken
  }

  private static func signals() -> sigset_t {
    var signals = sigset_t()
    _ = unsafe sigemptyset(&signals)
    _ = unsafe sigaddset(&signals, SIGINT)
    _ = unsafe sigaddset(&signals, SIGTERM)
    return signals
  }
}
