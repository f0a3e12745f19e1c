import Base
import Crypto
import Glibc
import SeededRandom

/// An ordinary client that writes a little and reads its account, within its limit on requests.
struct Victim {
  private static let documentCount = 50
  private static let pauseMicroseconds: UInt32 = 25_000

  private let account: TreeAccount
  private let documents: [Identifier]

  init(_ client: TreeClient, random: inout SeededGenerator) throws(BenchError) {
    account = try TreeAccount(client, fileCount: 0, random: &random)
    var documents: [Identifier] = []
    var changes: [String] = []
    for _ in 0..<Self.documentCount {
      let id = Identifier(high: random.next(), low: random.next())
      documents.append(id)
      changes.append(
        TreeRecord(
          id: id, owner: account.id, parent: account.root, isFolder: false, nameSeed: id.bytes
        ).change(from: nil, signedBy: account.key))
    }
    self.documents = documents
    try client.perform(account.change(changes))
  }

  /// The time of each request in nanoseconds, for `seconds` seconds.
  func latencies(_ store: TreeStore, seconds: Int) throws(BenchError) -> [UInt64] {
    let client = try TreeClient(port: store.server.port)
    let end = MonotonicTime.now() + .seconds(Int64(seconds))
    var taken: [UInt64] = []
    while MonotonicTime.now() < end {
      let content = Random.bytes(1000)
      let document = documents[taken.count % documents.count]
      taken.append(try client.perform(account.write(content, to: document)))
      usleep(Self.pauseMicroseconds)
      taken.append(try client.perform(account.request("GET", "/v1/account", [])))
      usleep(Self.pauseMicroseconds)
    }
    return taken
  }
}
