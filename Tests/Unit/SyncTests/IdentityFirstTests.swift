import Base
import Crypto
import HTTPServer
import JSON
import RawClient
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Unknown clients are refused by their headers alone, before the server waits for a byte of the body.
@Suite struct IdentityFirstTests {
  enum Stranger: String, CaseIterable, Sendable {
    case unknownToken, unknownKey, revokedKey, endedSession

    var problem: String {
      switch self {
      case .unknownToken, .endedSession: "session_invalid"
      case .unknownKey: "unknown_key"
      case .revokedKey: "revoked_key"
      }
    }
  }

  private static let body = [UInt8](repeating: UInt8(ascii: "{"), count: 100)

  /// The head of a request by such a stranger, which announces a body and waits for the server to ask for it.
  private func head(
    _ method: String, _ target: String, by stranger: Stranger, _ scene: Scene
  ) -> String {
    let request: TestDevice.Signed
    switch stranger {
    case .unknownToken: request = scene.bearer("x", method, target)
    case .endedSession: request = scene.bearer(scene.endedToken, method, target)
    case .unknownKey:
      request = scene.server.device().sign(
        method, target, body: Self.body, headers: [("If-Match", "*")])
    case .revokedKey:
      request = scene.revoked.sign(method, target, body: Self.body, headers: [("If-Match", "*")])
    }
    let fields = request.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    return "\(method) \(target) HTTP/1.1\r\n\(fields)Content-Length: \(Self.body.count)\r\n"
      + "Expect: 100-continue\r\n\r\n"
  }

  private struct Scene {
    let server: TestServer
    let revoked: TestDevice
    let endedToken: String

    init(_ engine: TestEngine) throws {
      server = try TestServer(engine)
      let owner = try server.register()
      revoked = server.device(root: owner.root)
      let added = try owner.admit(revoked)
      let session = try revoked.send(revoked.sign("POST", "/v1/sessions"))
      endedToken = try session.json["token"].string ?? ""
      let removed = try owner.revoke(key: revoked.key.publicKey.bytes)
      #expect([added, removed].map(\.status) == [201, 204])
      // A key in use is trusted until a transaction finds the revocation; its account was charged for that.
      #expect(try revoked.get("/v1/account").status == 401)
    }

    func bearer(_ token: String, _ method: String, _ target: String) -> TestDevice.Signed {
      .init(
        method: method, target: target,
        headers: [
          ("Host", TestServer.authority), ("Authorization", "Bearer \(token)"), ("If-Match", "*"),
        ], body: [])
    }
  }

  @Test(arguments: TestEngine.available, Stranger.allCases)
  func `no endpoint asks somebody who is not known for a body`(
    engine: TestEngine, stranger: Stranger
  ) throws {
    let scene = try Scene(engine)
    for route in scene.server.api.routes
    where !["GET", "OPTIONS"].contains(route.method) && route.pattern != "/v1/accounts"
      && !route.pattern.contains("{secret}")
    {
      let target = route.pattern.split(separator: "/").map { segment in
        "/" + (segment.hasPrefix("{") ? Random.identifier().description : String(segment))
      }.joined()
      let client = try #require(RawClient(connectingTo: scene.server.port))
      let answer = client.exchange(head(route.method, target, by: stranger, scene))
      #expect(answer?.status == 401, "\(route.method) \(target)")
      #expect(answer?.problem == stranger.problem, "\(route.method) \(target)")
    }
  }

  @Test(arguments: TestEngine.available)
  func `an upload that is not known takes no body`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let client = try #require(RawClient(connectingTo: server.port))
    let answer = client.exchange(
      "PATCH /v1/uploads/guessed HTTP/1.1\r\nHost: \(TestServer.authority)\r\n"
        + "Upload-Draft-Interop-Version: 8\r\nUpload-Complete: ?1\r\nUpload-Offset: 0\r\n"
        + "Content-Type: application/partial-upload\r\nContent-Length: 100\r\n"
        + "Expect: 100-continue\r\n\r\n")
    #expect(answer?.problem == "upload_not_found")
  }

  @Test(arguments: TestEngine.available)
  func `whoever is known is asked for the body`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let request = device.sign("POST", "/v1/files", body: Self.body)
    let fields = request.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    let client = try #require(RawClient(connectingTo: server.port))
    client.send(
      "POST /v1/files HTTP/1.1\r\n\(fields)Content-Length: \(Self.body.count)\r\n"
        + "Expect: 100-continue\r\n\r\n")
    #expect(client.receiveResponse()?.status == 100)
    client.send(Self.body)
    #expect(client.receiveResponse()?.problem == "body_invalid")
  }

  @Test(arguments: TestEngine.available)
  func `a stranger's batch has the server check one signature at most and write nothing`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let owner = try server.register()
    let stranger = server.device()
    let files = try (0..<500).map { _ in try owner.creation() }
    let body = stranger.batchBody(files: files).encoded()
    let token = [("Host", TestServer.authority), ("Authorization", "Bearer x")]
    let requests = [
      stranger.sign("POST", "/v1/files", body: body),
      .init(method: "POST", target: "/v1/files", headers: token, body: body),
    ]
    let before = (
      requests: server.api.signatures.requestCount, writes: server.database.writeWork,
      reads: server.database.readWork
    )
    for request in requests { #expect(try owner.send(request).status == 401) }
    #expect(server.api.signatures.requestCount - before.requests == 1)
    #expect(server.api.signatures.statementCount == 0)
    #expect(server.database.writeWork == before.writes)
    #expect((server.database.readWork - before.reads).rowCount == 0)
  }
}
