package import Base
import Crypto
import HTTPMessages
package import HTTPServer
import JSON
package import Objects
package import Storage

/// The endpoints of a program for an operator's tools.
package enum Health {
  /// `GET /healthz`: the process answers. It does not use the database.
  package static let alive = Route("GET", "/healthz") { _, _ in
    .ready(Admission(body: .none) { _ in .ready(.json(200, ["status": "alive"])) })
  }

  /// `GET /readyz`: the database takes writes, and the objects' disk is there; otherwise 503.
  package static func ready(_ database: Database, _ objects: (any ObjectStore)? = nil) -> Route {
    let readiness = Readiness(database, objects)
    return Route("GET", "/readyz") { _, _ in
      .ready(
        Admission(body: .none) { _ in
          .pending { done in
            readiness.ask { result in
              done(result.map { .json(200, ["status": "ready"]) })
            }
          }
        })
    }
  }

  /// The listener for an operator's tools, without a database. `/metrics` needs the token, if any (RFC 6750, 2.1).
  package static func monitor(_ listen: SocketAddress, token: Secret? = nil) -> HTTPServer {
    var limits = ServerLimits()
    limits.workerCount = 1
    limits.connectionCountMax = 64
    return HTTPServer(
      listen: listen, routes: [alive, metrics(token)], limits: limits, trustedProxies: [],
      name: "monitor", problem: problem)
  }

  /// `GET /metrics` in Prometheus' text format.
  private static func metrics(_ token: Secret?) -> Route {
    // Digests have the same length, so the comparison reveals nothing about the token's length.
    let expected = token.map { SHA256.hash(Array("Bearer ".utf8) + $0.exposed) }
    return Route("GET", "/metrics") { head, _ in
      if let expected {
        let given = SHA256.hash(Array((head.headers.text("authorization") ?? "").utf8))
        guard constantTimeEqual(given, expected) else { throw tokenMissing }
      }
      return .ready(
        Admission(body: .none) { _ in
          .ready(
            Response(
              status: 200, headers: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
              body: .bytes(Array(Metrics.shared.render().utf8))))
        })
    }
  }

  private static let tokenMissing = Problem(
    401, "not_authenticated", "Not authenticated",
    "Send the token of COFFER_METRICS_TOKEN as Authorization: Bearer <token>.",
    headers: [.init("WWW-Authenticate", "Bearer realm=\"coffer metrics\"")])
}
