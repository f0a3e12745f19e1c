import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage

/// `POST /v1/logs/{id}/messages`: appends messages. Repeated, it appends nothing, so its nonce is not recorded.
struct PostMessages: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/logs/{id}/messages"
  let bodyByteCountMax = LogBatch.bodyByteCountMax

  typealias Body = (log: Identifier, batch: LogBatch)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    request.credentials.meter.charge(Price.json(body.count), for: .json)
    return (log: try request.log(), batch: try LogBatch(body))
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Appended {
    var locked = try LockedCaller(transaction, request.credentials, now: now) { caller in
      let owner = try LogShare.writableOwner(transaction, body.log, for: caller)
      return owner.map { [$0] } ?? []
    }
    let appended = try LogWrite(
      host: host, transaction: transaction, account: locked.caller.account, now: now
    ).append(body.batch, to: body.log, &locked.owners)
    try BudgetOfLog.requireReadable(body.batch.messages, of: body.log, transaction)
    return appended
  }

  /// Counted once the write is durable, because a transaction may run more than once.
  func respond(_ appended: Appended, to input: AccountInput<Body>) -> Response {
    LogMetrics.appended.add(Int64(appended.addedCount))
    host.transfers.received(appended.addedByteCount, of: appended.owner)
    return .json(200, appended.json)
  }
}

/// `GET /v1/logs/{id}/messages?cursor=<text>&limit=<n>`: messages in the order of arrival.
/// `GET /v1/logs/{id}/messages?since=<timestamp>&limit=<n>`: messages above a timestamp, in the order of timestamps.
struct GetMessages: ContentsRead {
  let host: ProtocolHost
  let pattern = "/v1/logs/{id}/messages"
  let isLong = true

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> SentContents {
    let caller = try Caller(reader, request.credentials, now: now)
    let (question, limit) = try LogPage.Question.parse(request.head.query)
    let log = try SeenLog.find(reader, request.log(), by: caller.account).log
    let page = try LogPage.read(reader, log, question, limit: limit)
    return SentContents(of: log.owner, page.encoded())
  }
}

/// `GET /v1/logs/{id}/trie?path=<digits>`: the nodes right below a node of the whole trie, or below the root.
struct GetTrie: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/logs/{id}/trie"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    let text = queryFields(request.head.query).first { $0.name == "path" }?.value ?? ""
    guard let path = TriePath(text) else { throw LogRefusal.pathInvalid }
    let log = try SeenLog.find(reader, request.log(), by: caller.account).log
    var trie = LogTrie.open(log.epoch, reader)
    let children = try trie.children(of: path)
    return [
      "log": .string(log.id.description), "epoch": .string(log.epoch.description),
      "path": .string(path.text),
      "children": .object(
        children.map { .init(String($0.digit), .integer(Int64($0.hash))) }),
    ]
  }
}
