import Base
import Storage

struct LogRows {
  let transaction: Transaction
  let epoch: Identifier

  private func latest() throws -> LogTimestamp? {
    try transaction.first(
      "SELECT stamp FROM sync.log_messages WHERE epoch_id = $1 ORDER BY stamp DESC LIMIT 1",
      .id(epoch)
    ) { row in try row.timestamp(0) }
  }

  /// The messages of new timestamps, and the timestamps that have another content in the epoch or before in the list.
  ///
  /// A device mostly appends what is later than all there is. Only the others are looked for.
  func sort(
    _ messages: [LogMessage]
  ) throws -> (added: [LogMessage], different: [LogTimestamp]) {
    let latest = try latest()
    var known = try known(
      messages.filter { message in latest.map { message.timestamp <= $0 } ?? false })
    known.reserveCapacity(messages.count)
    var (added, different): ([LogMessage], [LogTimestamp]) = ([], [])
    for message in messages {
      if let content = known[message.timestamp] {
        if content != message.content { different.append(message.timestamp) }
      } else {
        known[message.timestamp] = message.content
        added.append(message)
      }
    }
    return (added, different)
  }

  /// The contents under the timestamps of messages, as far as the epoch has them; nil for one of another length than
  /// each that came. So a small request has no large contents read.
  private func known(_ messages: [LogMessage]) throws -> [LogTimestamp: [UInt8]?] {
    var known: [LogTimestamp: [UInt8]?] = [:]
    let lengths = Dictionary(grouping: messages, by: \.timestamp).mapValues {
      Set($0.map { Int64($0.content.count) })
    }
    var alike: [SQLValue] = []
    for list in SQLList.slices(of: lengths.keys.map { .blob($0.bytes) }, after: 1) {
      try transaction.query(
        """
        SELECT stamp, CAST(length(content) AS BIGINT) FROM sync.log_messages
        WHERE epoch_id = $1 AND stamp IN (\(list.parameters))
        """, [.id(epoch)] + list.values
      ) { row in
        let (timestamp, length) = (try row.timestamp(0), try row.integer(1))
        known.updateValue(nil, forKey: timestamp)
        if lengths[timestamp]?.contains(length) == true { alike.append(.blob(timestamp.bytes)) }
        return true
      }
    }
    for list in SQLList.slices(of: alike, after: 1) {
      try transaction.query(
        """
        SELECT stamp, content FROM sync.log_messages
        WHERE epoch_id = $1 AND stamp IN (\(list.parameters))
        """, [.id(epoch)] + list.values
      ) { row in
        known[try row.timestamp(0)] = try row.blob(1)
        return true
      }
    }
    return known
  }

  /// Numbers the messages from the one after `number` on.
  func insert(_ messages: [LogMessage], after number: Int64) throws {
    try transaction.insert(
      zip(messages, (number + 1)...).map { message, number in
        [.blob(message.timestamp.bytes), .integer(number), .blob(message.content)]
      }, of: epoch, into: "log_messages (epoch_id, stamp, number, content)")
  }
}

extension Row {
  func timestamp(_ column: Int) throws(DatabaseError) -> LogTimestamp {
    guard let timestamp = LogTimestamp(bytes: try blob(column)) else {
      throw .statement("column \(column) holds no timestamp")
    }
    return timestamp
  }
}
