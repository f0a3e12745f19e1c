import Accounts
import Archive
import Base
import JSON
import Requests
import Storage

/// Writes an account's logs to an archive: their list, and pages of each one's messages in the order of arrival. Snapshots
/// follow later. It names neither epochs nor histories, which differ where the account arrives.
enum LogExport {
  static let list = "logs.json"
  /// The folder of the folders of each log's pages.
  static let folder = "logs/"
  /// The folder of the snapshots, by the logs' ids.
  static let snapshots = "snapshots/"

  static func write(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport {
    let logs = try MessageLog.all(reader, of: account)
    if !logs.isEmpty {
      try archive.add(
        list, JSONValue.object([.init("logs", .array(logs.map(\.movedJSON)))]).encoded())
    }
    for log in logs {
      var (question, number, isMore) = (LogPage.Question.after(nil), 0, log.messageCount > 0)
      while isMore {
        let page = try LogPage.read(reader, log, question, limit: LogPage.Question.limitMax)
        (question, number, isMore) = (.after(page.cursor), number + 1, page.hasMore)
        var text = Array("{".utf8)
        LogPage.write(page.messages, to: &text)
        text.append(UInt8(ascii: "}"))
        try archive.add(ArchiveWriter.numbered("\(folder)\(log.id)/", number), text)
        progress(Int64(text.count))
      }
    }
    return ProtocolExport(
      counts: [
        ("logs", Int64(logs.count)), ("messages", logs.reduce(0) { $0 + $1.messageCount }),
      ],
      objects: logs.compactMap { log in
        log.snapshot.map { snapshot in
          ProtocolExport.Object(
            file: "\(snapshots)\(log.id)", key: snapshot.object, byteCount: snapshot.byteCount)
        }
      })
  }
}

extension MessageLog {
  fileprivate var movedJSON: JSONValue {
    [
      "id": .string(id.description), "name": .base64(name), "key": .base64(key),
      "created_ms": .integer(created.milliseconds), "messages": .integer(messageCount),
      "bytes": .integer(byteCount),
      "horizon": horizon.map { .string($0.description) } ?? .null,
      "snapshot": snapshot.map { snapshot in
        [
          "version": .integer(snapshot.version), "bytes": .integer(snapshot.byteCount),
          "messages": .integer(snapshot.number(in: epoch)),
        ]
      } ?? .null,
    ]
  }
}
