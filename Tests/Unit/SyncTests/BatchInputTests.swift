import Base
import Crypto
import JSON
import SeededRandom
import Sync
import TestDevices
import Testing

/// The form of a batch: every member that is missing, null, or of another type is named.
@Suite struct BatchInputTests {
  /// A valid batch: a folder, a changed document, a link, a grant, and the end of a share.
  private struct Sample {
    let server: TestServer
    let device: TestDevice
    let body: JSONValue

    init() throws {
      server = try TestServer()
      device = try server.register()
      let (friend, third) = (try server.register(), try server.register())
      let (document, offered) = (try device.add(), try friend.add())
      try friend.grant(offered, to: device.account).requireSuccess()
      try device.grant(document, to: third.account).requireSuccess()
      let folder = try device.creation("folder")
      body = device.batchBody(
        files: [
          folder, try device.record(document).change { $0.name = .init() },
          try device.creation("link", target: offered),
        ],
        shares: [
          ShareChange.grant(folder.file.id, to: try friend.account, mode: "write"),
          ShareChange(
            expect: "pending",
            ShareStatement(file: document, account: try third.account, state: .revoked)),
        ])
    }

    func send(_ body: JSONValue) throws -> Answer { try device.post("/v1/files", body) }
    func send(_ text: String) throws -> Answer {
      try device.send(device.sign("POST", "/v1/files", body: Array(text.utf8)))
    }
  }

  private static let wrongText: [JSONValue?] = [
    nil, .null, .bool(true), .integer(0), .integer(-1), .array([]), .object([]), "", "x",
    .array(["x"]), .object([.init("id", "x")]),
  ]

  /// Paths, with wrong values in addition to those that are wrong for every text.
  private static let texts: [(path: String, more: [JSONValue])] = [
    ("$.author", ["AAAA", "AAAA AAAA"]),
    ("$.files[0].file.id", notIdentifiers), ("$.files[0].file.owner", notIdentifiers),
    ("$.files[0].file.parent", notIdentifiers), ("$.files[2].file.target", notIdentifiers),
    ("$.files[1].expect.parent", notIdentifiers), ("$.files[1].expect.hmac", ["AA=="]),
    ("$.files[0].file.type", ["Folder", "file", "folder "]),
    ("$.files[0].file.name.ciphertext", ["AB==", "A", "AA", "AA= =", "_-8="]),
    ("$.files[0].file.name.hmac", ["AA=="]), ("$.files[0].file.key", ["AB=="]),
    ("$.files[0].signature", ["AA=="]), ("$.files[0].expect", ["New", "old"]),
    ("$.shares[0].expect", ["New", "granted"]), ("$.shares[0].signature", ["AA=="]),
    ("$.shares[0].share.file", notIdentifiers), ("$.shares[0].share.account", notIdentifiers),
    ("$.shares[0].share.state", ["pending", "accepted"]),
    ("$.shares[0].share.mode", ["Read", "owner"]), ("$.shares[0].share.key", ["AB=="]),
    ("$.shares[1].share.file", notIdentifiers),
  ]

  private static let notIdentifiers: [JSONValue] = [
    "00000000000000000000000000000000", "{00000000-0000-0000-0000-000000000000}",
    "00000000-0000-0000-0000-00000000000g", "00000000-0000-0000-0000-000000000000 ",
    "00000000-0000-0000-00000000-00000000",
  ]

  @Test func `the sample is valid, in every order of its members`() throws {
    let seed = SeededGenerator.seed(of: "order of members")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<3 {
      let sample = try Sample()
      #expect(try sample.send(sample.body.shuffled(using: &random)).status == 200)
    }
  }

  @Test func `every text that is missing, null or something else is named`() throws {
    let seed = SeededGenerator.seed(of: "texts")
    var random = SeededGenerator(seed: seed)
    let sample = try Sample()
    let before = try sample.server.state()
    for (path, more) in Self.texts {
      for value in Self.wrongText + more {
        // An empty expectation is one without its members.
        if path.hasSuffix("expect"), case .object = value { continue }
        let body = sample.body.setting(path, to: value).shuffled(using: &random)
        try expectRefusal(sample.send(body), at: path, "\(path) = \(String(describing: value))")
      }
    }
    #expect(try sample.server.state() == before)
  }

  @Test func `every object, array and flag that is something else is named`() throws {
    let sample = try Sample()
    let before = try sample.server.state()
    let flags: [JSONValue?] = [nil, .null, .integer(0), "false", "", .array([]), .object([])]
    let notObjects: [JSONValue?] = [.null, .bool(true), .integer(1), "x", .array([])]
    let notArrays: [JSONValue?] = [.null, .bool(false), .integer(0), "x", .object([])]
    for value in flags {
      let body = sample.body.setting("$.files[0].file.deleted", to: value)
      try expectRefusal(sample.send(body), at: "$.files[0].file.deleted", "\(value as Any)")
    }
    for path in ["$.files[0].file", "$.files[0].file.name", "$.shares[0].share"] {
      for value in notObjects + [nil] {
        let body = sample.body.setting(path, to: value)
        try expectRefusal(sample.send(body), at: path, "\(path) = \(value as Any)")
      }
    }
    for path in ["$.files[0]", "$.files[2]", "$.shares[1]"] {
      for value in notObjects {
        let body = sample.body.setting(path, to: value)
        try expectRefusal(sample.send(body), at: path, "\(path) = \(value as Any)")
      }
    }
    for path in ["$.files", "$.shares"] {
      for value in notArrays {
        let body = sample.body.setting(path, to: value)
        try expectRefusal(sample.send(body), at: path, "\(path) = \(value as Any)")
      }
    }
    #expect(try sample.server.state() == before)
  }

  @Test func `members that nobody reads are refused wherever signatures reach`() throws {
    let sample = try Sample()
    for place in [
      "$.files[0]", "$.files[0].file", "$.files[0].file.name", "$.files[1].expect",
      "$.shares[0]", "$.shares[0].share", "$.shares[1].share",
    ] {
      for name in ["extra", "ID", "version", "__proto__"] {
        let body = sample.body.setting("\(place).\(name)", to: .integer(1))
        try expectRefusal(sample.send(body), at: "\(place).\(name)", place)
      }
    }
    for (place, name) in [
      ("$.files[0].file", "target"), ("$.shares[1].share", "mode"), ("$.shares[1].share", "key"),
    ] {
      let body = sample.body.setting("\(place).\(name)", to: "AA==")
      try expectRefusal(sample.send(body), at: "\(place).\(name)", place)
    }
  }

  @Test func `all broken places are told at once`() throws {
    let sample = try Sample()
    let paths = ["$.files[0].file.id", "$.files[2].signature", "$.shares[1].share.account"]
    let body = paths.reduce(sample.body) { body, path in body.setting(path, to: .null) }
    let answer = try sample.send(body)
    #expect(try answer.json["errors"].array?.map { $0["path"].string } == paths)
  }

  @Test(arguments: [
    "{}", #"{"author":1}"#, "[]", "null", "1", #""x""#, "", " ", "{", "}", #"{"author":"#,
    #"{"files":[}"#, "\u{FEFF}{}", "{} {}", "{}x", #"{"a":NaN}"#, #"{"a":Infinity}"#,
    #"{"a":-}"#, #"{"a":01}"#, #"{"a":1e999}"#, #"{"a":99999999999999999999}"#, #"{'a':1}"#,
    #"{"a":"\ud800"}"#, #"{"a":"\u0000"}"#, #"{"a":tru}"#, "{\"a\":\"\u{1}\"}",
  ])
  func `a body that is no batch is refused`(text: String) throws {
    let server = try TestServer()
    let device = try server.register()
    let before = try server.state()
    let answer = try device.send(device.sign("POST", "/v1/files", body: Array(text.utf8)))
    #expect(answer.status == 400)
    #expect(try answer.problem == "body_invalid")
    #expect(try server.state() == before)
  }

  @Test func `bytes that are no text are refused`() throws {
    let server = try TestServer()
    let device = try server.register()
    for bytes: [UInt8] in [
      [0], [0xFF], [0xC0, 0x80], Array("{\"author\":\"".utf8) + [0xED, 0xA0, 0x80],
      Array("{}".utf8) + [0],
    ] {
      let answer = try device.send(device.sign("POST", "/v1/files", body: bytes))
      #expect(try answer.problem == "body_invalid")
    }
  }

  @Test func `a batch of nothing is refused`() throws {
    let sample = try Sample()
    for body in [
      sample.body.setting("$.files", to: nil).setting("$.shares", to: nil),
      sample.body.setting("$.files", to: .array([])).setting("$.shares", to: .array([])),
    ] {
      try expectRefusal(sample.send(body), at: "$", "nothing")
    }
  }

  @Test func `numbers that are none, and members told twice, change nothing`() throws {
    let sample = try Sample()
    let before = try sample.server.state()
    let text = String(decoding: sample.body.encoded(), as: UTF8.self)
    for number in ["NaN", "-Infinity", "1e999", "0.0", "-0", "0x0", "1E400", "+1", ".5"] {
      let answer = try sample.send(
        text.replacing("\"deleted\":false", with: "\"deleted\":\(number)"))
      #expect(answer.status == 400, "\(number)")
    }
    for twice in [
      text.replacing("\"deleted\":false", with: "\"deleted\":false,\"deleted\":false"),
      text.replacing("\"deleted\":false", with: "\"deleted\":false,\"delete\\u0064\":true"),
      text.replacing("\"expect\":\"new\"", with: "\"expect\":\"new\",\"expect\":\"new\""),
      "{\"author\":\"\"," + text.dropFirst(),
    ] {
      #expect(try sample.send(twice).problem == "body_invalid")
    }
    #expect(try sample.server.state() == before)
  }

  @Test(arguments: ["[", "{\"a\":"])
  func `deep nesting is refused, wherever it stands`(opening: String) throws {
    let sample = try Sample()
    let closing = opening == "[" ? "]" : "}"
    let text = String(decoding: sample.body.encoded(), as: UTF8.self)
    for depth in [65, 1000, 50_000] {
      let deep =
        String(repeating: opening, count: depth) + "1" + String(repeating: closing, count: depth)
      #expect(try sample.send(deep).problem == "body_invalid")
      let inside = text.replacing("\"deleted\":false", with: "\"deleted\":\(deep)")
      #expect(try sample.send(inside).problem == "body_invalid")
    }
  }

  @Test func `huge arrays are refused before they are read`() throws {
    let sample = try Sample()
    let author = Base64.standard.encode(sample.device.key.publicKey.bytes)
    for (count, problem) in [
      (500, "body_invalid"), (501, "batch_too_large"), (100_000, "batch_too_large"),
      (200_000, "body_invalid"),
    ] {
      let zeros = Array(repeating: "0", count: count).joined(separator: ",")
      let answer = try sample.send("{\"author\":\"\(author)\",\"files\":[\(zeros)]}")
      #expect(answer.status == 400)
      #expect(try answer.problem == problem)
    }
  }

  // MARK: Who signs

  @Test func `the author is the key that asks`() throws {
    let sample = try Sample()
    let other = Ed25519PrivateKey()
    let body = sample.body.setting(
      "$.author", to: .string(Base64.standard.encode(other.publicKey.bytes)))
    try expectRefusal(sample.send(body), at: "$.author", "another's key")
  }

  @Test func `a signature is the author's, over the canonical text of this statement`() throws {
    let server = try TestServer()
    let device = try server.register()
    let before = try server.state()
    let creation = try device.creation()
    let statement = creation.file
    let spaced = String(decoding: statement.signedBytes, as: UTF8.self)
      .replacing(":", with: ": ")
    var renamed = statement
    renamed.name = .init()
    let forgeries = [
      Ed25519PrivateKey().signature(for: statement.signedBytes),
      device.key.signature(for: Array(spaced.utf8)),
      device.key.signature(for: JSONValue.object([.init("file", statement.json)]).encoded()),
      device.key.signature(for: statement.json.canonical()),
      device.key.signature(for: renamed.signedBytes), [UInt8](repeating: 0, count: 64),
    ]
    for signature in forgeries {
      let change = FileChange(statement, signature: signature)
      #expect(try device.batch(files: [change]).rules == ["signature_invalid"])
    }
    #expect(try server.state() == before)
    #expect(try device.batch(files: [creation]).status == 200)
  }

  @Test func `a UUID may be written in upper case, and is signed in lower case`() throws {
    let server = try TestServer()
    let device = try server.register()
    let creation = try device.creation()
    let id = creation.file.id.description.uppercased()
    let body = device.batchBody(files: [creation])
      .setting("$.files[0].file.id", to: .string(id))
    let answer = try device.post("/v1/files", body)
    #expect(answer.status == 200)
    #expect(try answer.json["files"][0]["id"].string == creation.file.id.description)
  }

  // MARK: Checking

  private func expectRefusal(_ answer: Answer, at path: String, _ comment: String) throws {
    #expect(answer.status == 400, "\(comment)")
    #expect(try answer.problem == "body_invalid", "\(comment)")
    #expect(try answer.json["path"].string == path, "\(comment)")
  }
}
