package import Accounts
package import Base
package import JSON
package import Storage

/// An account's logs in an archive, checked before anything of them is written.
package struct ArrivingLogs: Sendable {
  /// Calls its second argument with each page of a folder, in order.
  package typealias Pages = (_ folder: String, _ each: (JSON) throws -> Void) throws -> Void

  private struct Log: Sendable {
    let id: Identifier
    let name: [UInt8]
    let key: [UInt8]?
    let created: Instant
    let messageCount: Int64
    let byteCount: Int64
    let horizon: LogTimestamp?
    let snapshot: Snapshot?

    init(_ json: JSON) throws(JSONError) {
      id = try json["id"].requireIdentifier()
      name = try json["name"].requireBase64(byteCountMax: NewLog.nameByteCountMax)
      key =
        json["key"].isNull
        ? nil : try json["key"].requireBase64(byteCountMax: NewLog.keyByteCountMax)
      created = Instant(milliseconds: try json["created_ms"].requireInteger())
      horizon = json["horizon"].isNull ? nil : try json["horizon"].requireTimestamp()
      snapshot = json["snapshot"].isNull ? nil : try Snapshot(json["snapshot"])
      messageCount = try json["messages"].requireInteger()
      byteCount = try json["bytes"].requireInteger()
      guard 0...MessageLog.messageCountMax ~= messageCount,
        0...MessageLog.byteCountMax ~= byteCount
      else {
        throw JSONError(
          code: .wrongType, path: json.path, message: "has a size that no epoch can have")
      }
      guard snapshot.map({ 0...messageCount ~= $0.coveredCount }) ?? true else {
        throw JSONError(
          code: .wrongType, path: json["snapshot"].path, message: "covers more than there is")
      }
    }

    var folder: String { "\(LogExport.folder)\(id)/" }
    var snapshotFile: String { "\(LogExport.snapshots)\(id)" }
  }

  private struct Snapshot: Sendable {
    let version: Int64
    let byteCount: Int64
    let coveredCount: Int64

    init(_ json: JSON) throws(JSONError) {
      version = try json["version"].requireInteger()
      byteCount = try json["bytes"].requireInteger()
      coveredCount = try json["messages"].requireInteger()
    }
  }

  private let logs: [Log]
  /// The first message of each log that has one which clients of Actual could not read.
  let unreadable: [Identifier: LogTimestamp]
  /// The latest timestamp of a message or a horizon; nil if there is neither.
  private let latest: LogTimestamp?

  package static let list = LogExport.list
  package static let folder = LogExport.folder
  package static let snapshots = LogExport.snapshots

  package var count: Int64 { Int64(logs.count) }
  var ids: Set<Identifier> { Set(logs.map(\.id)) }
  package var messageCount: Int64 { logs.reduce(0) { $0 + $1.messageCount } }

  /// A timestamp that no append could have had by `now`; nil if there is none.
  package func ahead(of now: Instant) -> LogTimestamp? {
    latest.flatMap { $0.instant > now + LogWrite.timestampAheadMax ? $0 : nil }
  }

  /// When each log was created.
  package var moments: [Instant] { logs.map(\.created) }

  /// Reads the list (nil: no logs) and every message. `snapshots` are the lengths of the files of snapshots by name,
  /// and `sequence` is the number of the account's latest change.
  package init(
    _ list: JSON?, pages: Pages, snapshots: [String: Int64], sequence: Int64
  ) throws {
    logs = try (list?["logs"].requireArray() ?? []).map { json throws(JSONError) in try Log(json) }
    guard logs.count <= MessageLog.countMax, Set(logs.map(\.id)).count == logs.count else {
      throw Self.error("has too many logs, or one twice")
    }
    let known = logs.compactMap { log in log.snapshot.map { (log.snapshotFile, $0.byteCount) } }
    guard Dictionary(uniqueKeysWithValues: known) == snapshots else {
      throw Self.error("has other snapshots than the archive")
    }
    let versions = logs.compactMap(\.snapshot?.version)
    guard Set(versions).count == versions.count, versions.allSatisfy({ 1...max(1, sequence) ~= $0 })
    else { throw Self.error("has a version that the account did not reach, or one twice") }
    var unreadable: [Identifier: LogTimestamp] = [:]
    var latest = logs.compactMap(\.horizon).max()
    for log in logs {
      var stamps: Set<LogTimestamp> = []
      var byteCount: Int64 = 0
      try pages(log.folder) { page in
        for message in try Self.messages(of: page) {
          guard stamps.insert(message.timestamp).inserted else {
            throw Self.error("has a timestamp twice in the log \(log.id)")
          }
          byteCount += message.chargedByteCount
          latest = max(latest ?? message.timestamp, message.timestamp)
          if unreadable[log.id] == nil, !ActualEnvelope.isKept(message.content) {
            unreadable[log.id] = message.timestamp
          }
        }
      }
      guard Int64(stamps.count) == log.messageCount, byteCount == log.byteCount else {
        throw Self.error("has other messages of the log \(log.id) than its list says")
      }
    }
    self.unreadable = unreadable
    self.latest = latest
  }

  private static func error(_ message: String) -> JSONError {
    JSONError(code: .wrongType, path: list, message: message)
  }

  private static func messages(of page: JSON) throws(JSONError) -> [LogMessage] {
    try page["messages"].requireArray().map { json throws(JSONError) in
      LogMessage(
        try json["t"].requireTimestamp(),
        try json["c"].requireBase64(byteCountMax: LogMessage.contentByteCountMax))
    }
  }

  /// Whether a file of the archive is a page of one of the logs.
  package func holds(_ name: String) -> Bool { logs.contains { name.hasPrefix($0.folder) } }

  /// What the account is charged for by them.
  package var weight: UsageWeight {
    UsageWeight(
      recordCount: count,
      contentByteCount: logs.reduce(0) { $0 + $1.byteCount + ($1.snapshot?.byteCount ?? 0) })
  }

  /// Writes the logs, each with a new epoch. `objects` are the snapshots by file. The charge is the caller's part.
  package func insert(
    of account: Identifier, pages: Pages, objects: [String: Identifier], at now: Instant,
    in transaction: Transaction
  ) throws {
    for log in logs {
      let epoch = try MessageLog.insert(
        transaction, log.id, of: account, name: log.name, key: log.key, created: log.created,
        horizon: log.horizon)
      guard let epoch else { throw DatabaseError.constraint("the log \(log.id) exists") }
      var (number, trie) = (Int64(0), MerkleTrie())
      try pages(log.folder) { page in
        let messages = try Self.messages(of: page)
        try LogRows(transaction: transaction, epoch: epoch).insert(messages, after: number)
        try trie.add(messages.lazy.map(\.timestamp))
        number += Int64(messages.count)
      }
      try LogTrie.save(trie, of: epoch, in: transaction)
      try MessageLog.count(transaction, number, byteCount: log.byteCount, in: epoch)
      guard let snapshot = log.snapshot, let object = objects[log.snapshotFile] else { continue }
      try LogSnapshot.insert(
        transaction, object, of: MessageLog.find(transaction, log.id, for: account),
        version: snapshot.version, byteCount: snapshot.byteCount,
        covering: snapshot.coveredCount, now: now)
    }
  }
}

extension JSON {
  func requireIdentifier() throws(JSONError) -> Identifier {
    guard let id = Identifier(try requireString()) else {
      throw JSONError(code: .wrongType, path: path, message: "must be a UUID")
    }
    return id
  }

  fileprivate func requireTimestamp() throws(JSONError) -> LogTimestamp {
    guard let timestamp = LogTimestamp(try requireString()) else {
      throw JSONError(code: .wrongType, path: path, message: "must be a timestamp")
    }
    return timestamp
  }

  fileprivate func requireBase64(byteCountMax: Int) throws(JSONError) -> [UInt8] {
    guard let bytes = Base64.standard.decode(Array(try requireString().utf8)),
      bytes.count <= byteCountMax
    else {
      throw JSONError(
        code: .wrongType, path: path, message: "must be base64 of at most \(byteCountMax) bytes")
    }
    return bytes
  }
}
