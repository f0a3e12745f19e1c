import Base
import Crypto
import JSON
import TestDevices
import TestEngines
import Testing

@Suite struct AccountTests {
  @Test(arguments: TestEngine.available)
  func `an account is created by the key that signs for it`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register(username: "Alice.A")
    let account = try device.get("/v1/account").json
    #expect(account["username"].string == "Alice.A")
    #expect(account["usage"].integer == 1000)
    #expect(account["cap"].integer == 1_000_000)
    #expect(account["reason"].string == "never_subscribed")
    #expect(
      account["devices"].array?.first?["public_key"].string
        == Base64.standard.encode(device.key.publicKey.bytes))
  }

  @Test func `a username differs from another by more than case`() throws {
    let server = try TestServer()
    _ = try server.register(username: "alice")
    let other = server.device()
    let answer = try other.post(
      "/v1/accounts", ["username": "ALICE", "root": .string(other.root.description)])
    #expect(answer.status == 409)
    #expect(try answer.problem == "username_taken")
  }

  @Test(arguments: ["", "a b", "ä", "\u{212A}", String(repeating: "a", count: 33), "a/b"])
  func `a username outside the alphabet is refused`(name: String) throws {
    let server = try TestServer()
    let device = server.device()
    let answer = try device.post(
      "/v1/accounts", ["username": .string(name), "root": .string(device.root.description)])
    #expect(answer.status == 400)
    #expect(try answer.problem == "body_invalid")
  }

  @Test func `a key registers one account only`() throws {
    let server = try TestServer()
    let device = try server.register()
    let again = try device.post(
      "/v1/accounts", ["root": .string(Random.identifier().description)])
    #expect(again.status == 409)
    #expect(try again.problem == "key_registered")
  }

  @Test(arguments: TestEngine.available)
  func `a root's id is one that no file has`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let first = try server.register()
    let other = server.device(root: first.root)
    let answer = try other.post("/v1/accounts", ["root": .string(first.root.description)])
    #expect(answer.status == 409)
    #expect(try answer.problem == "file_exists")
    #expect(try other.get("/v1/account").problem == "unknown_key")
  }

  @Test func `another key acts for the account once a valid one has added it`() throws {
    let server = try TestServer()
    let first = try server.register()
    let second = server.device(root: first.root)
    #expect(try second.get("/v1/account").problem == "unknown_key")
    #expect(try first.admit(second, label: "phone").status == 201)
    #expect(try second.account == first.account)
  }

  @Test func `a revoked key and its sessions are refused`() throws {
    let server = try TestServer()
    let first = try server.register()
    let second = server.device(root: first.root)
    let key = second.key.publicKey.bytes
    _ = try first.admit(second)
    let token = try second.send(second.sign("POST", "/v1/sessions")).json["token"].string ?? ""
    #expect(try first.revoke(key: key).status == 204)
    #expect(try second.get("/v1/account").problem == "revoked_key")
    let bearer = TestDevice.Signed(
      method: "GET", target: "/v1/account",
      headers: [("Host", TestServer.authority), ("Authorization", "Bearer \(token)")], body: [])
    #expect(try second.send(bearer).problem == "session_invalid")
  }

  @Test func `an account keeps its last key`() throws {
    let server = try TestServer()
    let device = try server.register()
    let answer = try device.revoke(key: device.key.publicKey.bytes)
    #expect(answer.status == 409)
    #expect(try answer.problem == "last_key")
  }
}
