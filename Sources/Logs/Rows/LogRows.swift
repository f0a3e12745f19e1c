import Base
import Storage

/// The messages of an epoch, as rows.
struct LogRows {
  private let transaction: Transaction
  private let epoch: Identifier

  init(_ transaction: Transaction, _ epoch: Identifier) {
    self.transaction = transaction
    self.epoch = epoch
  }

  /// The messages that the epoch does not have, each timestamp once, and the timestamps under which it has, or the
  /// request gave before, another content.
  func sort(
    _ messages: [LogMessage]
  ) throws -> (added: [LogMessage], different: [LogTimestamp]) {
    var known: [LogTimestamp: [UInt8]] = [:]
    let stamps = messages.map { SQLValue.blob($0.timestamp.bytes) }
    for list in SQLList.slices(of: stamps, after: 1) {
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

  /// Numbers the messages from the one after `number` on.
  func insert(_ messages: [LogMessage], after number: Int64) throws {
    try transaction.insert(
      zip(messages, (number + 1)...).map { message, number in
        [.blob(message.timestamp.bytes), .integer(number), .blob(message.content)]
      }, of: epoch, into: "log_messages (epoch_id, stamp, number, content)")
  }
}

extension Transaction {
  /// Rows of one INSERT; what is left is split into powers of two, so that few statements are prepared.
  private static let insertedCountMax = 64

  /// Inserts rows whose first value is an epoch. `conflict` is what follows the values.
  func insert(
    _ rows: [[SQLValue]], of epoch: Identifier, into columns: String, conflict: String = ""
  ) throws {
    var rest = rows[...]
    while !rest.isEmpty {
      var count = Self.insertedCountMax
      while count > rest.count { count /= 2 }
      var values: [SQLValue] = [.id(epoch)]
      var tuples: [String] = []
      for row in rest.prefix(count) {
        let names = row.indices.map { "$\(values.count + 1 + $0)" }
        tuples.append("($1, \(names.joined(separator: ", ")))")
        values += row
      }
      rest = rest.dropFirst(count)
      try execute(
        "INSERT INTO sync.\(columns) VALUES \(tuples.joined(separator: ", ")) \(conflict)",
        values: values)
    }
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
