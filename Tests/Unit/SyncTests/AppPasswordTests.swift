import Base
import Crypto
import JSON
import Logs
import Storage
import TestDevices
import TestEngines
import Testing

/// Passwords of apps, as a device makes, lists and revokes them by signed requests.
@Suite struct AppPasswordTests {
  private static let path = "/v1/app-passwords"

  private static func make(_ device: TestDevice, label: String = "laptop") throws -> JSON {
    let answer = try device.post(path, ["label": .string(label)])
    guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
    return try answer.json
  }

  @Test(arguments: TestEngine.available)
  func `a device makes a password, which logs in until the device revokes it`(engine: TestEngine)
    throws
  {
    let server = try TestServer(engine, actualAuthorities: [ActualClient.host])
    let device = try server.register()
    let made = try Self.make(device)
    let (id, password) = (try made["id"].requireString(), try made["password"].requireString())
    #expect(password.hasPrefix("cap-\(id)-"))
    let unused = try device.get(Self.path).json["app_passwords"]
    #expect(unused.array?.count == 1)
    #expect(unused[0]["id"].string == id)
    #expect(unused[0]["label"].string == "laptop")
    #expect(unused[0]["used"].isNull)
    #expect(unused[0]["password"].exists == false)
    var client = ActualClient(stranger: device)
    client.token = try #require(try client.logIn(password).json["data"]["token"].string)
    #expect(try client.send("GET", "/account/validate").status == 200)
    #expect(try device.get(Self.path).json["app_passwords"][0]["used"].string != nil)
    #expect(try device.send(device.sign("DELETE", "\(Self.path)/\(id)")).status == 204)
    #expect(try client.send("GET", "/account/validate").status == 401)
    #expect(try client.logIn(password).status == 400)
    #expect(try device.get(Self.path).json["app_passwords"].array?.isEmpty == true)
  }

  @Test(arguments: TestEngine.available)
  func `a request that is sent again gets no password, and none is stored`(engine: TestEngine)
    throws
  {
    let server = try TestServer(engine)
    let device = try server.register()
    let request = device.sign("POST", Self.path, body: Array("{}".utf8))
    let first = try device.send(request)
    let again = try device.send(request)
    #expect(first.status == 201)
    #expect(try again.problem == "replayed")
    #expect(try device.get(Self.path).json["app_passwords"].array?.count == 1)
    let password = try #require(try first.json["password"].string)
    let outcomes = try server.database.read { reader in
      try reader.rows("SELECT body FROM sync.nonces") { row in
        String(decoding: try row.blob(0), as: UTF8.self)
      }
    }
    #expect(outcomes.allSatisfy { !$0.contains(password) })
    let hashes = try server.database.read { reader in
      try reader.rows("SELECT secret_hash FROM sync.app_passwords") { row in try row.blob(0) }
    }
    #expect(hashes == [SHA256.hash(Array(password.utf8.suffix(26)))])
  }

  @Test func `a session makes and revokes none`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = try Self.make(device)["id"].requireString()
    let token = try device.send(device.sign("POST", "/v1/sessions")).json["token"].requireString()
    func send(_ method: String, _ target: String, _ body: [UInt8] = []) throws -> Answer {
      try device.send(
        .init(
          method: method, target: target,
          headers: [("Host", TestServer.authority), ("Authorization", "Bearer \(token)")],
          body: body))
    }
    #expect(try send("POST", Self.path, Array("{}".utf8)).problem == "signature_required")
    #expect(try send("DELETE", "\(Self.path)/\(id)").problem == "signature_required")
    #expect(try send("GET", Self.path).json["app_passwords"].array?.count == 1)
  }

  @Test func `no account sees or revokes another's, and none has more than 20`() throws {
    let server = try TestServer()
    let (ada, bob) = (try server.register(), try server.register())
    let id = try Self.make(ada)["id"].requireString()
    #expect(try bob.get(Self.path).json["app_passwords"].array?.isEmpty == true)
    let refused = try bob.send(bob.sign("DELETE", "\(Self.path)/\(id)"))
    #expect(refused.status == 404)
    #expect(try refused.problem == "app_password_not_found")
    for _ in 1..<20 { _ = try Self.make(ada) }
    let full = try ada.post(Self.path, .object([]))
    #expect(full.status == 409)
    #expect(try full.problem == "too_many_app_passwords")
    #expect(try ada.send(ada.sign("DELETE", "\(Self.path)/\(id)")).status == 204)
    _ = try Self.make(ada)
  }

  @Test func `of more than 50 log-ins with a password the one unused for longest ends`() throws {
    let server = try TestServer(actualAuthorities: [ActualClient.host])
    let device = try server.register()
    let password = try Self.make(device)["password"].requireString()
    let clients = try (0..<51).map { _ in
      server.clock.advance(.seconds(1))
      var client = ActualClient(stranger: device)
      client.token = try #require(try client.logIn(password).json["data"]["token"].string)
      return client
    }
    let statuses = try clients.map { try $0.send("GET", "/account/validate").status }
    #expect(statuses == [401] + Array(repeating: 200, count: 50))
  }

  @Test func `a suspended account makes none, and may revoke what it has`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = try Self.make(device)["id"].requireString()
    try server.suspend(device.account, since: server.clock.now)
    #expect(try device.post(Self.path, .object([])).problem == "account_suspended")
    #expect(try device.send(device.sign("DELETE", "\(Self.path)/\(id)")).status == 204)
  }

  @Test func `a label has at most 64 characters`() throws {
    let server = try TestServer()
    let device = try server.register()
    _ = try Self.make(device, label: String(repeating: "ä", count: 64))
    for label in [JSONValue.string(String(repeating: "ä", count: 65)), 7] {
      #expect(try device.post(Self.path, ["label": label]).problem == "body_invalid")
    }
    #expect(try device.post(Self.path, ["name": "laptop"]).problem == "body_invalid")
  }
}
