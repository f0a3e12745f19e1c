import Base
import JSON
import SeededRandom

/// A log of an account of its own, which is a budget of Actual's, too. It is filled by the native API.
final class BenchLog {
  static let host = "budget.bench"
  static let contentByteCount = 60
  /// What a message takes in an answer to a client of Actual: two heads, the timestamp, the content.
  static let envelopeByteCount = 2 + 2 + 46 + contentByteCount
  private static let filledAtOnce = 5000
  private static let node = "fedcba9876543210"
  /// A hundred a minute.
  private static let spacingMilliseconds: Int64 = 600

  let account: TreeAccount
  private let token: String
  private let file: Identifier
  private let group: String
  private let log: String
  private let epoch: String
  /// The time of the first message. All are in the past.
  private let start: Instant
  private(set) var messageCount: Int
  private let filledCount: Int
  private var random: SeededGenerator

  /// `messageCount` begin the log, and `appending` follow.
  init(
    _ store: TreeStore, _ client: TreeClient, messageCount: Int, appending: Int,
    random: inout SeededGenerator
  ) throws(BenchError) {
    account = try TreeAccount(client, fileCount: 0, random: &random)
    file = Identifier(high: random.next(), low: random.next())
    self.random = SeededGenerator(seed: random.next())
    let made = try store.coffer(["app-password", "create", account.id.description, "--json"])
    guard let password = (try? JSON.parse(Array(made.utf8)))?["password"].string else {
      throw .command("no app password: \(made)")
    }
    let logIn = try client.send(
      Self.post(
        "/account/login", [("Content-Type", "application/json")],
        Array("{\"loginMethod\":\"password\",\"password\":\"\(password)\"}".utf8)))
    guard let token = (try? logIn.json())?["data"]["token"].string else {
      throw .server("no log-in:\n\(logIn.head)")
    }
    let upload = try client.send(
      Self.post(
        "/sync/upload-user-file",
        [
          ("X-ACTUAL-TOKEN", token), ("X-ACTUAL-FORMAT", "2"),
          ("X-ACTUAL-FILE-ID", file.description), ("X-ACTUAL-NAME", "bench"),
          ("Content-Type", "application/encrypted-file"),
        ], [1, 2, 3]))
    guard let group = upload.text("groupId") else { throw .server("no budget:\n\(upload.head)") }
    let listed = try client.send(account.request("GET", "/v1/logs", [])).json()["logs"][0]
    guard let log = listed["id"].string, let epoch = listed["epoch"].string else {
      throw .server("the budget has no log")
    }
    (self.token, self.group, self.log, self.epoch) = (token, group, log, epoch)
    let span = Int64(messageCount + appending) * Self.spacingMilliseconds
    start = Clock.system.now() - .milliseconds(span)
    (filledCount, self.messageCount) = (messageCount, messageCount)
  }

  private static func post(
    _ target: String, _ fields: [(String, String)], _ body: [UInt8]
  ) -> Requests {
    var requests = Requests()
    requests.append("POST", target, host: host, fields: fields, body: body)
    return requests
  }

  /// The timestamp of a message, which is later than that of the one before.
  private func stamp(_ index: Int) -> String {
    let milliseconds = start.milliseconds + Int64(index) * Self.spacingMilliseconds
    let seconds = "\(Instant(seconds: milliseconds / 1000))".dropLast()
    return "\(seconds).\(String(1000 + milliseconds % 1000).dropFirst())Z-0000-\(Self.node)"
  }

  /// What a client of Actual sends besides the timestamp: that it is encrypted, and ciphertext.
  private func content() -> [UInt8] {
    [0x10, 1, 0x1A, UInt8(Self.contentByteCount - 4)]
      + random.bytes(count: Self.contentByteCount - 4)
  }

  /// A request that appends messages after those that there are.
  private func append(_ count: Int) -> Requests {
    let messages = (messageCount..<(messageCount + count)).map { index in
      "{\"t\":\"\(stamp(index))\",\"c\":\"\(Base64.standard.encode(content()))\"}"
    }
    let body = "{\"epoch\":\"\(epoch)\",\"messages\":[\(messages.joined(separator: ","))]}"
    return account.request(
      "POST", "/v1/logs/\(log)/messages", Array(body.utf8),
      fields: [("Content-Type", "application/json")])
  }

  /// Appends messages, and returns the time that it took.
  func append(_ count: Int, _ client: TreeClient) throws(BenchError) -> UInt64 {
    let answer = try client.send(append(count))
    let json = try answer.json()
    guard answer.status == 200, json["added"].integer == Int64(count) else {
      throw .server("not appended:\n\(answer.head)")
    }
    messageCount += count
    return answer.nanoseconds
  }

  func fill(_ client: TreeClient) throws(BenchError) {
    messageCount = 0
    while messageCount < filledCount {
      _ = try append(min(Self.filledAtOnce, filledCount - messageCount), client)
    }
  }

  /// Reads the last `count` messages, with the pruned trie behind them. Returns the time that it took.
  func readLast(_ count: Int, _ client: TreeClient) throws(BenchError) -> UInt64 {
    let answer = try client.send(
      account.request(
        "GET", "/v1/logs/\(log)/messages?limit=\(count)&since=\(stamp(messageCount - count - 1))",
        []))
    let json = try answer.json()
    guard answer.status == 200, json["messages"].array?.count == count, json["trie"].exists else {
      throw .server("no page of \(count):\n\(answer.head)")
    }
    return answer.nanoseconds
  }

  /// A client of Actual's first request for everything.
  func firstPull() -> ContentRequest {
    func field(_ number: UInt8, _ text: String) -> [UInt8] {
      [number << 3 | 2, UInt8(text.utf8.count)] + Array(text.utf8)
    }
    let body =
      field(2, file.description) + field(3, group)
      + field(6, "1970-01-01T00:00:00.000Z-0000-0000000000000000")
    let head = ContentRequest.head(
      "POST", "/sync/sync", host: Self.host,
      [("X-ACTUAL-TOKEN", token), ("Content-Type", "application/actual-sync")],
      byteCount: body.count)
    return ContentRequest(head: Array(head.utf8), body: body)
  }
}
