import Base
import Crypto
import HTTPServer
import RawClient
import Sync
import Testing

@Suite struct MethodTests {
  private static let methods = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "BREW",
  ]

  @Test func `a method that a path does not declare is 405 and told which ones it does`() throws {
    let server = try TestServer()
    let routes = Dictionary(grouping: server.api.routes, by: \.pattern)
    for (pattern, declared) in routes {
      var allowed = Set(declared.map(\.method))
      if allowed.contains("GET") { allowed.insert("HEAD") }
      let path = pattern.split(separator: "/").map { segment in
        segment.hasPrefix("{") ? Random.identifier().description : String(segment)
      }.joined(separator: "/")
      for method in Self.methods where !allowed.contains(method) {
        let client = try #require(RawClient(connectingTo: server.port))
        client.send("\(method) /\(path) HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        let response = client.receiveResponse(toHead: method == "HEAD")
        #expect(response?.status == 405, "\(method) \(pattern)")
        #expect(
          response?.header("allow") == allowed.sorted().joined(separator: ", "),
          "\(method) \(pattern)")
      }
    }
  }
}
