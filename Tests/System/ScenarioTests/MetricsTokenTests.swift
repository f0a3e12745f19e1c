import Base
import Configuration
import HTTPClient
import LocalServer
import Testing

@Suite struct MetricsTokenTests {
  @Test(arguments: [Program.sync, .billing])
  func `with a token set, metrics are for those who send it, and health is for all`(
    program: Program
  ) throws {
    let token = "a token for these tests"
    let installation = try Installation(settings: [
      "COFFER_METRICS_TOKEN": token.replacing(" ", with: "-")
    ])
    let port = Ports.free()
    let server = try installation.launch(
      program, settings: ["COFFER_METRICS_LISTEN": "127.0.0.1:\(port)"])
    try server.waitUntilReady()
    func status(_ path: String, _ authorization: String? = nil) throws -> Int {
      try HTTPClient().send(
        "GET", "http://127.0.0.1:\(port)\(path)",
        headers: authorization.map { [("Authorization", $0)] } ?? [], timeout: .seconds(10)
      ).status
    }
    #expect(try status("/metrics") == 401)
    #expect(try status("/metrics", "Bearer a-token-for-these-test") == 401)
    #expect(try status("/metrics", "Basic a-token-for-these-tests") == 401)
    #expect(try status("/metrics", "Bearer a-token-for-these-tests") == 200)
    #expect(try status("/healthz") == 200)
    #expect(server.stop() == .exited(0))
  }
}
