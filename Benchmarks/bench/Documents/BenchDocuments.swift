import Base
import Crypto
import JSON
import SeededRandom

/// An account with documents of versions, all by one device.
final class BenchDocuments {
  static let bodyByteCount = 100
  static let batchCount = 500
  private static let secret = Base64.standard.encode([7])
  private static let fields = [("Content-Type", "application/json")]

  private let account: TreeAccount
  /// The device's key, as JSON has it.
  private let author: String
  private let seed: UInt64
  private var random: SeededGenerator
  /// Of each document the counter of its current version.
  private var counters: [Int64] = []
  private(set) var counter: Int64 = 0

  init(_ client: TreeClient, random: inout SeededGenerator) throws(BenchError) {
    account = try TreeAccount(client, fileCount: 0, random: &random)
    author = Base64.standard.encode(account.key.publicKey.bytes)
    seed = random.next()
    self.random = SeededGenerator(seed: random.next())
  }

  var documentCount: Int { counters.count }

  /// Pushes versions of new documents. Returns the time that it took.
  func create(_ count: Int, _ client: TreeClient) throws(BenchError) -> UInt64 {
    try push(counters.count..<(counters.count + count), client)
  }

  /// Pushes a version of each document that merges the one before.
  func editAll(_ client: TreeClient) throws(BenchError) {
    for start in stride(from: 0, to: counters.count, by: Self.batchCount) {
      _ = try push(start..<min(start + Self.batchCount, counters.count), client)
    }
  }

  private func push(_ documents: Range<Int>, _ client: TreeClient) throws(BenchError) -> UInt64 {
    let versions = documents.map { signed($0) }
    let body = "{\"versions\":[\(versions.joined(separator: ","))]}"
    let answer = try client.send(
      account.request("POST", "/v1/documents", Array(body.utf8), fields: Self.fields))
    let json = try answer.json()
    guard answer.status == 200, json["stored"].integer == Int64(documents.count) else {
      throw .server("not pushed:\n\(answer.head)")
    }
    return answer.nanoseconds
  }

  /// The next version of a document. The members are in the order of RFC 8785, and none of their texts needs an escape.
  private func signed(_ document: Int) -> String {
    var clock = ""
    if document < counters.count {
      clock = "\"\(author)\":\(counters[document])"
    } else {
      counters.append(0)
    }
    counter += 1
    counters[document] = counter
    let body = Base64.standard.encode(random.bytes(count: Self.bodyByteCount))
    let id = Identifier(high: seed, low: UInt64(document))
    let version =
      "{\"author\":\"\(author)\",\"body\":\"\(body)\",\"clock\":{\(clock)},\"counter\":\(counter),"
      + "\"created\":1782000000,\"deleted\":false,\"document\":\"\(id)\",\"secret\":\"\(Self.secret)\"}"
    let signature = account.key.signature(for: Array("{\"version\":\(version)}".utf8))
    return "{\"signature\":\"\(Base64.standard.encode(signature))\",\"version\":\(version)}"
  }

  /// Pulls everything above a counter, page by page. `seen` gets the time of each page. Returns the number of versions.
  func pull(
    after counter: Int64, _ client: TreeClient, page seen: (UInt64) -> Void
  ) throws(BenchError) -> Int {
    let clock = counter == 0 ? "" : "\"\(author)\":\(counter)"
    var (count, cursor) = (0, "null")
    while true {
      let body = "{\"clock\":{\(clock)},\"cursor\":\(cursor),\"limit\":\(Self.batchCount)}"
      let answer = try client.send(
        account.request("POST", "/v1/documents/pull", Array(body.utf8), fields: Self.fields))
      let json = try answer.json()
      guard answer.status == 200, let versions = json["versions"].array else {
        throw .server("no page:\n\(answer.head)")
      }
      seen(answer.nanoseconds)
      count += versions.count
      guard let next = json["cursor"].string else { return count }
      cursor = "\"\(next)\""
    }
  }
}
