package import Base
import Glibc
package import HTTPMessages

/// An HTTP/1.1 server on libmicrohttpd with strict rules for the requests that it accepts.
///
/// Routes run on the connection's worker; work that would block the worker is a pending `Step`. A request reaches a
/// route only with exactly one valid Host, one unambiguous length, a target in origin form and clean header fields. Any
/// other request is refused, mostly with 400, and its connection is closed. TLS is left to the proxy.
package final class HTTPServer: Sendable {
  private struct Running {
    let acceptor: Acceptor
    let workers: [Worker]
    let accepting: Thread
    let reaping: Thread
  }

  /// The address that the server listens at, or will listen at.
  package let listen: SocketAddress
  private let core: ServerCore
  private let running = Locked<Running?>(nil)

  /// `name` labels the metrics. `problem` maps the errors of routes except a `Problem`; nil becomes 500 and is logged.
  package init(
    listen: SocketAddress, routes: [Route], limits: ServerLimits = ServerLimits(),
    trustedProxies: [AddressRange] = [], pages: WebPages = WebPages(origins: []), name: String,
    problem: @escaping @Sendable (any Error, RequestHead) -> Problem?
  ) {
    self.listen = listen
    core = ServerCore(
      routes: routes, limits: limits, proxies: TrustedProxies(trustedProxies), pages: pages,
      name: name, problem: problem)
  }

  deinit { drain(within: .seconds(0)) }

  /// Starts to serve, on an inherited socket if one listens at the server's address. Call once.
  package func start(inheriting sockets: InheritedSockets = .none) throws(HTTPServerError) {
    // A write to a closed connection becomes an error. libmicrohttpd needs to know, or it would not use sendfile.
    _ = signal(SIGPIPE, SIG_IGN)
    let acceptor = try Acceptor(listen, inherited: sockets.descriptor(at: listen))
    let count = core.limits.workerCount ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    var workers: [Worker] = []
    for _ in 0..<count {
      guard let worker = Worker(core: core) else {
        for worker in workers { worker.stop() }
        throw .noWorkers
      }
      workers.append(worker)
    }
    let crew = workers
    let core = core
    running.withLock { running in
      precondition(running == nil, "a server starts once")
      running = Running(
        acceptor: acceptor, workers: crew,
        accepting: Thread { acceptor.run(core, crew) },
        reaping: Thread { core.peers.reap() })
    }
  }

  /// The port that the server listens on; 0 if it is not listening.
  package var port: UInt16 { running.withLock { $0?.acceptor.port ?? 0 } }

  /// Whether a request for the path is answered in time, with any status: whether the workers do their work.
  package func answers(_ path: String, within span: Instant.Span) -> Bool {
    SocketAddress(host: listen.host, port: port)?.answers(path, within: span) ?? false
  }

  /// Stops the server: no new connections, idle ones closed, requests under way answered with
  /// `Connection: close`. Connections without a request so far get one second to send it.
  ///
  /// After `span` pending requests get a 503, and then the rest is cut off. The call returns at
  /// most about three seconds after `span`, unless a route blocks its worker.
  package func drain(within span: Instant.Span) {
    let stopping = running.withLock { running in
      defer { running = nil }
      return running
    }
    guard let stopping else { return }
    stopping.acceptor.stop()
    stopping.accepting.join()
    core.peers.drain()
    _ = core.peers.isEmpty(by: .now() + span)
    core.peers.refuseWaiting()
    if !core.peers.isEmpty(by: .now() + .seconds(2)) {
      core.peers.hangUp()
      _ = core.peers.isEmpty(by: .now() + .seconds(1))
    }
    for worker in stopping.workers { worker.stop() }
    core.peers.stop()
    stopping.reaping.join()
  }
}
