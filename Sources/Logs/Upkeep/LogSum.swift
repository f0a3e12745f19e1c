import Accounts
import Base
import Storage

/// What the messages of an epoch add up to, read in slices.
///
/// Messages of an epoch are only added, so those that were read stay as they are.
struct LogSum {
  private(set) var messageCount: Int64 = 0
  private(set) var byteCount: Int64 = 0
  private(set) var trie = MerkleTrie()
  /// The number of the latest message that was read.
  private(set) var last: Int64 = 0

  private static let sliceRowCount: Int64 = 1000

  /// Whether no number is missing, so that these are all messages there ever were.
  var isWhole: Bool { messageCount == last }

  /// The hash of their timestamps.
  mutating func hash() throws -> Int32 { try trie.root() }

  /// Adds the messages after those that were read, up to a number. Returns false if there was none.
  mutating func addSlice(
    of epoch: Identifier, through end: Int64 = .max, _ queryable: some Queryable
  ) throws -> Bool {
    let messages = try queryable.rows(
      """
      SELECT stamp, CAST(length(content) AS BIGINT), number FROM sync.log_messages
      WHERE epoch_id = $1 AND number > $2 AND number <= $3 ORDER BY number LIMIT $4
      """, .id(epoch), .integer(last), .integer(end), .integer(Self.sliceRowCount)
    ) { row in
      (timestamp: try row.timestamp(0), byteCount: try row.integer(1), number: try row.integer(2))
    }
    for message in messages {
      messageCount += 1
      byteCount += message.byteCount + LogMessage.overheadByteCount
      last = message.number
    }
    try trie.add(messages.lazy.map(\.timestamp))
    return !messages.isEmpty
  }
}
