import Base
import Configuration
import HTTPClient
import Testing

/// W3C trace context, from the request to the logs.
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

  @Test func `a request that went well has its line where its trace is recorded, and only there`()
    throws
  {
    let server = try Installation().start(.sync)
    let ids = ["00": "1af7651916cd43dd8448eb211c80319c", "01": "2af7651916cd43dd8448eb211c80319c"]
    for (flags, id) in ids.sorted(by: { $0.key < $1.key }) {
      let reply = try HTTPClient().send(
        "GET", server.url + "/healthz",
        headers: [("traceparent", "00-\(id)-b7ad6b7169203331-\(flags)")], timeout: .seconds(30))
      #expect(reply.status == 200)
    }
    #expect(server.stop() == .exited(0))
    let lines = server.words.split(separator: "\n").filter { $0.contains("http.request") }
    #expect(lines.count == 1)
    #expect(lines.first?.contains("status=200") == true)
    #expect(lines.first?.contains("trace=2af7651916cd43dd8448eb211c80319c") == true)
  }
}
