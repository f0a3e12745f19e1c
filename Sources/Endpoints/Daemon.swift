package import Base
import Glibc
package import HTTPServer

/// Runs a server program: starts its listeners, waits for a signal, drains.
package struct Daemon: Sendable {
  /// How long requests under way may take once the program must stop.
  package static let drainTime = Instant.Span.seconds(20)

  private let name: String
  private let servers: [HTTPServer]

  /// `servers`: the public one first.
  package init(_ name: String, _ servers: [HTTPServer]) {
    self.name = name
    self.servers = servers
  }

  /// Call this first: threads started later inherit the blocked signals, so only `run` receives them.
  package static func takeSignals() {
    var signals = stopSignals()
    _ = unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Serves until SIGTERM or SIGINT; a second signal ends the program at once. The environment names inherited
  /// sockets and a supervisor. The program counts as alive while each server answers. A stuck writer answers nothing,
  /// and then a restart helps; it does not if the database is away.
  package func run(environment: [String: String]) throws {
    let sockets = try InheritedSockets(
      environment: environment, processID: getpid(), listeningAt: servers.map(\.listen))
    // The public one last: once it answers, so do the others.
    for server in servers.reversed() { try server.start(inheriting: sockets) }
    Log.info("program.started", ["program": name])
    let supervisor = Supervisor(environment: environment, processID: getpid())
    supervisor?.tell(.ready)
    let watch = supervisor?.watch { [servers] span in
      servers.allSatisfy { $0.answers("/readyz", within: span) }
    }
    var signals = Self.stopSignals()
    var received: Int32 = 0
    _ = unsafe sigwait(&signals, &received)
    Log.info("program.draining", ["program": name])
    supervisor?.tell(.stopping)
    watch?.stop()
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
