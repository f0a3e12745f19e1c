import Base
import Configuration
import HTTPClient
import TestEngines
import Testing

/// W3C trace context, through to the logs.
@Suite struct TraceTests {
  @Test(arguments: [
    (Program.sync, "GET", "/v1/account"), (.billing, "POST", "/webhooks/stripe"),
  ])
  func `the trace that a request names stands in the line of the log about it`(
    program: Program, method: String, path: String
  ) throws {
    let server = try Installation().start(program)
    let id = "0af7651916cd43dd8448eb211c80319c"
    let reply = try HTTPClient().send(
      method, server.url + path, headers: [("traceparent", "00-\(id)-b7ad6b7169203331-01")],
      body: method == "POST" ? [] : nil, timeout: .seconds(30))
    #expect((400..<500).contains(reply.status))
    let deadline = MonotonicTime.now() + .seconds(30)
    while !server.words.contains("trace=\(id)"), MonotonicTime.now() < deadline {
      _ = Locked(()).wait(until: .now() + .milliseconds(20)) { _ in Void?.none }
    }
    let line = server.words.split(separator: "\n").first { $0.contains("trace=\(id)") }
    #expect(line?.contains("http.request") == true && line?.contains("path=\(path)") == true)
    server.stop()
  }
}
