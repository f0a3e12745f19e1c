import Base
import Crypto
import HTTPSignatures

/// Accounts with a session and a document each. Requests with a session can be prepared once and sent many times.
struct ContentClients: Sendable {
  struct Client: Sendable {
    let token: String
    let document: Identifier

    var target: String { "/v1/files/\(document)/content" }
  }

  let all: [Client]

  /// Opens the accounts on a server that has none. `database` is its `sync.db`.
  init(
    _ count: Int, on server: ServerProcess, _ database: String, _ workspace: Workspace,
    _ load: Load,
    seed: UInt64
  ) throws(BenchError) {
    let clients = SyncClients(accounts: count, documentsEach: 1, seed: seed)
    try load.deliver(clients.accountRequests(now: .now), to: server)
    let owners = try workspace.identifiers(database, "root_id", "id", of: "accounts")
    try load.deliver(clients.documentRequests(owners: owners, now: .now), to: server)
    let connection = try TreeClient(port: server.port)
    var all: [Client] = []
    for index in 0..<count {
      let answer = try connection.send(clients.session(of: index, now: .now))
      guard answer.status == 201, let token = answer.text("token") else {
        throw .server("no session:\n\(answer.head)")
      }
      all.append(Client(token: token, document: clients.document(of: index)))
    }
    self.all = all
  }
}

extension ContentClients.Client {
  /// The head of a request of this client's, for a body of that length.
  func head(
    _ method: String, _ target: String, _ fields: [(String, String)] = [], byteCount: Int? = nil
  ) -> [UInt8] {
    Array(
      ContentRequest.head(
        method, target, host: SyncClients.authority,
        [("Authorization", "Bearer \(token)")] + fields, byteCount: byteCount
      ).utf8)
  }

  /// A download of the document.
  var get: ContentRequest { ContentRequest(head: head("GET", target), body: []) }

  /// A write of any version, with the digest that the server compares.
  func put(_ body: [UInt8], digest: String) -> ContentRequest {
    ContentRequest(
      head: head(
        "PUT", target,
        [
          ("Content-Type", "application/octet-stream"), ("If-Match", "*"),
          ("Content-Digest", digest),
        ],
        byteCount: body.count), body: body)
  }

  static func digest(_ body: [UInt8]) -> String {
    "sha-256=:\(Base64.standard.encode(SHA256.hash(body))):"
  }
}

/// A request whose head and body are sent one after the other, so that many share one body.
struct ContentRequest: Sendable {
  let head: [UInt8]
  let body: [UInt8]

  static func head(
    _ method: String, _ target: String, host: String, _ fields: [(String, String)] = [],
    byteCount: Int? = nil
  ) -> String {
    let length = byteCount.map { [("Content-Length", "\($0)")] } ?? []
    return (fields + length).reduce("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n") {
      "\($0)\($1.0): \($1.1)\r\n"
    } + "\r\n"
  }
}
