package import Base
package import HTTPMessages
internal import Glibc

/// An HTTP/1.1 server on libmicrohttpd with strict rules for what it lets in.
///
/// Routes run on the connection's worker; what would block there is a pending `Step`. A request
/// reaches a route only with exactly one valid Host, one unambiguous length, a target in origin
/// form and clean header fields; anything else is answered 400 and closed.
/// TLS is the proxy's business.
package final class HTTPServer: Sendable {
  private struct Running {
    let acceptor: Acceptor
    let workers: [Worker]
    let accepting: Thread
    let reaping: Thread
  }

  /// Where it listens, or is to.
  package let listen: SocketAddress
  private let core: ServerCore
  private let running = Locked<Running?>(nil)

  /// `name` labels the metrics. `problem` maps the errors of routes, except a `Problem`, which is
  /// told as it is; for nil the client gets 500 `internal` and the log the error.
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

  /// Serves from now on, on an inherited socket where one listens at its address. Call once.
  package func start(
    inheriting sockets: InheritedSockets = .none
  ) throws(HTTPServerError) {
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

  /// The port it listens on; 0 while it does not.
  package var port: UInt16 { running.withLock { $0?.acceptor.port ?? 0 } }

  /// Whether a request for the path is answered, with whatever status, within the time: proof that
  /// connections are taken, workers run and what the path asks for comes to an end.
  package func answers(_ path: String, within span: Instant.Span) -> Bool {
    SocketAddress(host: listen.host, port: port)?.answers(path, within: span) ?? false
  }

  /// Stops: no new connection, idle ones closed, requests under way answered with
  /// `Connection: close`. Connections that have not asked for anything yet get a second to.
  ///
  /// After `span` those still pending get a 503, then the rest is cut off; it returns about three
  /// seconds after `span` at the latest, unless a route blocks its worker.
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
