import Base
import HTTPMessages
import HTTPServer
import JSON
import RecordedStories

/// Google's key set, token endpoint and purchases API over a socket, answering what a story recorded.
final class PlayServer: Sendable {
  private struct State {
    var reads: [String: RecordedGoogleStory.Read] = [:]
    var orders: [String: [UInt8]] = [:]
    var acknowledged: Set<String> = []
  }

  private let state: Locked<State>
  private let server: HTTPServer

  init(_ package: String) throws {
    let state = Locked(State())
    self.state = state
    let root = "/androidpublisher/v3/applications/\(package)"
    func route(
      _ method: String, _ pattern: String,
      _ answer: @escaping @Sendable ([String]) -> (status: Int, body: [UInt8])
    ) -> Route {
      Route(method, pattern) { _, captures in
        let captures = captures.map(String.init)
        let body: Admission.Body = method == "POST" ? .memory(byteCountMax: 1 << 16) : .none
        return .ready(
          Admission(body: body) { _ in
            let (status, bytes) = answer(captures)
            return .ready(
              Response(
                status: status, headers: [("Content-Type", "application/json")],
                body: .bytes(bytes)))
          })
      }
    }
    server = HTTPServer(
      listen: SocketAddress("127.0.0.1:0")!,
      routes: [
        route("GET", "/certs") { _ in (200, RecordedGoogleStory.keySet) },
        route("POST", "/token") { _ in
          (200, Array(#"{"access_token":"a","expires_in":3599}"#.utf8))
        },
        route("GET", root + "/purchases/subscriptionsv2/tokens/{token}") { captures in
          switch state.withLock({ $0.reads[captures[0]] }) {
          case .purchase(let body): (200, body)
          case .refused(let status): (status, [])
          case nil: (404, [])
          }
        },
        route("GET", root + "/orders/{order}") { captures in
          state.withLock { $0.orders[captures[0]] }.map { (200, $0) } ?? (404, [])
        },
        route("POST", root + "/purchases/subscriptions/{product}/tokens/{token}") { captures in
          let token = captures[1].split(separator: ":")[0]
          state.withLock { _ = $0.acknowledged.insert(String(token)) }
          return (200, Array("{}".utf8))
        },
      ], limits: ServerLimits(), trustedProxies: [], name: "play",
      problem: { _, _ in Problem(500, "failed", "Failed", "The fake failed.") })
    try server.start()
  }

  deinit { server.drain(within: .seconds(1)) }

  var url: String { "http://127.0.0.1:\(server.port)" }

  var acknowledged: Set<String> { state.withLock { $0.acknowledged } }

  func show(_ step: RecordedGoogleStory.Step) {
    state.withLock { state in
      state.reads.merge(step.reads) { $1 }
      state.orders.merge(step.orders) { $1 }
    }
  }
}
