import Base
import Crypto
import JSON
import Logs
import Requests
import Storage
import TestDevices

/// A log as a device knows it.
struct KnownLog {
  let id: Identifier
  let epoch: Identifier

  var path: String { "/v1/logs/\(id)" }
}

/// A message as a device sends and reads it.
struct SentMessage: Hashable {
  let t: String
  let c: [UInt8]

  init(_ t: String, _ c: [UInt8] = [1, 2, 3]) { (self.t, self.c) = (t, c) }

  init?(_ json: JSON) {
    guard let t = json["t"].string, let c = json["c"].base64 else { return nil }
    self.init(t, c)
  }

  var json: JSONValue { ["t": .string(t), "c": .base64(c)] }

  var charge: Int64 { Int64(c.count) + 64 }
}

extension TestDevice {
  func createLog(_ id: Identifier = Random.identifier()) throws -> KnownLog {
    let answer = try postLog(id)
    guard answer.status == 201, let epoch = try answer.json["epoch"].string.flatMap(Identifier.init)
    else { throw UnexpectedAnswer(answer) }
    return KnownLog(id: id, epoch: epoch)
  }

  func postLog(_ id: Identifier) throws -> Answer {
    try post("/v1/logs", ["id": .string(id.description), "name": .base64([1, 2, 3])])
  }

  func append(
    _ messages: [SentMessage], to log: KnownLog, epoch: Identifier? = nil
  ) throws -> Answer {
    try post(
      "\(log.path)/messages",
      [
        "epoch": .string((epoch ?? log.epoch).description),
        "messages": .array(messages.map(\.json)),
      ])
  }

  /// All messages in the order of arrival, page by page.
  func messages(of log: KnownLog, limit: Int = 1000) throws -> [SentMessage] {
    var (messages, query) = ([SentMessage](), "limit=\(limit)")
    while true {
      let page = try page(of: log, query)
      messages += page.messages
      guard let cursor = page.json["cursor"].string else { throw UnexpectedPage() }
      guard page.json["more"].bool == true else { return messages }
      query = "limit=\(limit)&cursor=\(cursor)"
    }
  }

  /// All messages above a timestamp, in the order of timestamps, and the trie.
  func messages(
    of log: KnownLog, since: String, limit: Int = 1000
  ) throws -> (messages: [SentMessage], trie: JSON) {
    var (messages, since) = ([SentMessage](), since)
    while true {
      let page = try page(of: log, "limit=\(limit)&since=\(since)")
      messages += page.messages
      guard page.json["more"].bool == true, let last = messages.last else {
        return (messages, page.json["trie"])
      }
      guard !page.json["trie"].exists else { throw UnexpectedPage() }
      since = last.t
    }
  }

  func page(
    of log: KnownLog, _ query: String
  ) throws -> (messages: [SentMessage], json: JSON) {
    let answer = try get("\(log.path)/messages?\(query)")
    guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
    let json = try answer.json
    return ((json["messages"].array ?? []).compactMap { SentMessage($0) }, json)
  }

  func putSnapshot(
    _ content: [UInt8], of log: KnownLog, covering cursor: String, ifMatch: String? = "*"
  ) throws -> Answer {
    try send(
      sign(
        "PUT", "\(log.path)/snapshot?covers=\(cursor)", body: content,
        headers: ifMatch.map { [("If-Match", $0)] } ?? []))
  }

  func remove(_ target: String) throws -> Answer { try send(sign("DELETE", target)) }
}

struct UnexpectedPage: Error {}

extension TestServer {
  /// A timestamp so long after the server's clock, in its text.
  func stamp(
    _ span: Instant.Span = .seconds(0), counter: Int = 0, node: String = "0123456789abcdef"
  ) -> String {
    let milliseconds = (clock.now + span).milliseconds
    let counter = String(counter, radix: 16, uppercase: true)
    return String(
      "\(Instant(seconds: Instant(milliseconds: milliseconds).seconds))".dropLast())
      + ".\(String(1000 + milliseconds % 1000).suffix(3))Z-"
      + String(repeating: "0", count: 4 - counter.count) + counter + "-\(node)"
  }
}
