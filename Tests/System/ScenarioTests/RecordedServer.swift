import Base
import HTTPMessages
import HTTPServer
import LocalServer
import RecordedAPI
import RecordedStories

/// A server with a story's recorded answers of a store's API.
final class RecordedServer: Sendable {
  private let api: RecordedAPI
  private let server: HTTPServer

  init(_ package: String) throws {
    let api = RecordedAPI()
    self.api = api
    let root = "/androidpublisher/v3/applications/\(package)"
    let routes = [
      ("GET", "/certs"), ("POST", "/token"),
      ("GET", root + "/purchases/subscriptionsv2/tokens/{token}"),
      ("GET", root + "/orders/{order}"),
      ("POST", root + "/purchases/subscriptions/{product}/tokens/{token}"),
      ("GET", "/api/v1/stores/{store}/invoices"),
    ]
    server = try startServer(
      routes.map { method, pattern in
        Route(method, pattern) { head, _ in
          let body: Admission.Body = method == "POST" ? .memory(byteCountMax: 1 << 16) : .none
          return .ready(
            Admission(body: body) { _ in
              let (status, bytes) = api.answer(method, head.target)
              return .ready(
                Response(
                  status: status,
                  headers: [("Content-Type", "application/json"), ("Date", api.date)],
                  body: .bytes(bytes)))
            })
        }
      }, name: "recorded")
  }

  deinit { server.drain(within: .seconds(1)) }

  var url: String { "http://127.0.0.1:\(server.port)" }

  var acknowledged: Set<String> { api.acknowledged }

  func show(_ step: RecordedStory.Step) { api.show(step) }
}
