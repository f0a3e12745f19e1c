package import Accounts
import Base
import Endpoints
package import HTTPServer
import Storage

/// Live updates: each client that listens is told at once which kind of its data any program has changed.
///
/// It knows no kind of data. Transactions report news (`Transaction.report`), protocols say whose news concern whom
/// (`ProtocolRoom.followed`), and the names of topics are passed on to clients.
package final class Streams: Sendable {
  private let host: ProtocolHost
  private let loop: StreamLoop
  private let seats: Seats
  private let listener = Locked<NewsListener?>(nil)

  /// Throws if the process has too many files open.
  package init(
    _ host: ProtocolHost, serving protocols: [any ProtocolRoom.Type],
    limits: StreamLimits = StreamLimits(), trustsProxies: Bool
  ) throws(HTTPServerError) {
    StreamMetrics.register()
    self.host = host
    seats = Seats(limits, trustsProxies: trustsProxies)
    let loop = StreamLoop(limits) { questions, done in
      host.database.submitRead(for: nil) { reader in
        try Look.answer(questions, of: protocols, reader, now: host.clock.now())
      } completion: { result in
        done(result)
      }
    }
    guard let loop else { throw .noWorkers }
    self.loop = loop
  }

  package var route: Route {
    GetStream(host: host, loop: loop, seats: seats).route(on: host.database)
  }

  /// Call once, before the first request.
  package func start() {
    loop.start()
    let loop = loop
    listener.withLock { $0 = host.database.listen { loop.hear($0) } }
  }

  /// Ends all streams. Call before the database is closed.
  package func stop() {
    listener.withLock { $0.take() }?.stop()
    loop.stop()
  }
}
