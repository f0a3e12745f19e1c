import Base
import Endpoints
import HTTPMessages
import HTTPServer
import Requests
import Sync
import TestDevices
import Testing

/// How many unauthenticated requests of an address are refused before it has to wait.
@Suite struct StrangersBudgetTests {
  /// Monotonic time that stands still until the test moves it.
  private let uptime = Locked(MonotonicTime.now())

  private func server(trustedProxies: [AddressRange] = []) throws -> TestServer {
    try TestServer(trustedProxies: trustedProxies) { [uptime] in uptime.withLock { $0 } }
  }

  /// The answer to a request for the account, as if a proxy had brought it from this address.
  private func answer(
    _ server: TestServer, _ headers: [(String, String)], from address: String
  ) throws -> (status: Int, problem: Problem?) {
    let head = RequestHead(
      method: "GET", target: "/v1/account", headers: Headers(headers),
      authority: TestServer.authority, remoteAddress: address)
    let route = try #require(server.api.routes.first { $0.pattern == "/v1/account" })
    do {
      guard case .ready(let admission) = try route.admit(head, []),
        case .ready(let response) = try admission.finish([])
      else { throw Suspended() }
      return (response.status, nil)
    } catch  where !(error is Suspended) {
      let problem = Endpoints.problem(for: error, head)
      return (problem.status, problem)
    }
  }

  private struct Suspended: Error {}

  private static let unknownToken = [("Authorization", "Bearer x")]

  @Test func `an address of which a hundred were refused waits, and ten more pass in a second`()
    throws
  {
    let server = try server()
    for _ in 0..<100 {
      #expect(try answer(server, Self.unknownToken, from: "203.0.113.7").status == 401)
    }
    let refused = try answer(server, Self.unknownToken, from: "203.0.113.7")
    #expect(refused.problem?.code == "too_many_refusals")
    #expect(refused.problem?.retryAfterSeconds == 1)
    uptime.withLock { $0 = $0 + .seconds(1) }
    let later = try (0..<12).map { _ in
      try answer(server, Self.unknownToken, from: "203.0.113.7").status
    }
    #expect(later == Array(repeating: 401, count: 10) + [429, 429])
  }

  @Test func `other addresses do not wait, and this machine's own never do`() throws {
    let server = try server()
    for _ in 0..<101 { _ = try answer(server, Self.unknownToken, from: "203.0.113.7") }
    #expect(try answer(server, Self.unknownToken, from: "203.0.113.8").status == 401)
    for address in ["127.0.0.1", "::1"] {
      for _ in 0..<110 {
        #expect(try answer(server, Self.unknownToken, from: address).status == 401)
      }
    }
  }

  @Test func `behind a proxy that is trusted no address is without a budget`() throws {
    let server = try server(trustedProxies: [try #require(AddressRange("127.0.0.1"))])
    for _ in 0..<100 {
      #expect(try answer(server, Self.unknownToken, from: "127.0.0.1").status == 401)
    }
    #expect(try answer(server, Self.unknownToken, from: "127.0.0.1").status == 429)
  }

  @Test func `an IPv6 network of 64 bits counts as one address`() throws {
    let server = try server()
    for index in 0..<100 {
      _ = try answer(server, Self.unknownToken, from: "2001:db8:0:7::\(String(index, radix: 16))")
    }
    #expect(try answer(server, Self.unknownToken, from: "2001:db8:0:7:ffff::1").status == 429)
    #expect(try answer(server, Self.unknownToken, from: "2001:db8:0:8::1").status == 401)
  }

  @Test func `who guesses URLs of uploads is refused as any stranger`() throws {
    let server = try server(trustedProxies: [try #require(AddressRange("127.0.0.1"))])
    let stranger = server.device()
    func guess(from address: String) throws -> Int {
      try stranger.send(
        TestDevice.Signed(
          method: "HEAD", target: "/v1/uploads/guessed",
          headers: [
            ("Host", TestServer.authority), ("Tus-Resumable", "1.0.0"),
            ("X-Forwarded-For", address),
          ], body: [])
      ).status
    }
    for _ in 0..<100 { #expect(try guess(from: "203.0.113.7") == 404) }
    #expect(try guess(from: "203.0.113.7") == 429)
    #expect(try guess(from: "203.0.113.8") == 404)
  }

  @Test func `whoever is known is served at an address that waits`() throws {
    let server = try server()
    let device = try server.register()
    func signed(_ device: TestDevice) -> [(String, String)] {
      device.sign("GET", "/v1/account").headers
    }
    #expect(try answer(server, signed(device), from: "203.0.113.7").status == 200)
    for _ in 0..<100 { _ = try answer(server, Self.unknownToken, from: "203.0.113.7") }
    #expect(try answer(server, signed(device), from: "203.0.113.7").status == 200)
    #expect(try answer(server, signed(server.device()), from: "203.0.113.7").status == 429)
  }

  @Test func `an address that waits has no signature checked but in the name of a known key`()
    throws
  {
    let server = try server()
    let device = try server.register()
    #expect(
      try answer(server, device.sign("GET", "/v1/account").headers, from: "203.0.113.7").status
        == 200)
    var forged = device.sign("GET", "/v1/updates").headers
    for _ in 0..<100 { _ = try answer(server, forged, from: "203.0.113.7") }
    let before = server.api.signatures.requestCount
    forged = server.device().sign("GET", "/v1/account").headers
    #expect(try answer(server, forged, from: "203.0.113.7").status == 429)
    #expect(server.api.signatures.requestCount == before)
  }
}
