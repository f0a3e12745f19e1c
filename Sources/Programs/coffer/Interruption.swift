internal import Glibc

/// SIGINT and SIGTERM of long work that can say where to go on: they wait until it asks.
enum Interruption {
  /// Call before the database is opened: threads started later inherit the blocked signals, so that none
  /// of them takes one.
  static func hold() {
    var signals = signals()
    _ = unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// The signal that came, nil for none; another one then ends the program at once.
  static func taken() -> Int32? {
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
    for number in [SIGINT, SIGTERM] where !isIgnored(number) {
      _ = unsafe sigaddset(&signals, number)
    }
    return signals
  }

  /// Whether whoever started the program has it ignore a signal, as shells without job control do behind `&`:
  /// one that is blocked would come all the same.
  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard unsafe sigaction(number, nil, &action) == 0 else { return false }
    return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
