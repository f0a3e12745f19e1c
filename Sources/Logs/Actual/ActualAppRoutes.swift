import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer

extension ActualDoor {
  /// Actual's web app, and the tables of a new budget, from the files that the operator has named.
  var appRoutes: [Route] {
    guard let files = host.actualFiles else {
      // A client that gets a budget asks for migrations of its tables, and takes none for an answer.
      return [fixed("/data-file-index.txt", Self.text("text/plain", ""))]
    }
    return [
      route("GET", Route.elsewhere) { head in
        let name = PercentEncoding.decode(Array(head.path.dropFirst().utf8)) ?? ""
        var found = try files.response(name, to: head, headers: Self.isolation)
        if found == nil, Self.isPage(head) {
          found = try files.response("index.html", to: head, headers: Self.isolation)
        }
        guard let response = found else { throw Problem.notFound }
        return .ready(Admission(body: .none) { _ in .ready(response) })
      }
    ]
  }

  /// Whether a browser opens a page. The app knows its paths, e.g. /budget; programs must not get a page for them.
  private static func isPage(_ head: RequestHead) -> Bool {
    head.path == "/" || head.headers.text("accept")?.contains("text/html") == true
  }

  /// Without these, browsers do not let the app keep a budget (https://web.dev/articles/coop-coep).
  private static let isolation = [
    (name: "Cross-Origin-Opener-Policy", value: "same-origin"),
    (name: "Cross-Origin-Embedder-Policy", value: "require-corp"),
  ]
}
