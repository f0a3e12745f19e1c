import Accounts
import Base
import Configuration
import Crypto
import HTTPServer
import JSON
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Which clients may open an account, and how many accounts one address may open.
@Suite struct RegistrationTests {
  private func open(
    _ server: TestServer, invite: String? = nil, from address: String? = nil,
    username: String? = nil
  ) throws -> Answer {
    let device = server.device()
    let body = JSONValue.object([
      .init("root", .string(device.root.description)),
      .init("username", username.map { .string($0) } ?? .null),
      .init("invite", invite.map { .string($0) } ?? .null),
    ])
    return try device.send(
      device.sign(
        "POST", "/v1/accounts", body: body.encoded(),
        headers: address.map { [("X-Forwarded-For", $0)] } ?? []))
  }

  private func code(
    _ server: TestServer, uses: Int64 = 1
  ) throws -> (id: Identifier, text: String) {
    let now = server.clock.now
    let made = try server.database.write(for: nil) { transaction in
      try Invite.create(
        transaction, useCountMax: uses, expires: now + .days(7), note: "", now: now)
    }
    return (made.id, String(decoding: made.code.exposed, as: UTF8.self))
  }

  @Test func `nobody opens an account where registration is closed`() throws {
    let server = try TestServer(registration: .closed)
    let answer = try open(server, invite: try code(server).text)
    #expect(answer.status == 403)
    #expect(try answer.problem == "registration_closed")
  }

  @Test(arguments: TestEngine.available)
  func `a code opens as many accounts as it was made for`(engine: TestEngine) throws {
    let server = try TestServer(engine, registration: .invite)
    let code = try code(server, uses: 2).text
    #expect(try open(server).problem == "invite_required")
    #expect(try open(server, invite: "guessed").problem == "invite_invalid")
    #expect(
      try (0..<3).map { _ in try open(server, invite: code).status } == [201, 201, 403])
    #expect(try open(server, invite: code).problem == "invite_invalid")
  }

  @Test(arguments: TestEngine.available)
  func `a refused account uses no code up, and a repeated request uses it once`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, registration: .invite)
    let codes = try (0..<2).map { _ in try code(server).text }
    #expect(try open(server, invite: codes[0], username: "ada").status == 201)
    #expect(try open(server, invite: codes[1], username: "ada").problem == "username_taken")
    let device = server.device()
    let body = JSONValue.object([
      .init("root", .string(device.root.description)), .init("invite", .string(codes[1])),
    ])
    let request = device.sign("POST", "/v1/accounts", body: body.encoded())
    #expect(try (0..<2).map { _ in try device.send(request).status } == [201, 201])
  }

  @Test func `a code that is revoked or over opens nothing, and is not told from a wrong one`()
    throws
  {
    let server = try TestServer(registration: .invite)
    let (revoked, late) = (try code(server), try code(server))
    let now = server.clock.now
    let ended = try server.database.write(for: nil) { transaction in
      try Invite.revoke(transaction, revoked.id, now: now)
    }
    #expect(ended?.revoked == now)
    func refusal(_ code: String) throws -> [String?] {
      let answer = try open(server, invite: code)
      return [String(answer.status)]
        + (try ["type", "title", "detail"].map { try answer.json[$0].string })
    }
    let wrong = try refusal("wrong")
    #expect(wrong.prefix(2) == ["403", "urn:coffer:problem:invite_invalid"])
    #expect(try refusal(revoked.text) == wrong)
    server.clock.advance(.days(7))
    #expect(try refusal(late.text) == wrong)
  }

  @Test func `an account remembers the invite that opened it`() throws {
    let server = try TestServer(registration: .invite)
    let made = try code(server)
    let answer = try open(server, invite: made.text)
    let id = try #require(answer.json["account"].string.flatMap { Identifier($0) })
    let account = try server.database.read { try Account.find($0, id) }
    #expect(account?.invite == made.id)
  }

  @Test func `where everybody may open an account no code is used up`() throws {
    let server = try TestServer()
    let made = try code(server)
    #expect(try (0..<2).map { _ in try open(server, invite: made.text).status } == [201, 201])
    let invite = try server.database.read { try Invite.find($0, made.id) }
    #expect(invite?.useCount == 0)
  }

  @Test func `the database holds no code`() throws {
    let server = try TestServer()
    let code = try code(server)
    let hashes = try server.database.read { reader in
      try reader.rows("SELECT code_hash FROM sync.invites") { row in try row.blob(0) }
    }
    #expect(hashes == [SHA256.hash(Array(code.text.utf8))])
  }

  // MARK: Addresses

  private func proxied(
    accounts: Int64, uptime: @escaping @Sendable () -> MonotonicTime
  ) throws -> TestServer {
    var limits = SyncLimits()
    limits.accountsPerAddress = accounts
    return try TestServer(
      limits: limits, trustedProxies: [try #require(AddressRange("127.0.0.1"))], uptime: uptime)
  }

  @Test func `one address opens so many accounts, and as many more within a day`() throws {
    let start = MonotonicTime.now()
    let uptime = Locked(start)
    let server = try proxied(accounts: 3) { uptime.withLock { $0 } }
    func status(_ address: String) throws -> Int { try open(server, from: address).status }
    #expect(try (0..<4).map { _ in try status("192.0.2.1") } == [201, 201, 201, 429])
    #expect(try status("192.0.2.2") == 201)
    let refused = try open(server, from: "192.0.2.1")
    #expect(try refused.problem == "registration_limited")
    let wait = try #require(refused.header("Retry-After").flatMap { Int64($0) })
    #expect((1...28_800).contains(wait))
    uptime.withLock { $0 = start + .seconds(wait) }
    #expect(try (0..<2).map { _ in try status("192.0.2.1") } == [201, 429])
  }

  @Test func `an IPv6 network of 64 bits is one address`() throws {
    let start = MonotonicTime.now()
    let server = try proxied(accounts: 2) { start }
    let statuses = try ["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ff::3", "2001:db8:0:1::1"]
      .map { try open(server, from: $0).status }
    #expect(statuses == [201, 201, 429, 201])
  }

  @Test func `this machine's own addresses are not counted where no proxy is trusted`() throws {
    var limits = SyncLimits()
    limits.accountsPerAddress = 1
    let server = try TestServer(limits: limits)
    #expect(try (0..<3).map { _ in try open(server).status } == [201, 201, 201])
  }

  @Test func `whoever hides its address behind a trusted proxy is counted as the proxy`() throws {
    let start = MonotonicTime.now()
    let server = try proxied(accounts: 1) { start }
    #expect(
      try (0..<2).map { try open(server, from: "nobody\($0)").status } == [201, 429])
  }

  @Test func `an address that must wait has no signature checked, and neither has a closed server`()
    throws
  {
    let start = MonotonicTime.now()
    let limited = try proxied(accounts: 1) { start }
    #expect(try open(limited, from: "192.0.2.1").status == 201)
    let closed = try TestServer(registration: .closed)
    for server in [limited, closed] {
      let before = server.api.signatures.requestCount
      let refused = try open(server, from: "192.0.2.1")
      #expect([403, 429].contains(refused.status))
      #expect(server.api.signatures.requestCount == before)
    }
  }

  @Test func `whoever signs nothing takes no account from its neighbours`() throws {
    let start = MonotonicTime.now()
    let server = try proxied(accounts: 1) { start }
    let device = server.device()
    for _ in 0..<3 {
      let forged = TestDevice.Signed(
        method: "POST", target: "/v1/accounts", headers: [("X-Forwarded-For", "192.0.2.1")],
        body: [])
      #expect(try device.send(forged).status == 401)
    }
    #expect(try open(server, from: "192.0.2.1").status == 201)
  }
}
