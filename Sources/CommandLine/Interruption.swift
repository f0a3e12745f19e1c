internal import Glibc

/// SIGINT and SIGTERM of long work that can say where to go on: they wait until it asks.
package enum Interruption {
  /// Call before the database is opened: threads started later inherit the blocked signals, so that none
  /// of them takes one.
  package static func hold() {
    var signals = signals()
    _ = unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// The signal that came, nil for none; another one then ends the program at once.
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
