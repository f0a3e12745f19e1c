import Base
import Crypto
import JSON
import Objects
import RawClient
import Sync
import TestDevices
import TestEngines
import Testing

/// A document, a log, a blob or a public link, the content that it is to get, and one upload of it.
final class UploadScene {
  /// How a client names things.
  enum Dialect: Sendable, CustomTestStringConvertible {
    case draft(Int)
    case tus

    static let all: [Dialect] = [.draft(3), .draft(5), .draft(6), .draft(8), .tus]

    var testDescription: String {
      switch self {
      case .draft(let version): "draft \(version)"
      case .tus: "tus"
      }
    }

    var version: (String, String) {
      switch self {
      case .draft(let version): ("Upload-Draft-Interop-Version", "\(version)")
      case .tus: ("Tus-Resumable", "1.0.0")
      }
    }

    func completion(_ isComplete: Bool) -> [(String, String)] {
      switch self {
      case .draft(3): [("Upload-Incomplete", isComplete ? "?0" : "?1")]
      case .draft: [("Upload-Complete", isComplete ? "?1" : "?0")]
      case .tus: []
      }
    }

    var type: String {
      self.testDescription == "tus"
        ? "application/offset+octet-stream" : "application/partial-upload"
    }
  }

  let server: TestServer
  let device: TestDevice
  /// The document, the log, the blob or the link.
  let document: Identifier
  /// Where its content is.
  let path: String
  /// What the creating request says of a snapshot or a link.
  var query = ""
  let content: [UInt8]
  let dialect: Dialect
  private(set) var url = ""

  init(
    _ server: TestServer, _ dialect: Dialect = .draft(8), byteCount: Int = 50_000
  ) throws {
    self.server = server
    self.dialect = dialect
    device = try server.register()
    document = try device.add()
    path = "/v1/files/\(document)/content"
    content = Random.bytes(byteCount)
  }

  /// A log with one message, and a snapshot that it is to get.
  init(
    snapshotOn server: TestServer, _ dialect: Dialect = .draft(8), byteCount: Int = 50_000
  ) throws {
    self.server = server
    self.dialect = dialect
    device = try server.register()
    let log = try device.createLog()
    try device.append([SentMessage(server.stamp())], to: log).requireSuccess()
    document = log.id
    path = "\(log.path)/snapshot"
    content = Random.bytes(byteCount)
    query = "?covers=\(try #require(try device.page(of: log, "").json["cursor"].string))"
  }

  /// A blob that is to be stored.
  convenience init(
    blobOn server: TestServer, _ dialect: Dialect = .draft(8), byteCount: Int = 50_000
  ) throws {
    try self.init(newBelow: "/v1/blobs", server, dialect, byteCount)
  }

  /// A public link that is to be made.
  convenience init(
    linkOn server: TestServer, _ dialect: Dialect = .draft(8), byteCount: Int = 50_000
  ) throws {
    try self.init(newBelow: "/v1/public", server, dialect, byteCount)
  }

  /// A content whose id the device chooses.
  private init(
    newBelow folder: String, _ server: TestServer, _ dialect: Dialect, _ byteCount: Int
  ) throws {
    self.server = server
    self.dialect = dialect
    device = try server.register()
    document = Random.identifier()
    path = "\(folder)/\(document)"
    content = Random.bytes(byteCount)
  }

  /// The log of a snapshot, in the epoch that takes messages now.
  var log: KnownLog {
    get throws {
      let epoch = try device.get("/v1/logs/\(document)").json["epoch"].string
      return KnownLog(id: document, epoch: try #require(epoch.flatMap(Identifier.init)))
    }
  }

  /// The cursor up to which a snapshot has the log's messages.
  var cursor: String { String(query.dropFirst("?covers=".count)) }

  static func digest(_ content: [UInt8]) -> String {
    "sha-256=:\(Base64.standard.encode(SHA256.hash(content))):"
  }

  func creation(
    first: Int = 0, length: String? = nil, digest: String? = nil, ifMatch: String = "\"0\"",
    nonce: [UInt8] = Array(Hex.encode(Random.bytes(16)).utf8), by signer: TestDevice? = nil
  ) -> TestDevice.Signed {
    let isTus = dialect.testDescription == "tus"
    return (signer ?? device).sign(
      isTus ? "POST" : "PUT", path + query,
      body: first == 0 ? nil : Array(content[..<first]),
      headers: [dialect.version] + dialect.completion(false),
      covering: [
        ("If-Match", ifMatch), ("Upload-Length", length ?? "\(content.count)"),
        ("Repr-Digest", digest ?? Self.digest(content)),
      ], nonce: nonce)
  }

  /// Creates the upload, with its first bytes.
  @discardableResult
  func create(
    first: Int = 0, digest: String? = nil, ifMatch: String = "\"0\"", by signer: TestDevice? = nil
  ) throws -> Answer {
    let answer = try device.send(
      creation(first: first, digest: digest, ifMatch: ifMatch, by: signer))
    guard answer.status == 201, let url = answer.header("Location") else {
      throw UnexpectedAnswer(answer)
    }
    self.url = url
    return answer
  }

  func request(
    _ method: String, _ headers: [(String, String)] = [], body: [UInt8] = []
  ) -> TestDevice.Signed {
    TestDevice.Signed(
      method: method, target: url,
      headers: [("Host", TestServer.authority), dialect.version] + headers, body: body)
  }

  func appending(_ range: Range<Int>, completes: Bool? = nil) -> TestDevice.Signed {
    request(
      "PATCH",
      [("Upload-Offset", "\(range.lowerBound)"), ("Content-Type", dialect.type)]
        + dialect.completion(completes ?? (range.upperBound == content.count))
        + (range.isEmpty ? [("Content-Length", "0")] : []),
      body: Array(content[range]))
  }

  func append(_ range: Range<Int>, completes: Bool? = nil) throws -> Answer {
    try device.send(appending(range, completes: completes))
  }

  /// Appends the last part again: a final answer that was lost can be had again.
  func expectAgain(_ last: Answer, _ range: Range<Int>) throws {
    let again = try append(range)
    #expect(again.status == last.status && again.holds(last.body))
    #expect(again.header("ETag") == last.header("ETag"))
  }

  func ask() throws -> Answer { try device.send(request("HEAD")) }

  func offset() throws -> Int? { try ask().header("Upload-Offset").flatMap { Int($0) } }

  /// Begins an append of which only a part arrives.
  func appendPart(_ part: Range<Int>, of range: Range<Int>, to other: TestServer? = nil) throws
    -> RawClient
  {
    let client = try #require(RawClient(connectingTo: (other ?? server).port))
    let request = appending(range)
    let fields = request.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
    client.send(
      "PATCH \(url) HTTP/1.1\r\n\(fields)Content-Length: \(range.count)\r\n\r\n")
    client.send(Array(content[part]))
    return client
  }

  func isStored() throws -> Bool {
    try device.get(path).holds(content)
  }

  /// No room is held, and no byte of the upload is in the store.
  func expectNothingLeft() throws {
    #expect(try server.reservedObjects() == [])
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try server.objects.leftovers(before: .distantFuture) == [])
    #expect(try server.count("garbage") == 0)
  }
}
