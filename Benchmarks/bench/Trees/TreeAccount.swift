import Base
import Crypto
import HTTPSignatures
import SeededRandom

/// An account with one device and its tree.
struct TreeAccount: Sendable {
  let key: Ed25519PrivateKey
  let root: Identifier
  let shape: TreeShape
  /// Chosen by the server.
  let id: Identifier
  private let signer: RequestSigner

  init(_ client: TreeClient, fileCount: Int, random: inout SeededGenerator) throws(BenchError) {
    let key = Ed25519PrivateKey(seed: Secret(random.bytes(count: 32)))!
    let root = Identifier(high: random.next(), low: random.next())
    let signer = RequestSigner(key: key, authority: SyncClients.authority)
    self.key = key
    self.root = root
    self.signer = signer
    shape = TreeShape(fileCount: fileCount, seed: random.next())
    let body = Array("{\"root\":\"\(root)\"}".utf8)
    let request = Self.request(signer, "POST", "/v1/accounts", body, Self.json)
    let answer = try client.send(request)
    guard answer.status == 201, let id = Identifier(answer.text("account") ?? "") else {
      throw .server("no account:\n\(answer.head)")
    }
    self.id = id
  }

  /// File `index` as it was first stored.
  func record(_ index: Int) -> TreeRecord {
    let id = shape.id(index)
    return TreeRecord(
      id: id, owner: self.id, parent: shape.parent(index).map(shape.id) ?? root,
      isFolder: shape.isFolder(index), nameSeed: id.bytes)
  }

  func change(_ changes: [String]) -> Requests {
    request("POST", "/v1/files", TreeRecord.batch(changes, author: key), fields: Self.json)
  }

  /// A batch of one change.
  func change(_ record: TreeRecord, from before: TreeRecord?) -> Requests {
    change([record.change(from: before, signedBy: key)])
  }

  func write(_ content: [UInt8], to file: Identifier) -> Requests {
    request(
      "PUT", "/v1/files/\(file)/content", content,
      fields: [("Content-Type", "application/octet-stream"), ("If-Match", "*")])
  }

  func updates(since cursor: String?, limit: Int) -> Requests {
    request("GET", "/v1/updates?" + (cursor.map { "since=\($0)&" } ?? "") + "limit=\(limit)", [])
  }

  func request(
    _ method: String, _ target: String, _ body: [UInt8], fields: [(String, String)] = []
  ) -> Requests {
    Self.request(signer, method, target, body, fields)
  }

  private static let json = [("Content-Type", "application/json")]

  private static func request(
    _ signer: RequestSigner, _ method: String, _ target: String, _ body: [UInt8],
    _ fields: [(String, String)]
  ) -> Requests {
    let signed = signer.headers(
      method: method, target: target, body: body, created: Clock.system.now(),
      nonce: Random.bytes(16))
    var requests = Requests()
    requests.append(
      method, target, host: SyncClients.authority, fields: fields + signed, body: body)
    return requests
  }
}
