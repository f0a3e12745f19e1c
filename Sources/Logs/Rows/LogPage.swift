import Accounts
import Base
import Requests
import Storage

/// Some of a log's messages, in one of two orders.
struct LogPage: Sendable {
  enum Question: Sendable {
    /// In the order of arrival; nil from the first one on.
    case after(LogCursor?)
    /// Those above a timestamp, in the order of timestamps.
    case since(LogTimestamp)

    static let limitMax = 5000

    /// Without `since` and `cursor` it is a log's first page in the order of arrival.
    static func parse(_ query: Substring?) throws -> (question: Question, limit: Int) {
      var (question, limit) = (Question?.none, 1000)
      for (name, value) in queryFields(query) {
        switch name {
        case "cursor":
          guard question == nil else { throw LogRefusal.sinceInvalid }
          question = .after(try LogCursor(value))
        case "since":
          guard question == nil, let timestamp = LogTimestamp(value) else {
            throw LogRefusal.sinceInvalid
          }
          question = .since(timestamp)
        case "limit": limit = try pageLimit(value, max: limitMax)
        default: break
        }
      }
      return (question ?? .after(nil), limit)
    }
  }

  let log: MessageLog
  let messages: [LogMessage]
  let hasMore: Bool
  /// Continues in the order of arrival; nil in that of timestamps, where the last timestamp does.
  let cursor: LogCursor?
  /// The pruned trie, with the last page in the order of timestamps.
  let trie: [UInt8]?

  /// A page ends after so much, counted as it is charged. So its JSON has less than a mebibyte.
  private static let byteCountMax: Int64 = 640 << 10
  /// Rows of one statement. PostgreSQL's whole answer is in memory.
  private static let statementRowCount = 100

  /// Reads a page. Writes nothing, however often a client asks.
  static func read(
    _ reader: Reader, _ log: MessageLog, _ question: Question, limit: Int
  ) throws -> LogPage {
    switch question {
    case .since(let timestamp):
      let (messages, hasMore) = try read(
        reader, log.epoch, "stamp", .blob(timestamp.bytes), limit: limit
      ) { .blob($0.timestamp.bytes) }
      var trie = LogTrie.open(log.epoch, reader)
      return LogPage(
        log: log, messages: messages, hasMore: hasMore, cursor: nil,
        trie: hasMore ? nil : try trie.pruned())
    case .after(let cursor):
      let history = try History.current(reader).id
      let start = cursor ?? LogCursor(history: history, epoch: log.epoch, number: 0)
      guard start.history == history else { throw LogRefusal.historyChanged }
      guard start.epoch == log.epoch else { throw LogRefusal.epochChanged(current: log.epoch) }
      var number = start.number
      let (messages, hasMore) = try read(
        reader, log.epoch, "number", .integer(number), limit: limit
      ) { _ in
        number += 1
        return .integer(number)
      }
      let end = LogCursor(history: history, epoch: log.epoch, number: number)
      return LogPage(log: log, messages: messages, hasMore: hasMore, cursor: end, trie: nil)
    }
  }

  /// Messages above a value of a column. `place` is called with each of them, in order, and returns its value.
  private static func read(
    _ reader: Reader, _ epoch: Identifier, _ column: String, _ start: SQLValue, limit: Int,
    place: (LogMessage) -> SQLValue
  ) throws -> (messages: [LogMessage], hasMore: Bool) {
    var (messages, byteCount, last) = ([LogMessage](), Int64(0), start)
    while true {
      var rowCount = 0
      var isFull = false
      try reader.query(
        """
        SELECT stamp, content FROM sync.log_messages WHERE epoch_id = $1 AND \(column) > $2
        ORDER BY \(column) LIMIT \(statementRowCount)
        """, [.id(epoch), last]
      ) { row in
        rowCount += 1
        guard messages.count < limit, byteCount < byteCountMax else {
          isFull = true
          return false
        }
        let message = LogMessage(try row.timestamp(0), try row.blob(1))
        messages.append(message)
        byteCount += message.chargedByteCount
        last = place(message)
        return true
      }
      if isFull { return (messages, true) }
      if rowCount < statementRowCount { return (messages, false) }
    }
  }

  /// Written here, because a page has thousands of messages.
  func encoded() -> [UInt8] {
    var text = Array(#"{"log":"\#(log.id)","epoch":"\#(log.epoch)","#.utf8)
    Self.write(messages, to: &text)
    text += Array(#","more":\#(hasMore)"#.utf8)
    if let cursor { text += Array(#","cursor":"\#(cursor.text)""#.utf8) }
    if let trie { text += Array(#","trie":"#.utf8) + trie }
    text.append(UInt8(ascii: "}"))
    return text
  }

  /// `"messages":[…]`
  static func write(_ messages: [LogMessage], to text: inout [UInt8]) {
    text += Array(#""messages":["#.utf8)
    for (index, message) in messages.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      message.write(to: &text)
    }
    text.append(UInt8(ascii: "]"))
  }
}
