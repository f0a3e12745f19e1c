import Accounts
import Base
import JSON
import TestDevices
import TestEngines
import Testing

/// Log-ins that fail are counted for each app password and for each address, and those that follow wait.
@Suite struct FailedLoginTests {
  /// Monotonic time that stands still until the test moves it.
  private let uptime = Locked(MonotonicTime.now())
  /// An address of this machine, which is not counted where no proxy is trusted.
  private static let local = "127.0.0.1"

  private func advance(_ span: Instant.Span) { uptime.withLock { $0 = $0 + span } }

  private func failedLogins(trustsProxies: Bool = true) -> FailedLogins {
    FailedLogins(trustsProxies: trustsProxies) { [uptime] in uptime.withLock { $0 } }
  }

  @Test func `a password fails five times, wherever from, and again every 3 minutes`() {
    let failed = failedLogins()
    for address in 1...5 {
      #expect(!failed.areTooMany(of: "ada", from: "192.0.2.\(address)"))
      failed.note("ada", from: "192.0.2.\(address)")
    }
    #expect(failed.areTooMany(of: "ada", from: "192.0.2.6"))
    #expect(!failed.areTooMany(of: "bob", from: "192.0.2.6"))
    advance(.seconds(179))
    #expect(failed.areTooMany(of: "ada", from: "192.0.2.6"))
    advance(.seconds(1))
    #expect(!failed.areTooMany(of: "ada", from: "192.0.2.6"))
    failed.note("ada", from: "192.0.2.6")
    #expect(failed.areTooMany(of: "ada", from: "192.0.2.6"))
    advance(.minutes(15))
    for _ in 0..<4 { failed.note("ada", from: "192.0.2.6") }
    #expect(!failed.areTooMany(of: "ada", from: "192.0.2.6"))
  }

  @Test func `an address has twenty failures at once, of any passwords or of none`() {
    let failed = failedLogins()
    for number in 0..<20 {
      let password = number % 2 == 0 ? nil : "password \(number)"
      #expect(!failed.areTooMany(of: password, from: "2001:db8::1"))
      failed.note(password, from: "2001:db8::1")
    }
    #expect(failed.areTooMany(of: nil, from: "2001:db8::1"))
    #expect(failed.areTooMany(of: "ada", from: "2001:db8::2"), "a neighbour in the same network")
    #expect(!failed.areTooMany(of: "ada", from: "2001:db8:0:1::1"))
    advance(.seconds(45))
    #expect(!failed.areTooMany(of: "ada", from: "2001:db8::1"))
  }

  @Test func `this machine's own address is not counted where no proxy is trusted`() {
    let (direct, proxied) = (failedLogins(trustsProxies: false), failedLogins())
    for failed in [direct, proxied] { for _ in 0..<20 { failed.note(nil, from: Self.local) } }
    #expect(!direct.areTooMany(of: nil, from: Self.local))
    #expect(proxied.areTooMany(of: nil, from: Self.local))
  }

  @Test func `log-ins that do not fail use up nothing`() {
    let failed = failedLogins()
    for _ in 0..<100 { #expect(!failed.areTooMany(of: "ada", from: "192.0.2.1")) }
    for _ in 0..<4 { failed.note("ada", from: "192.0.2.1") }
    for _ in 0..<100 { #expect(!failed.areTooMany(of: "ada", from: "192.0.2.1")) }
  }

  @Test func `of more passwords than are remembered, the first one is forgotten`() {
    let failed = failedLogins(trustsProxies: false)
    for _ in 0..<5 { failed.note("ada", from: Self.local) }
    for number in 0..<9000 { failed.note("password \(number)", from: Self.local) }
    #expect(failed.areTooMany(of: "ada", from: Self.local))
    for number in 9000..<20_000 { failed.note("password \(number)", from: Self.local) }
    #expect(!failed.areTooMany(of: "ada", from: Self.local))
  }

  @Test(arguments: TestEngine.available)
  func `after five wrong passwords the right one is refused, until the time is over`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(
      engine, actualAuthorities: [ActualClient.host],
      uptime: { [uptime] in uptime.withLock { $0 } })
    let device = try server.register()
    func make() throws -> (id: String, password: String) {
      let made = try device.post("/v1/app-passwords", ["label": "laptop"]).json
      return (try made["id"].requireString(), try made["password"].requireString())
    }
    let ((id, right), other) = (try make(), try make())
    let client = ActualClient(stranger: device)
    func logIn(_ password: String) throws -> String {
      let answer = try client.logIn(password)
      return answer.status == 200 ? "200" : "\(answer.status) \(answer.text)"
    }
    func fail() throws {
      #expect(
        try logIn("cap-\(id)-\(String(repeating: "0", count: 26))")
          == #"400 {"status":"error","reason":"invalid-password"}"#)
    }
    for _ in 0..<4 { try fail() }
    #expect(try logIn(right) == "200")
    // The success made up for none of the failures.
    try fail()
    let refused = #"429 {"status":"error","reason":"too-many-requests"}"#
    #expect(try logIn(right) == refused)
    #expect(try logIn(other.password) == "200")
    advance(.seconds(179))
    #expect(try logIn(right) == refused)
    advance(.seconds(1))
    #expect(try logIn(right) == "200")
  }
}
