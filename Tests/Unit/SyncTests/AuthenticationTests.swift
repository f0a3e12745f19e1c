import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

@Suite struct AuthenticationTests {
  @Test func `a request without credentials is told how to authenticate`() throws {
    let server = try TestServer()
    let device = try server.register()
    let answer = try device.send(
      .init(
        method: "GET", target: "/v1/account", headers: [("Host", TestServer.authority)], body: []))
    #expect(answer.status == 401)
    #expect(try answer.problem == "not_authenticated")
    #expect(answer.header("WWW-Authenticate") != nil)
  }

  @Test func `a signature for another host is refused as such`() throws {
    let server = try TestServer()
    let device = try server.register()
    var request = device.sign("GET", "/v1/account", authority: "evil.test")
    request.headers[0] = ("Host", "evil.test")
    let answer = try device.send(request)
    #expect(answer.status == 401)
    #expect(try answer.problem == "wrong_host")
    #expect(try answer.json["detail"].string?.contains(TestServer.authority) == true)
  }

  @Test func `a signature over another authority than the request's names the request's`() throws {
    let server = try TestServer()
    let device = try server.register()
    let answer = try device.send(device.sign("GET", "/v1/account", authority: "sync.test:8080"))
    #expect(answer.status == 401)
    #expect(try answer.problem == "bad_signature")
    let detail = try answer.json["detail"].string
    #expect(detail?.contains("@authority is \"\(TestServer.authority)\" here") == true)
  }

  @Test func `a signature older than its life is refused`() throws {
    let server = try TestServer()
    let device = try server.register()
    let request = device.sign("GET", "/v1/account")
    server.clock.advance(.seconds(400))
    let answer = try device.send(request)
    #expect(answer.status == 401)
    #expect(try answer.problem == "signature_expired")
  }

  @Test func `a changed target breaks the signature`() throws {
    let server = try TestServer()
    let device = try server.register()
    var request = device.sign("GET", "/v1/updates?limit=1")
    request.target = "/v1/updates?limit=2"
    let answer = try device.send(request)
    #expect(answer.status == 401)
    #expect(try answer.problem == "bad_signature")
  }

  @Test func `a changed body is refused by its digest`() throws {
    let server = try TestServer()
    let device = try server.register()
    let (id, _) = try device.create()
    var request = device.sign(
      "PUT", "/v1/files/\(id)/content", body: Array("one".utf8), headers: [("If-Match", "\"0\"")])
    request.body = Array("two".utf8)
    let answer = try device.send(request)
    #expect(answer.status == 400)
    #expect(try answer.problem == "digest_mismatch")
  }

  @Test(arguments: TestEngine.available)
  func `the same request repeated gets the recorded outcome and no second effect`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (id, _) = try device.create()
    let request = device.sign(
      "PUT", "/v1/files/\(id)/content", body: Array("text".utf8), headers: [("If-Match", "\"0\"")])
    let first = try device.send(request)
    let second = try device.send(request)
    #expect(first.status == 200)
    #expect(second.status == 200)
    #expect(first.body == second.body)
    #expect(first.header("ETag") == second.header("ETag"))
  }

  @Test func `large content repeated gets the recorded outcome too`() throws {
    let server = try TestServer(freeByteCount: 10_000_000)
    let device = try server.register()
    let (id, _) = try device.create()
    let request = device.sign(
      "PUT", "/v1/files/\(id)/content", body: Random.bytes(100_000),
      headers: [("If-Match", "\"0\"")])
    let first = try device.send(request)
    let second = try device.send(request)
    #expect(first.status == 200)
    #expect(first.body == second.body)
  }

  @Test func `another request under a used nonce is a replay`() throws {
    let server = try TestServer()
    let device = try server.register()
    let (id, _) = try device.create()
    let nonce = Array("0123456789abcdef".utf8)
    func put(_ text: String) throws -> Answer {
      try device.send(
        device.sign(
          "PUT", "/v1/files/\(id)/content", body: Array(text.utf8),
          headers: [("If-Match", "*")], nonce: nonce))
    }
    #expect(try put("one").status == 200)
    let replay = try put("two")
    #expect(replay.status == 401)
    #expect(try replay.problem == "replayed")
  }

  @Test func `a session token stands for its key for an hour`() throws {
    let server = try TestServer()
    let device = try server.register()
    let session = try device.send(device.sign("POST", "/v1/sessions"))
    #expect(session.status == 201)
    let token = try session.json["token"].string ?? ""
    let request = TestDevice.Signed(
      method: "GET", target: "/v1/account",
      headers: [("Host", TestServer.authority), ("Authorization", "Bearer \(token)")], body: [])
    #expect(try device.send(request).status == 200)
    server.clock.advance(.minutes(61))
    #expect(try device.send(request).problem == "session_invalid")
  }

  @Test func `the sweeper forgets nonces once their signatures have expired`() throws {
    let server = try TestServer()
    let device = try server.register()
    _ = try device.create()
    let sweeper = server.sweeper()
    server.clock.advance(.seconds(301))
    try sweeper.sweep()
    let left = try server.database.read { reader in
      try reader.rows("SELECT nonce FROM sync.nonces") { row in try row.blob(0) }
    }
    #expect(left.isEmpty)
  }
}
