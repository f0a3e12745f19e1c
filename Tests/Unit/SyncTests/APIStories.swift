import Accounts
import Base
import Configuration
import Crypto
import HTTPClient
import HTTPServer
import JSON
import Sync
import TestDevices
import Tiers

/// Requests that cause every answer of the API that a test can cause.
struct APIStories {
  let exchanges = Exchanges()

  func tell() throws {
    try openAccounts()
    try useSessionsAndKeys()
    try bendSignatures()
    try bendDigests()
    try askForWhatIsNotServed()
    try breakTransport()
    try changeFiles()
    try keepVersions()
    try keepTrash()
    try capFolders()
    try meetLimits()
    try meetSuspension()
    try meetDeletion()
    try share()
    try readAndWriteContent()
    try loseContent()
    try uploadInParts()
    try failToUpload()
    try uploadSnapshots()
    try uploadBlobsAndLinks()
    try pull()
    try keepLogs()
    try shareLogs()
    try versionDocuments()
    try sendMail()
    try growChains()
    try publish()
    try recover()
  }

  /// A server whose accounts have `requests` requests each, and get none back.
  func server(
    freeByteCount: Int64 = 1_000_000, freeLimits: Plan.Limits = Plan.Limits(),
    limits: SyncLimits = SyncLimits(),
    requests: Int64 = 1_000_000, registration: SyncConfiguration.Registration = .open,
    accountsPerAddress: Int64 = 30
  ) throws -> TestServer {
    let exchanges = exchanges
    var limits = limits
    limits.accountsPerAddress = accountsPerAddress
    let start = MonotonicTime.now()
    return try TestServer(
      freeByteCount: freeByteCount, freeLimits: freeLimits, limits: limits, requestBurst: requests,
      registration: registration,
      trustedProxies: [AddressRange("127.0.0.1")].compactMap(\.self), uptime: { start },
      observe: { request, answer in exchanges.record(request, answer) })
  }

  // MARK: Accounts

  private func openAccounts() throws {
    let server = try self.server()
    let alice = try server.register(username: "Alice")
    _ = try alice.get("/v1/account")
    _ = try alice.send(alice.sign("HEAD", "/v1/account"))
    let bob = server.device()
    func open(_ device: TestDevice, root: Identifier, username: JSONValue = nil) throws {
      _ = try device.post(
        "/v1/accounts", ["root": .string(root.description), "username": username])
    }
    try open(bob, root: bob.root, username: "ALICE")
    try open(bob, root: bob.root, username: "ä")
    try open(bob, root: alice.root)
    try open(alice, root: bob.root)
    try open(bob, root: bob.root)
    let key = Base64.url.encode(bob.key.publicKey.bytes)
    for query in ["username=alice", "account=\(try bob.account)", "key=\(key)", "username=x", "x"] {
      _ = try alice.get("/v1/directory?\(query)")
    }
    let path = "/v1/blocks/\(try bob.account)"
    for method in ["PUT", "DELETE"] {
      for path in [path, "/v1/blocks/none"] { _ = try alice.send(alice.sign(method, path)) }
    }
    try server.fillBlocks(of: alice.account)
    _ = try alice.send(alice.sign("PUT", path))
    _ = try alice.get("/v1/blocks")
    try openAccountsByInvite()
    let strict = try self.server(requests: 3)
    let hasty = try strict.register()
    for _ in 0..<4 { _ = try hasty.get("/v1/account") }
  }

  private func openAccountsByInvite() throws {
    let address = [("X-Forwarded-For", "192.0.2.1")]
    for registration in [SyncConfiguration.Registration.closed, .invite] {
      let server = try self.server(registration: registration, accountsPerAddress: 2)
      for invite in [JSONValue.null, "wrong", "wrong"] {
        let device = server.device()
        let body: JSONValue = ["root": .string(device.root.description), "invite": invite]
        _ = try device.send(
          device.sign("POST", "/v1/accounts", body: body.encoded(), headers: address))
      }
    }
  }

  private func useSessionsAndKeys() throws {
    let server = try self.server()
    let device = try server.register()
    _ = try device.get("/v1/account", headers: [("Authorization", "Bearer none")])
    let token = try bearer(device)
    _ = try device.get("/v1/sessions")
    let again = device.sign("POST", "/v1/sessions")
    for _ in 0..<2 { _ = try device.send(again) }
    for id in ["current", "none"] {
      _ = try device.send(
        .init(method: "DELETE", target: "/v1/sessions/\(id)", headers: bearer(device), body: []))
    }
    try useAppPasswords(device, token)
    let second = server.device()
    _ = try second.get("/v1/account")
    let body = try device.admission(of: second.key, label: "phone").encoded()
    _ = try device.send(.init(method: "POST", target: "/v1/devices", headers: token, body: body))
    for _ in 0..<2 { _ = try device.admit(second, label: "phone") }
    for push in ["token", ""] { _ = try device.register(push: push) }
    _ = try device.get("/v1/account")
    _ = try device.send(
      .init(method: "PUT", target: "/v1/push", headers: token, body: Array(#"{"id":"x"}"#.utf8)))
    _ = try device.send(device.sign("DELETE", "/v1/push"))
    for _ in 0..<63 { _ = try device.admit(server.device()) }
    _ = try device.post("/v1/devices", ["device": [:]])
    for _ in 0..<2 { _ = try device.revoke(key: second.key.publicKey.bytes) }
    _ = try second.get("/v1/account")
    _ = try device.get(
      "/v1/directory?key=\(Base64.url.encode(second.key.publicKey.bytes))")
    let leaving = try server.register()
    for (method, path) in [
      ("GET", "/v1/account/deletion"), ("DELETE", "/v1/account"), ("GET", "/v1/account/deletion"),
      ("DELETE", "/v1/account/deletion"),
    ] {
      _ = try leaving.send(leaving.sign(method, path))
    }
    let lonely = try server.register()
    _ = try lonely.revoke(key: lonely.key.publicKey.bytes)
    try server.fillKeys(of: lonely.account)
    _ = try lonely.admit(server.device())
  }

  private func useAppPasswords(_ device: TestDevice, _ session: [(String, String)]) throws {
    let path = "/v1/app-passwords"
    let once = device.sign("POST", path, body: Array(#"{"label":"laptop"}"#.utf8))
    let made = try device.send(once)
    _ = try device.send(once)
    for body in [#"{"label":7}"#, "{}"] {
      _ = try device.send(
        .init(method: "POST", target: path, headers: session, body: Array(body.utf8)))
      _ = try device.send(device.sign("POST", path, body: Array(body.utf8)))
    }
    _ = try device.get(path)
    for _ in 0..<20 { _ = try device.post(path, .object([])) }
    let id = try made.json["id"].string ?? ""
    for _ in 0..<2 { _ = try device.send(device.sign("DELETE", "\(path)/\(id)")) }
  }

  /// The headers of a request in a new session.
  func bearer(_ device: TestDevice) throws -> [(String, String)] {
    let answer = try device.send(device.sign("POST", "/v1/sessions"))
    guard let token = try answer.json["token"].string else { throw UnexpectedAnswer(answer) }
    return [("Host", TestServer.authority), ("Authorization", "Bearer \(token)")]
  }

  // MARK: Signatures

  private func bendSignatures() throws {
    let server = try self.server()
    let device = try server.register()
    func bend(
      _ method: String = "GET", _ target: String = "/v1/account", body: [UInt8]? = nil,
      _ change: (String) -> String
    ) throws {
      var request = device.sign(method, target, body: body)
      request.headers = request.headers.map { name, value in
        (name, name == "Signature-Input" ? change(value) : value)
      }
      _ = try device.send(request)
    }
    let now = server.clock.now.seconds
    try bend { _ in "(((" }
    try bend { $0.replacing("\"ed25519\"", with: "\"rsa-pss-sha512\"") }
    try bend { $0.replacing(" \"@query\"", with: "") }
    try bend { $0.replacing("\"@query\"", with: "\"@query\" \"x-absent\"") }
    try bend { $0.replacing("\"@query\"", with: "\"@query\" \"@status\"") }
    try bend { $0.replacing("created=\(now)", with: "created=\(now + 100)") }
    try bend { $0.replacing("expires=\(now + 300)", with: "expires=\(now + 4000)") }
    try bend { $0.replacing(/keyid="[^"]*"/, with: "keyid=\"none\"") }
    try bend { $0.replacing("expires=\(now + 300)", with: "expires=\(now + 299)") }
    try bend("POST", "/v1/sessions") { $0.replacing(/;nonce="[^"]*"/, with: "") }
    try bend("POST", "/v1/files", body: [1]) { $0.replacing(" \"content-digest\"", with: "") }
    var bare = device.sign("POST", "/v1/files", body: [1])
    bare.headers = bare.headers.filter { $0.0 != "Content-Digest" }.map { name, value in
      (name, value.replacing(" \"content-digest\"", with: ""))
    }
    _ = try device.send(bare)
    _ = try device.send(
      .init(
        method: "GET", target: "/v1/account", headers: [("Host", TestServer.authority)], body: []))
    var elsewhere = device.sign("GET", "/v1/account", authority: "evil.test")
    elsewhere.headers[0] = ("Host", "evil.test")
    _ = try device.send(elsewhere)
    let nonce = Array("0123456789abcdef".utf8)
    _ = try device.send(device.sign("POST", "/v1/sessions", nonce: nonce))
    _ = try device.send(device.sign("POST", "/v1/sessions?again", nonce: nonce))
    let late = device.sign("GET", "/v1/account")
    server.clock.advance(.seconds(400))
    _ = try device.send(late)
  }

  private func bendDigests() throws {
    let server = try self.server()
    let device = try server.register()
    let session = try bearer(device)
    for digest in ["md5=:AAAA:", "sha-256", "sha-256=:\(String(repeating: "A", count: 43))=:"] {
      let headers = session + [("Content-Digest", digest)]
      for method in ["GET", "POST"] {
        _ = try device.send(
          .init(
            method: method, target: method == "GET" ? "/v1/account" : "/v1/files",
            headers: headers, body: method == "GET" ? [] : [1]))
      }
    }
  }

  // MARK: Transport

  private func askForWhatIsNotServed() throws {
    let server = try self.server()
    let device = try server.register()
    for target in ["/", "/v1/nothing", "/v1/files/a/b", "/healthz/x"] {
      _ = try device.get(target)
    }
    _ = try device.get("/v1/files/none")
    for target in ["/v1/account", "/openapi.json", "/v1/files"] {
      _ = try device.send(device.sign("PUT", target, body: [1]))
    }
    for target in ["/openapi.json", "/healthz", "/readyz"] {
      _ = try device.send(.init(method: "GET", target: target, headers: host, body: []))
    }
    let tag = try server.fetchDescription().header("ETag") ?? ""
    for value in [tag, "none"] {
      _ = try server.fetchDescription(headers: [("If-None-Match", value)])
    }
  }

  private var host: [(String, String)] { [("Host", TestServer.authority)] }

  private func breakTransport() throws {
    let server = try self.server()
    let device = try server.register()
    _ = try device.get("/v1/files/a%2Fb")
    _ = try device.get("/v1/account", headers: [("Expect", "wonders")])
    _ = try device.get("/v1/account", headers: (0..<100).map { ("X-\($0)", "1") })
    _ = try device.get(
      "/v1/account", headers: [("X-Long", String(repeating: "a", count: 25_000))])
    _ = try device.send(device.sign("POST", "/v1/sessions", body: [1]))
    _ = try device.send(
      device.sign("POST", "/v1/devices", body: Array(repeating: 1, count: 20_000)))
    var unmeasured = device.sign("POST", "/v1/devices")
    unmeasured.headers.append(("Transfer-Encoding", "chunked"))
    let reply = try HTTPClient().send(
      "POST", "http://127.0.0.1:\(server.port)/v1/devices", headers: unmeasured.headers, body: nil,
      timeout: .seconds(10))
    exchanges.record(
      unmeasured, Answer(status: reply.status, headers: reply.headers, body: reply.body))
  }
}
