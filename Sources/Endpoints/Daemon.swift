package import Base
package import HTTPServer
internal import Glibc

/// The life of a server program: start its listeners, wait for a signal, drain.
package struct Daemon: Sendable {
  /// How long requests under way may take once the program was told to stop.
  package static let drainTime = Instant.Span.seconds(20)

  private let name: String
  private let servers: [HTTPServer]

  package init(_ name: String, _ servers: [HTTPServer]) {
    self.name = name
    self.servers = servers
  }

  /// Call first in the program: threads started later inherit the blocked signals, so that only
  /// `run` receives them. Writing to a closed connection becomes an error instead of the end.
  package static func takeSignals() {
    var signals = stopSignals()
    _ = unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    _ = signal(SIGPIPE, SIG_IGN)
  }

  /// Serves until SIGTERM or SIGINT; a second signal ends the program at once.
  package func run() throws {
    for server in servers { try server.start() }
    Log.info("program.started", ["program": name])
    var signals = Self.stopSignals()
    var received: Int32 = 0
    _ = unsafe sigwait(&signals, &received)
    Log.info("program.draining", ["program": name])
    _ = unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    for server in servers { server.drain(within: Self.drainTime) }
  }

  private static func stopSignals() -> sigset_t {
    var signals = sigset_t()
    _ = unsafe sigemptyset(&signals)
    _ = unsafe sigaddset(&signals, SIGTERM)
    _ = unsafe sigaddset(&signals, SIGINT)
    return signals
  }
}
