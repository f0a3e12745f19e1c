import Base
import Crypto
import HTTPSignatures
import SeededRandom

/// Accounts, each with a key and documents, and their signed requests.
struct SyncClients {
  /// The authority that every request is signed for, whatever port the server has.
  static let authority = "bench.example"

  private let clients: [Client]

  private static let batchCountMax = 500

  private struct Client {
    let key: Ed25519PrivateKey
    let signer: RequestSigner
    let root: Identifier
    let documents: [Identifier]
  }

  init(_ options: Options) {
    self.init(
      accounts: options.accountCount, documentsEach: options.documentCount, seed: options.seed)
  }

  init(accounts: Int, documentsEach: Int, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    clients = (0..<accounts).map { _ in
      let key = Ed25519PrivateKey(seed: Secret(random.bytes(count: 32)))!
      return Client(
        key: key, signer: RequestSigner(key: key, authority: Self.authority),
        root: random.identifier(),
        documents: (0..<documentsEach).map { _ in random.identifier() })
    }
  }

  var documentCount: Int { clients.map(\.documents.count).reduce(0, +) }

  func accountRequests(now: Instant) -> Requests {
    var requests = Requests()
    for client in clients {
      let body = Array("{\"root\":\"\(client.root)\"}".utf8)
      Self.append(&requests, client, "POST", "/v1/accounts", body, now)
    }
    return requests
  }

  /// Batches that create the documents. `owners` are the server's accounts, by their roots.
  func documentRequests(owners: [Identifier: Identifier], now: Instant) -> Requests {
    var requests = Requests()
    for client in clients {
      guard let owner = owners[client.root] else { continue }
      for start in stride(from: 0, to: client.documents.count, by: Self.batchCountMax) {
        let changes = client.documents[start...].prefix(Self.batchCountMax).map { document in
          TreeRecord(
            id: document, owner: owner, parent: client.root, isFolder: false,
            nameSeed: document.bytes
          ).change(from: nil, signedBy: client.key)
        }
        let body = TreeRecord.batch(changes, author: client.key)
        Self.append(&requests, client, "POST", "/v1/files", body, now)
      }
    }
    return requests
  }

  /// Writes to one account after another, and to each account's documents in turn.
  func writeRequests(_ count: Int, byteCount: Int, now: Instant) -> Requests {
    var requests = Requests()
    requests.reserve(count, byteCountEach: byteCount + 800)
    var random = SeededGenerator(seed: UInt64(count))
    var content = random.bytes(count: byteCount)
    for index in 0..<count {
      let client = clients[index % clients.count]
      let document = client.documents[index / clients.count % client.documents.count]
      content.replaceSubrange(0..<16, with: random.bytes(count: 16))
      Self.appendWrite(&requests, client, document, content, now)
    }
    return requests
  }

  /// Opens a session of one account.
  func session(of account: Int, now: Instant) -> Requests {
    var requests = Requests()
    Self.append(&requests, clients[account], "POST", "/v1/sessions", [], now)
    return requests
  }

  /// The same request of each of these accounts, in their order.
  func requests(
    _ method: String, _ target: String, of accounts: Range<Int>, now: Instant
  ) -> Requests {
    var requests = Requests()
    for client in clients[accounts] {
      Self.append(&requests, client, method, target, [], now, fields: [])
    }
    return requests
  }

  /// The first document of an account.
  func document(of account: Int) -> Identifier { clients[account].documents[0] }

  /// One write of one account, to one of its documents in turn.
  func write(_ content: [UInt8], by account: Int, turn: Int, now: Instant) -> Requests {
    let client = clients[account]
    var requests = Requests()
    Self.appendWrite(
      &requests, client, client.documents[turn % client.documents.count], content, now)
    return requests
  }

  private static func appendWrite(
    _ requests: inout Requests, _ client: Client, _ document: Identifier, _ content: [UInt8],
    _ now: Instant
  ) {
    append(
      &requests, client, "PUT", "/v1/files/\(document)/content", content, now,
      fields: [("Content-Type", "application/octet-stream"), ("If-Match", "*")])
  }

  private static func append(
    _ requests: inout Requests, _ client: Client, _ method: String, _ target: String,
    _ body: [UInt8], _ now: Instant,
    fields: [(String, String)] = [("Content-Type", "application/json")]
  ) {
    let signed = client.signer.headers(
      method: method, target: target, body: body, created: now, nonce: Random.bytes(16))
    requests.append(method, target, host: authority, fields: fields + signed, body: body)
  }
}

extension SeededGenerator {
  fileprivate mutating func identifier() -> Identifier { Identifier(high: next(), low: next()) }
}
