import Base
import Crypto
import JSON
import Storage
import TestDevices
import TestEngines
import Testing

/// Bearer tokens: which clients get one, and which may end one.
@Suite struct SessionTests {
  /// A session as the client that made it knows it.
  private struct Session {
    let device: TestDevice
    let token: String
    let id: String

    init(_ device: TestDevice) throws {
      let answer = try device.send(device.sign("POST", "/v1/sessions"))
      guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
      self.device = device
      token = try #require(try answer.json["token"].string)
      id = try #require(try answer.json["id"].string)
    }

    func send(_ method: String, _ target: String, body: [UInt8] = []) throws -> Answer {
      try device.send(
        .init(
          method: method, target: target,
          headers: [("Host", TestServer.authority), ("Authorization", "Bearer \(token)")],
          body: body))
    }

    var isLive: Bool { get throws { try send("GET", "/v1/account").status == 200 } }
  }

  @Test(arguments: TestEngine.available)
  func `a session's request that is sent again gets no token, whoever sends it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let request = device.sign("POST", "/v1/sessions")
    let first = try device.send(request)
    let again = try device.send(request)
    #expect(first.status == 201)
    #expect(again.status == 401)
    #expect(try again.problem == "replayed")
    #expect(try device.get("/v1/sessions").json["sessions"].array?.count == 1)
  }

  @Test func `a client that lost the answer signs another request`() throws {
    let server = try TestServer()
    let device = try server.register()
    let lost = try Session(device)
    let kept = try Session(device)
    #expect(lost.token != kept.token)
    #expect(try kept.isLive)
  }

  @Test func `the database holds no token, only what names one`() throws {
    let server = try TestServer()
    let session = try Session(server.register())
    let stored = try server.database.read { reader in
      try reader.rows("SELECT token_hash FROM sync.sessions") { row in try row.blob(0) }
    }
    #expect(stored == [SHA256.hash(Array(session.token.utf8))])
    #expect(session.id == Base64.url.encode(stored[0]))
    let outcomes = try server.database.read { reader in
      try reader.rows("SELECT body FROM sync.nonces WHERE status = 201") { row in
        String(decoding: try row.blob(0), as: UTF8.self)
      }
    }
    #expect(outcomes.count == 2)
    #expect(outcomes.allSatisfy { !$0.contains(session.token) })
  }

  @Test(arguments: TestEngine.available)
  func `a key's row has the day of its last session`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let start = server.clock.now
    func last() throws -> Instant? {
      try server.database.read { reader in
        try reader.first("SELECT last_session_ms FROM sync.device_keys") { try $0.instant(0) }
      }
    }
    #expect(try last() == start)
    server.clock.advance(.hours(23))
    _ = try Session(device)
    #expect(try last() == start)
    server.clock.advance(.hours(2))
    _ = try Session(device)
    #expect(try last() == start + .hours(25))
  }

  @Test func `a session adds and revokes no key`() throws {
    let server = try TestServer()
    let device = try server.register()
    let session = try Session(device)
    let body = try device.admission(of: Ed25519PrivateKey()).encoded()
    for target in ["/v1/devices", "/v1/revocations"] {
      let answer = try session.send("POST", target, body: body)
      #expect(answer.status == 401)
      #expect(try answer.problem == "signature_required")
    }
  }

  @Test(arguments: TestEngine.available)
  func `a session that logs out is over, and the others are not`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (one, other) = (try Session(device), try Session(device))
    #expect(try one.send("DELETE", "/v1/sessions/current").status == 204)
    #expect(try one.send("GET", "/v1/account").problem == "session_invalid")
    #expect(try one.send("DELETE", "/v1/sessions/current").problem == "session_invalid")
    #expect(try other.isLive)
    #expect(try other.send("DELETE", "/v1/sessions/\(other.id)").status == 204)
    #expect(try !other.isLive)
  }

  @Test func `a device ends every session of its account, a session only itself`() throws {
    let server = try TestServer()
    let device = try server.register()
    let phone = server.device(root: device.root)
    #expect(try device.admit(phone).status == 201)
    let (one, other) = (try Session(device), try Session(phone))
    #expect(
      try one.send("DELETE", "/v1/sessions/\(other.id)").problem == "signature_required")
    #expect(try other.isLive)
    let end = device.sign("DELETE", "/v1/sessions/\(other.id)")
    #expect(try device.send(end).status == 204)
    #expect(try !other.isLive)
    // The same request again, as if its answer had been lost.
    #expect(try device.send(end).status == 204)
    #expect(try one.isLive)
  }

  @Test(arguments: TestEngine.available)
  func `nobody ends or sees the sessions of another account`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, mallory) = (try server.register(), try server.register())
    let session = try Session(alice)
    let end = try mallory.send(mallory.sign("DELETE", "/v1/sessions/\(session.id)"))
    #expect(end.status == 404)
    #expect(try end.problem == "session_not_found")
    #expect(try mallory.get("/v1/sessions").json["sessions"].array?.isEmpty == true)
    #expect(try session.isLive)
  }

  @Test(arguments: ["current", "none", "AAAA", String(repeating: "A", count: 43)])
  func `a signed request ends no session that it does not name`(id: String) throws {
    let server = try TestServer()
    let device = try server.register()
    let session = try Session(device)
    let answer = try device.send(device.sign("DELETE", "/v1/sessions/\(id)"))
    #expect(try answer.problem == "session_not_found")
    #expect(try session.isLive)
  }

  @Test func `sessions are listed with their keys and times, the one that asks marked`() throws {
    let server = try TestServer()
    let device = try server.register()
    let old = try Session(device)
    server.clock.advance(.minutes(10))
    let new = try Session(device)
    let listed = try new.send("GET", "/v1/sessions").json["sessions"].array ?? []
    #expect(listed.map { $0["id"].string } == [new.id, old.id])
    #expect(listed.map { $0["current"].bool } == [true, false])
    #expect(listed[0]["created"].string == server.clock.now.description)
    #expect(listed[1]["expires"].string == (server.clock.now + .minutes(50)).description)
    #expect(
      listed[0]["public_key"].string == Base64.standard.encode(device.key.publicKey.bytes))
    server.clock.advance(.minutes(51))
    #expect(try device.get("/v1/sessions").json["sessions"].array?.count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `the oldest of more than 64 sessions gives way`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let first = try Session(device)
    server.clock.advance(.seconds(1))
    for _ in 0..<64 { _ = try Session(device) }
    #expect(try !first.isLive)
    #expect(try device.get("/v1/sessions").json["sessions"].array?.count == 64)
  }
}
