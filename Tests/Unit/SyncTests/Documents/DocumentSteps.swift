import Base
import Crypto
import JSON
import Requests
import TestDevices

/// A version as a device makes it, before it signs it.
struct MadeVersion {
  var document: Identifier
  var author: [UInt8]
  var counter: Int64
  var clock: [[UInt8]: Int64]
  /// Nil for a deletion.
  var body: [UInt8]?
  /// The other accounts that it names.
  var receivers: [Identifier] = []
  var blobs: [Identifier] = []

  var statement: JSONValue {
    var members: [JSONValue.Member] = [
      .init("document", .string(document.description)), .init("author", .base64(author)),
      .init("counter", .integer(counter)), .init("created", .integer(1_780_000_000)),
      .init(
        "clock",
        .object(clock.map { .init(Base64.standard.encode($0.key), .integer($0.value)) })),
      .init("deleted", .bool(body == nil)),
    ]
    if let body {
      members += [.init("secret", .base64([7])), .init("body", .base64(body))]
    }
    if !receivers.isEmpty {
      members.append(.init("to", .array(receivers.map { .string($0.description) })))
    }
    if !blobs.isEmpty {
      members.append(.init("blobs", .array(blobs.map { .string($0.description) })))
    }
    return .object(members)
  }

  func signature(by key: Ed25519PrivateKey) -> [UInt8] {
    key.signature(for: JSONValue.object([.init("version", statement)]).canonical())
  }

  func signed(by key: Ed25519PrivateKey) -> JSONValue {
    ["version": statement, "signature": .base64(signature(by: key))]
  }
}

/// A version as it comes with a pull or a list.
struct SeenDocumentVersion: Hashable {
  let document: Identifier
  let author: [UInt8]
  let counter: Int64
  let clock: [[UInt8]: Int64]
  let body: [UInt8]?
  /// The account that it came from, if it is another.
  let account: Identifier?

  init?(_ json: JSON) {
    let version = json["version"]
    guard let document = version["document"].string.flatMap(Identifier.init),
      let author = version["author"].base64, let counter = version["counter"].integer,
      let deleted = version["deleted"].bool
    else { return nil }
    self.document = document
    self.author = author
    self.counter = counter
    account = json["account"].string.flatMap(Identifier.init)
    body = deleted ? nil : version["body"].base64
    clock = Self.clock(version["clock"])
  }

  static func clock(_ json: JSON) -> [[UInt8]: Int64] {
    var clock: [[UInt8]: Int64] = [:]
    for (name, value) in json.members ?? [] {
      clock[Base64.standard.decode(name) ?? []] = value.integer
    }
    return clock
  }
}

extension TestDevice {
  var publicKey: [UInt8] { key.publicKey.bytes }

  func version(
    _ document: Identifier, _ counter: Int64, covering clock: [[UInt8]: Int64] = [:],
    _ body: [UInt8]? = [1, 2, 3], to receivers: [Identifier] = [],
    naming blobs: [Identifier] = []
  ) -> MadeVersion {
    MadeVersion(
      document: document, author: publicKey, counter: counter, clock: clock, body: body,
      receivers: receivers, blobs: blobs)
  }

  /// Uploads a blob.
  func putBlob(
    _ content: [UInt8], _ id: Identifier = Random.identifier(), ifMatch: String? = "\"0\""
  ) throws -> (id: Identifier, answer: Answer) {
    let headers = ifMatch.map { [("If-Match", $0)] } ?? []
    return (id, try send(sign("PUT", "/v1/blobs/\(id)", body: content, headers: headers)))
  }

  func getBlob(_ id: Identifier, headers: [(String, String)] = []) throws -> Answer {
    try get("/v1/blobs/\(id)", headers: headers)
  }

  func push(_ versions: [MadeVersion]) throws -> Answer {
    try push(versions.map { $0.signed(by: key) })
  }

  func push(_ versions: MadeVersion...) throws -> Answer { try push(versions) }

  func push(_ versions: [JSONValue]) throws -> Answer {
    try post("/v1/documents", ["versions": .array(versions)])
  }

  func pullPage(
    _ clock: [[UInt8]: Int64] = [:], cursor: String? = nil, limit: Int = 500
  ) throws -> Answer {
    try post(
      "/v1/documents/pull",
      [
        "clock": .object(
          clock.map { .init(Base64.standard.encode($0.key), .integer($0.value)) }),
        "cursor": cursor.map { .string($0) } ?? .null, "limit": .integer(Int64(limit)),
      ])
  }

  /// Everything that a clock lacks, page by page, and the clock after it.
  func pull(
    _ clock: [[UInt8]: Int64] = [:], limit: Int = 500
  ) throws -> (versions: [SeenDocumentVersion], clock: [[UInt8]: Int64], counter: Int64) {
    var (versions, known, cursor) = ([SeenDocumentVersion](), clock, String?.none)
    while true {
      let answer = try pullPage(clock, cursor: cursor, limit: limit)
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
      let json = try answer.json
      versions += (json["versions"].array ?? []).compactMap { SeenDocumentVersion($0) }
      known.merge(SeenDocumentVersion.clock(json["clock"])) { max($0, $1) }
      cursor = json["cursor"].string
      guard json["more"].bool == true else {
        return (versions, known, json["counter"].integer ?? -1)
      }
    }
  }

  /// The bodies of a document's current versions, in the order of a pull.
  func bodies(of document: Identifier) throws -> [[UInt8]?] {
    try pull().versions.filter { $0.document == document }.map(\.body)
  }

  /// The rules that a refused push names, in order.
  func rules(_ answer: Answer) throws -> [String] {
    guard answer.status == 422, try answer.problem == "versions_refused" else {
      throw UnexpectedAnswer(answer)
    }
    return (try answer.json["failures"].array ?? []).compactMap { $0["rule"].string }
  }

  /// The bodies of what was replaced and is kept of a document.
  func replaced(of document: Identifier) throws -> [[UInt8]?] {
    let answer = try get("/v1/documents/\(document)/versions")
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
    return (try answer.json["replaced"].array ?? []).compactMap {
      SeenDocumentVersion($0)
    }.map(\.body)
  }
}

extension TestServer {
  /// Devices of one account.
  func devices(_ count: Int) throws -> [TestDevice] {
    let first = try register()
    return try [first]
      + (1..<count).map { _ in
        let next = device(root: first.root)
        let answer = try first.admit(next)
        guard answer.status == 201 else { throw UnexpectedAnswer(answer) }
        return next
      }
  }
}
