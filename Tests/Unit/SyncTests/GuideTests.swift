import Base
import Crypto
import DescribedAPI
import HTTPMessages
import HTTPSignatures
import JSON
import TestDevices
import TestFiles
import Testing

/// The real bytes of docs/sync-api.md, with which the author of a client compares.
@Suite struct GuideTests {
  private static let key = Ed25519PrivateKey(seed: Secret(Array(0..<32)))!
  private static let body = Array(#"{"root":"5f0c2c8e-58f2-4c0e-9d1a-6f1d2a3b4c5d"}"#.utf8)

  private func guide() throws -> String {
    try #require(Files.text("\(Files.repository)/docs/sync-api.md"))
  }

  @Test func `the guide signs a request as we do`() throws {
    let guide = try guide()
    let fields = RequestSigner(key: Self.key, authority: "sync.example.com").headers(
      method: "POST", target: "/v1/accounts", body: Self.body,
      created: Instant(seconds: 1_782_000_000), nonce: Array("for the guide".utf8))
    #expect(fields.count == 3)
    for (name, value) in fields { #expect(guide.contains("\n\(name): \(value)\n")) }
  }

  @Test func `the guide's signature is over the guide's lines`() throws {
    let guide = try guide()
    let start = try #require(guide.firstRange(of: "\n\"@method\"")).lowerBound
    let rest = guide[guide.index(after: start)...]
    let lines = rest[..<(try #require(rest.firstRange(of: "\n```"))).lowerBound]
    let mark = "\nSignature: coffer=:"
    let text = guide[(try #require(guide.firstRange(of: mark))).upperBound...].prefix { $0 != ":" }
    let signature = try #require(Base64.standard.decode(String(text)))
    #expect(Self.key.signature(for: Array(lines.utf8)) == signature)
  }

  @Test func `the guide's account has the id that its key makes`() throws {
    let bytes = Self.key.publicKey.bytes
    let guide = try guide()
    #expect(guide.contains("`\(Base64.standard.encode(bytes))`"))
    #expect(guide.contains("`\(KeyChain.account(openedBy: bytes))`"))
  }

  @Test func `the guide's blocks have the hashes and signatures that it shows`() throws {
    let lines = try guide().split(separator: "\n")
    let blocks = lines.indices.filter { lines[$0].hasPrefix("{\"block\":{") }
    #expect(blocks.count == 2)
    for index in blocks {
      let signed = Array(lines[index].utf8)
      #expect(lines[index + 1] == Base64.standard.encode(SHA256.hash(signed)))
      #expect(lines[index + 2] == Base64.standard.encode(Self.key.signature(for: signed)))
      let statement = try #require(JSONValue(JSON.parse(signed)))
      #expect(statement.canonical() == signed)
    }
  }

  @Test func `the guide's batch is signed by the guide's key, over the bytes that it shows`() throws
  {
    let batch = try #require(GuideExample.first("POST /v1/files").body)
    #expect(batch["author"].base64 == Self.key.publicKey.bytes)
    let changes = (batch["files"].array ?? []) + (batch["shares"].array ?? [])
    #expect(changes.count == 3)
    var signed: [String] = []
    for change in changes {
      let member = change["file"].members == nil ? "share" : "file"
      let statement = try #require(JSONValue(change[member]))
      let bytes = JSONValue.object([.init(member, statement)]).canonical()
      #expect(change["signature"].base64 == Self.key.signature(for: bytes))
      signed.append(String(decoding: bytes, as: UTF8.self))
    }
    #expect(try guide().contains("\n\(signed[0])\n"))
  }

  @Test(arguments: [
    ("POST /v1/devices", "device"), ("POST /v1/revocations", "revocation"),
    ("PUT /v1/recovery-key", "recovery"), ("POST /v1/trash/id/restore", "file"),
  ])
  func `a statement of the guide is signed by the guide's key, and proven by the key it is about`(
    request: String, member: String
  ) throws {
    let body = try #require(GuideExample.first(request).body)
    let statement = try #require(JSONValue(body[member]))
    let bytes = JSONValue.object([.init(member, statement)]).canonical()
    #expect(body["signature"].base64 == Self.key.signature(for: bytes))
    guard let proof = body["proof"].base64 else { return }
    let key = try #require(body[member]["key"].base64)
    #expect(Ed25519PublicKey(bytes: key)?.isValid(signature: proof, for: bytes) == true)
  }

  @Test func `the guide's version of a document is signed by its author`() throws {
    let push = try #require(GuideExample.first("POST /v1/documents").body)
    let pushed = push["versions"][0]
    let version = try #require(JSONValue(pushed["version"]))
    let bytes = JSONValue.object([.init("version", version)]).canonical()
    #expect(pushed["version"]["author"].base64 == Self.key.publicKey.bytes)
    #expect(pushed["signature"].base64 == Self.key.signature(for: bytes))
  }

  @Test func `the records of the guide's page are signed as the guide tells to check them`() throws
  {
    let page = try #require(GuideExample.first("GET /v1/updates").answer)
    let records = (page["changes"].array ?? []).compactMap { SeenRecord($0["file"]) }
    #expect(records.map(\.isRoot) == [true, false, false])
    #expect(records.map(\.isSignatureValid) == [nil, true, true])
    #expect(records.flatMap(\.shares).map(\.isSignatureValid) == [true])
    let trash = try #require(GuideExample.first("GET /v1/trash").answer)
    let deleted = try #require(SeenRecord(trash["trash"][0]["file"]))
    #expect(deleted.isSignatureValid == true)
  }

  /// The bodies of requests whose body is no JSON example: another block, or bytes.
  private static let otherBodies: [String: [UInt8]] = [
    "POST /v1/accounts": body, "PUT /v1/files/id/content": [1],
    "PUT /v1/logs/id/snapshot?covers=cursor": [1], "PUT /v1/blobs/id": [1],
    "PUT /v1/key-backup": [1], "PUT /v1/public/id": [1],
  ]

  @Test(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
  func `what the guide shows is described as it is shown`() throws {
    let server = try TestServer()
    let device = try server.register()
    let usual = try device.get("/v1/updates").headers.fields.filter { $0.name != "content-type" }
      .map { ($0.name, String(decoding: $0.value, as: UTF8.self)) }
    var bodies = Self.otherBodies
    let exchanges = Exchanges()
    for example in try GuideExample.all() {
      if let body = example.body {
        bodies[example.request] = try #require(JSONValue(body)).encoded()
      }
      let request = device.sign(
        example.method, example.target, body: bodies[example.request],
        headers: [("If-Match", "\"0\"")])
      let type = example.status < 400 ? "application/json" : "application/problem+json"
      let fields = example.fields.map { ($0, $0 == "etag" ? "\"1\"" : "/v1/account") }
      var shown: [UInt8] = []
      if let answer = example.answer { shown = try #require(JSONValue(answer)).encoded() }
      exchanges.record(
        request,
        Answer(
          status: example.status, headers: Headers(usual + [("content-type", type)] + fields),
          body: shown))
    }
    let complaints = try exchanges.complaints(about: server.fetchDescription().body)
    #expect(complaints == [])
  }
}
