import Base
import Crypto
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

  /// The JSON examples of the guide, in their order.
  private func examples() throws -> [JSON] {
    try guide().matches(of: #/\n```json\n([^`]+)\n```/#).map { try JSON.parse(Array($0.1.utf8)) }
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

  private struct Examples {
    let batch: JSON
    let outcome: JSON
    let problem: JSON
    let page: JSON
    let versions: JSON
    let trash: JSON
    let push: JSON
    let pushed: JSON
    let pulled: JSON
    let recovery: JSON
    let link: JSON

    init(_ all: [JSON]) throws {
      try #require(all.count == 11)
      (batch, outcome, problem, page) = (all[0], all[1], all[2], all[3])
      (versions, trash) = (all[4], all[5])
      (push, pushed, pulled) = (all[6], all[7], all[8])
      (recovery, link) = (all[9], all[10])
    }
  }

  @Test func `the guide's batch is signed by the guide's key, over the bytes that it shows`() throws
  {
    let batch = try Examples(examples()).batch
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

  @Test func `the guide's version of a document is signed by its author`() throws {
    let pushed = try Examples(examples()).push["versions"][0]
    let version = try #require(JSONValue(pushed["version"]))
    let bytes = JSONValue.object([.init("version", version)]).canonical()
    #expect(pushed["version"]["author"].base64 == Self.key.publicKey.bytes)
    #expect(pushed["signature"].base64 == Self.key.signature(for: bytes))
  }

  @Test func `the records of the guide's page are signed as the guide tells to check them`() throws
  {
    let changes = try #require(Examples(examples()).page["changes"].array)
    let records = changes.compactMap { SeenRecord($0["file"]) }
    #expect(records.map(\.isRoot) == [true, false, false])
    #expect(records.map(\.isSignatureValid) == [nil, true, true])
    #expect(records.flatMap(\.shares).map(\.isSignatureValid) == [true])
    let deleted = try #require(SeenRecord(Examples(examples()).trash["trash"][0]["file"]))
    #expect(deleted.isSignatureValid == true)
  }

  @Test(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
  func `what the guide shows is described as it is shown`() throws {
    let server = try TestServer()
    let device = try server.register()
    let pull = device.sign("GET", "/v1/updates")
    let answer = try device.send(pull)
    let examples = try Examples(examples())
    func shown(
      _ status: Int, _ body: JSON, _ type: String = "application/json", tag: String? = nil
    ) throws -> Answer {
      let fields = answer.headers.fields.filter { $0.name != "content-type" }.map {
        ($0.name, String(decoding: $0.value, as: UTF8.self))
      }
      return Answer(
        status: status,
        headers: Headers(fields + [("content-type", type)] + (tag.map { [("etag", $0)] } ?? [])),
        body: try #require(JSONValue(body)).encoded())
    }
    let batch = device.sign(
      "POST", "/v1/files", body: try #require(JSONValue(examples.batch)).encoded())
    let exchanges = Exchanges()
    exchanges.record(pull, try shown(200, examples.page))
    exchanges.record(batch, try shown(200, examples.outcome))
    exchanges.record(batch, try shown(422, examples.problem, "application/problem+json"))
    exchanges.record(
      device.sign("GET", "/v1/files/\(device.root)/versions"), try shown(200, examples.versions))
    exchanges.record(device.sign("GET", "/v1/trash"), try shown(200, examples.trash))
    let push = device.sign(
      "POST", "/v1/documents", body: try #require(JSONValue(examples.push)).encoded())
    exchanges.record(push, try shown(200, examples.pushed))
    let clock: JSONValue = ["clock": [:]]
    exchanges.record(
      device.sign("POST", "/v1/documents/pull", body: clock.encoded()),
      try shown(200, examples.pulled))
    exchanges.record(
      device.sign("POST", "/v1/recovery", body: JSONValue.object([]).encoded()),
      try shown(201, examples.recovery))
    exchanges.record(
      device.sign(
        "PUT", "/v1/public/\(device.root)", body: [1], headers: [("If-Match", "\"0\"")]),
      try shown(201, examples.link, tag: "\"1\""))
    let complaints = try exchanges.complaints(
      about: server.fetchDescription().body, python: #require(Shell.python))
    #expect(complaints == [])
  }
}
