import Base
import Glibc
import HTTPMessages
import HTTPServer
import LocalServer
import RawClient

/// A server that waits for its clients as long as usual. Under the thread sanitizer a test takes seconds between two
/// requests.
func startServer(
  _ routes: [Route], limits: ServerLimits = usualLimits, proxies: [AddressRange] = [],
  problem: @escaping @Sendable (any Error, RequestHead) -> Problem? = { _, _ in nil }
) throws -> HTTPServer {
  try LocalServer.startServer(routes, limits: limits, proxies: proxies, problem: problem)
}

let usualLimits: ServerLimits = {
  var limits = ServerLimits()
  limits.workerCount = 2
  return limits
}()

/// Limits short enough to wait for.
let quickLimits: ServerLimits = {
  var limits = usualLimits
  limits.headSpan = .milliseconds(400)
  limits.bodySpan = .milliseconds(400)
  limits.answerSpan = .milliseconds(800)
  limits.sendSpan = .milliseconds(800)
  limits.idleSpan = .milliseconds(800)
  limits.discardSpan = .milliseconds(500)
  return limits
}()

extension Route {
  /// Answers at once with what `answer` makes of the head and the bytes.
  static func plain(
    _ method: String, _ pattern: String, body: Admission.Body = .none,
    _ answer: @escaping @Sendable (RequestHead, [UInt8]) throws -> Response
  ) -> Route {
    Route(method, pattern) { head, _ in
      .ready(Admission(body: body) { bytes in .ready(try answer(head, bytes)) })
    }
  }

  static let hello = Route.plain("GET", "/hello") { _, _ in .text("hello") }
  static let echo = Route.plain("POST", "/echo", body: .memory(byteCountMax: 10_000)) { _, bytes in
    Response(status: 200, body: .bytes(bytes))
  }
}

extension Response {
  static func text(_ text: String) -> Response {
    Response(status: 200, headers: [("Content-Type", "text/plain")], body: .bytes(Array(text.utf8)))
  }
}

let getHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"

func pause(milliseconds: UInt32) { usleep(milliseconds * 1000) }

extension RawClient {
  convenience init(_ server: HTTPServer) {
    self.init(connectingTo: server.port)!
  }
}
