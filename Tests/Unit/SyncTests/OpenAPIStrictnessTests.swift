import Base
import Crypto
import JSON
import Sync
import TestDevices
import TestFiles
import Testing

/// The description and the server are equally strict. Requests are altered in every place that a schema
/// covers, and checked against the description by a validator that knows nothing of the server.
@Suite(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
struct OpenAPIStrictnessTests {
  private let exchanges = Exchanges()

  private func server() throws -> TestServer {
    let exchanges = exchanges
    return try TestServer(observe: { request, answer in exchanges.record(request, answer) })
  }

  /// The validator's complaints about everything that was sent.
  private func complaints(_ server: TestServer) throws -> [Substring] {
    try exchanges.complaints(about: server.fetchDescription().body)
  }

  @Test func `a batch is taken as the description has it, and refused as it has it`() throws {
    let server = try server()
    let device = try server.register()
    let friend = try server.register()
    let (document, offered) = (try device.add(), try friend.add())
    try friend.grant(offered, to: device.account).requireSuccess()
    let folder = try device.creation("folder")
    let grant = ShareChange.grant(folder.file.id, to: try friend.account, mode: "write")
    let end = ShareStatement(file: document, account: try friend.account, state: .revoked)
    let body = device.batchBody(
      files: [
        folder, try device.record(document).change { $0.name = .init() },
        try device.creation("link", target: offered),
      ],
      shares: [grant, ShareChange(expect: "pending", end)])
    for bent in [body] + body.bent { _ = try device.post("/v1/files", bent) }
    let found = try complaints(server)
    #expect(exchanges.all.count > 500)
    for complaint in found.prefix(20) { Issue.record("\(complaint)") }
  }

  @Test func `an account is opened as the description has it, and refused as it has it`() throws {
    let server = try server()
    let valid: JSONValue = [
      "root": .string(Random.identifier().description), "username": "ada",
    ]
    let names: [JSONValue] = ["A.b-c_9", .string(String(repeating: "a", count: 33)), "\u{212A}"]
    for bent in [valid] + valid.bent + names.map({ valid.setting("$.username", to: $0) }) {
      _ = try server.device().post("/v1/accounts", bent)
    }
    for complaint in try complaints(server).prefix(20) { Issue.record("\(complaint)") }
  }

  @Test func `a query is taken as the description has it, and refused as it has it`() throws {
    let server = try server()
    let device = try server.register(username: "ada")
    let cursor = try device.get("/v1/updates").json["cursor"].string ?? ""
    let account = try device.account.description
    let key = Base64.url.encode(device.key.publicKey.bytes)
    for limit in ["0", "1", "1000", "1001", "-1", "+1", "01", "1.0", "x", "", "1&limit=1"] {
      _ = try device.get("/v1/updates?limit=\(limit)")
      _ = try device.get("/v1/updates?since=\(cursor)&limit=\(limit)")
    }
    for query in [
      "username=ada", "username=ADA", "username=\u{20}", "username=", "username=ada&username=ada",
      "account=\(account)", "account=\(account.uppercased())", "account=x", "key=\(key)",
      "key=\(key)=", "key=\(key.dropLast())", "username=ada&account=\(account)", "",
    ] {
      _ = try device.get("/v1/directory?\(query.replacing(" ", with: "%20"))")
    }
    for complaint in try complaints(server).prefix(20) { Issue.record("\(complaint)") }
  }

  @Test func `a precondition is taken as the description has it, and refused as it has it`() throws
  {
    let server = try server()
    let device = try server.register()
    let id = try device.add()
    for value in [
      "*", "\"0\"", "W/\"0\"", "\"0\", \"1\"", ",\"0\",", "\"\"", "\"a,b\"", "0", "\"0", "0\"",
      "\"a b\"", "\"0\" \"1\"", "\"0\"x", "w/\"0\"", "*,*", "\"0\",*", ",", "\"0\",x",
    ] {
      _ = try device.send(
        device.sign("PUT", "/v1/files/\(id)/content", body: [1], headers: [("If-Match", value)]))
      for name in ["If-Match", "If-None-Match"] {
        _ = try device.get("/v1/files/\(id)/content", headers: [(name, value)])
      }
    }
    for complaint in try complaints(server).prefix(20) { Issue.record("\(complaint)") }
  }
}

extension JSONValue {
  /// Copies of this value with one place changed, for every place and in many ways.
  fileprivate var bent: [JSONValue] {
    let wrong: [JSONValue?] = [
      nil, .null, .bool(true), .integer(0), .array([]), .object([]), "", "x", "AAAA",
    ]
    let replaced = leaves.flatMap { path, value -> [JSONValue] in
      guard case .string(let text) = value else {
        return wrong.map { setting(path, to: $0) }
      }
      return (wrong + Self.spellings(of: text).map { .string($0) }).map { setting(path, to: $0) }
    }
    let objects = Set(
      leaves.map { path, _ in String(path[..<(path.lastIndex(of: ".") ?? path.endIndex)]) })
    return replaced + objects.sorted().map { setting($0 + ".unknown", to: "x") }
  }

  /// Texts that a careless reader could take for the same one.
  private static func spellings(of text: String) -> [String] {
    let bare = String(text.prefix { $0 != "=" })
    let stray = String(bare.dropLast()) + (bare.hasSuffix("A") ? "B" : "/")
    return [
      text.uppercased(), text + " ", " " + text, text + "=", String(text.dropLast()), bare,
      text + text, text + "AAAA", stray + String(text.dropFirst(bare.count)),
      text.replacing("+", with: "-").replacing("/", with: "_"),
    ]
  }
}
