import Base
import Crypto
import HTTPSignatures
import SeededRandom

/// A request that costs its sender little, and the bound of its cost to the server.
struct WorstAttack: Sendable {
  /// The name for programs.
  let id: String
  /// The name for people: "beside …".
  let name: String
  let bound: Bound
  /// Whether the request is never finished, so that its connection stays open.
  var hangs = false
  /// Makes a list of one request, for a number that was not used before.
  let request: @Sendable (Int) -> Requests

  enum Bound { case processor, lock, memory }

  static func all(
    _ store: TreeStore, random: inout SeededGenerator
  ) throws(BenchError) -> [WorstAttack] {
    let client = try TreeClient(port: store.server.port)
    let free = try TreeAccount(client, fileCount: 0, random: &random)
    let nobody = Stranger(random: &random)
    return [
      unknownToken(nobody), unknownKey(nobody), unknownKeyUpload(nobody), refusedBatch(free),
      try rewoundCursor(free, client), halfSentBodies(free),
      try WorstShares(client, random: &random).moves(random: &random),
      try WorstShares(client, random: &random).grants(random: &random),
    ]
  }

  // MARK: nobody

  /// Five hundred changes in 300 kB, each with a signature that a server might check.
  private static func unknownToken(_ nobody: Stranger) -> WorstAttack {
    let body = nobody.batch
    return WorstAttack(
      id: "unknown_token", name: "batches of 500 under unknown tokens", bound: .processor
    ) { number in
      var requests = Requests()
      requests.append(
        "POST", "/v1/files", host: SyncClients.authority,
        fields: [
          ("Content-Type", "application/json"), ("Authorization", "Bearer x\(number)"),
        ], body: body)
      return requests
    }
  }

  private static func unknownKey(_ nobody: Stranger) -> WorstAttack {
    WorstAttack(
      id: "unknown_key", name: "batches of 500 signed by an unknown key", bound: .processor
    ) { _ in nobody.request("POST", "/v1/files", nobody.batch, "application/json") }
  }

  private static func unknownKeyUpload(_ nobody: Stranger) -> WorstAttack {
    let content = [UInt8](repeating: 7, count: 64 << 10)
    return WorstAttack(
      id: "unknown_upload", name: "uploads of 64 KiB signed by an unknown key", bound: .processor
    ) { _ in
      nobody.request(
        "PUT", "/v1/files/\(nobody.root)/content", content, "application/octet-stream")
    }
  }

  // MARK: a free account

  /// Every change of the batch names a parent that does not exist.
  private static func refusedBatch(_ account: TreeAccount) -> WorstAttack {
    let parent = Identifier(high: 7, low: 7)
    let changes = (0..<500).map { index in
      TreeRecord(
        id: Identifier(high: 9, low: UInt64(index)), owner: account.id, parent: parent,
        isFolder: false, nameSeed: [UInt8(index & 0xFF), UInt8(index >> 8)]
      ).change(from: nil, signedBy: account.key)
    }
    return WorstAttack(
      id: "refused_batch", name: "refused batches of 500 by a free account", bound: .lock
    ) { _ in account.change(changes) }
  }

  /// The first cursor of a tree of 900 records, again and again.
  private static func rewoundCursor(
    _ account: TreeAccount, _ client: TreeClient
  ) throws(BenchError) -> WorstAttack {
    let first = try client.pull(account, since: nil, limit: 1)
    for start in [0, 450] {
      try client.perform(
        account.change(
          (start..<(start + 450)).map { index in
            TreeRecord(
              id: Identifier(high: 11, low: UInt64(index)), owner: account.id,
              parent: account.root, isFolder: false,
              nameSeed: [11, UInt8(index & 0xFF), UInt8(index >> 8)]
            ).change(from: nil, signedBy: account.key)
          }))
    }
    return WorstAttack(
      id: "rewound_cursor", name: "full pulls of 900 records by a free account", bound: .lock
    ) { _ in account.updates(since: first.cursor, limit: 1000) }
  }

  /// A batch that is announced with its full length and never ends.
  private static func halfSentBodies(_ account: TreeAccount) -> WorstAttack {
    let body = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
    return WorstAttack(
      id: "half_sent", name: "bodies of 1 MiB that never end", bound: .memory, hangs: true
    ) { _ in account.request("POST", "/v1/files", body).withoutLastByte() }
  }
}

/// A client with a key that belongs to no account.
private struct Stranger: Sendable {
  let root: Identifier
  let batch: [UInt8]
  private let signer: RequestSigner

  init(random: inout SeededGenerator) {
    let key = Ed25519PrivateKey(seed: Secret(random.bytes(count: 32)))!
    let root = Identifier(high: random.next(), low: random.next())
    let account = Identifier(high: random.next(), low: random.next())
    let changes = (0..<500).map { index in
      TreeRecord(
        id: Identifier(high: 5, low: UInt64(index)), owner: account, parent: root, isFolder: false,
        nameSeed: [UInt8(index & 0xFF), UInt8(index >> 8)]
      ).change(from: nil, signedBy: key)
    }
    self.root = root
    batch = TreeRecord.batch(changes, author: key)
    signer = RequestSigner(key: key, authority: SyncClients.authority)
  }

  func request(_ method: String, _ target: String, _ body: [UInt8], _ type: String) -> Requests {
    let signed = signer.headers(
      method: method, target: target, body: body, created: Clock.system.now(),
      nonce: Random.bytes(16))
    var requests = Requests()
    requests.append(
      method, target, host: SyncClients.authority,
      fields: [("Content-Type", type), ("If-Match", "*")] + signed, body: body)
    return requests
  }
}
