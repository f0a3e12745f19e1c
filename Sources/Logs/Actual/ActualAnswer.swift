import Base
import HTTPMessages
import Storage

/// The answer to a client's request for messages: those above a timestamp, in the order of timestamps, and the trie.
///
/// The protocol has no pages, so an answer may be a whole epoch. A long one is read while it is sent, a block at a time
/// and without a snapshot: messages of an epoch are only added.
struct ActualAnswer: Sendable {
  let owner: Identifier
  let byteCount: Int64
  fileprivate let epoch: Identifier
  fileprivate let head: Int64
  /// The bytes that were read first, and whether they are all.
  fileprivate let first: Part
  fileprivate let trie: [UInt8]

  fileprivate struct Part: Sendable {
    var bytes: [UInt8] = []
    /// The timestamp behind which the next ones are.
    var last: [UInt8]
    var isLast = false
    /// Rows of one statement: about a block, because PostgreSQL's whole answer is in memory.
    let rowCountMax: Int64

    init(_ log: MessageLog, since: LogTimestamp) {
      last = since.bytes
      let averageByteCount = max(1, log.byteCount / max(1, log.messageCount))
      rowCountMax = min(100, Int64(ActualAnswer.blockByteCount) / averageByteCount + 1)
    }
  }

  fileprivate static let blockByteCount = 1 << 19

  /// The messages of a log's epoch up to the number `head`.
  init(
    _ reader: Reader, _ log: MessageLog, since: LogTimestamp, head: Int64, trie: [UInt8]
  ) throws {
    owner = log.owner
    epoch = log.epoch
    self.head = head
    var end: [UInt8] = []
    ActualSync.write(trie: trie, to: &end)
    self.trie = end
    var first = Part(log, since: since)
    try Self.read(&first, of: log.epoch, upTo: head, reader)
    self.first = first
    let rest = first.isLast ? 0 : try Self.byteCount(of: log.epoch, after: first.last, head, reader)
    byteCount = Int64(first.bytes.count + end.count) + rest
  }

  /// Adds messages until there is a block, and reads none beyond: they would wait in memory for a slow client.
  fileprivate static func read(
    _ part: inout Part, of epoch: Identifier, upTo head: Int64, _ reader: Reader
  ) throws {
    while part.bytes.count < blockByteCount, !part.isLast {
      var (rowCount, isFull) = (Int64(0), false)
      // The plus keeps the engines from reading all numbers and sorting them.
      try reader.query(
        """
        SELECT stamp, content FROM sync.log_messages
        WHERE epoch_id = $1 AND stamp > $2 AND +number <= $3
        ORDER BY stamp LIMIT $4
        """, [.id(epoch), .blob(part.last), .integer(head), .integer(part.rowCountMax)]
      ) { row in
        rowCount += 1
        let message = LogMessage(try row.timestamp(0), try row.blob(1))
        ActualSync.write(message, to: &part.bytes)
        part.last = message.timestamp.bytes
        isFull = part.bytes.count >= blockByteCount
        return !isFull
      }
      part.isLast = !isFull && rowCount < part.rowCountMax
    }
  }

  /// The length of the messages behind a timestamp: each has 49 bytes, one to three for its length, and its content.
  private static func byteCount(
    of epoch: Identifier, after last: [UInt8], _ head: Int64, _ reader: Reader
  ) throws -> Int64 {
    try reader.first(
      """
      SELECT CAST(coalesce(sum(49 + length(content) + CASE WHEN length(content) < 80 THEN 1
        WHEN length(content) < 16336 THEN 2 ELSE 3 END), 0) AS BIGINT)
      FROM sync.log_messages WHERE epoch_id = $1 AND stamp > $2 AND +number <= $3
      """, .id(epoch), .blob(last), .integer(head)
    ) { row in try row.integer(0) } ?? 0
  }

  func body(from database: Database) -> Response.Body {
    guard !first.isLast else { return .bytes(first.bytes + trie) }
    return .blocks(ActualStream(self, database), range: 0..<byteCount)
  }
}

/// A long answer while it is sent. Blocks are asked for one after another, in order.
private final class ActualStream: BlockSource {
  private let answer: ActualAnswer
  private let database: Database
  private let part: Locked<ActualAnswer.Part>
  let blockByteCountMax = Int64(ActualAnswer.blockByteCount)

  init(_ answer: ActualAnswer, _ database: Database) {
    self.answer = answer
    self.database = database
    part = Locked(answer.first)
  }

  func fetch(
    _ range: Range<Int64>, _ done: @escaping @Sendable (Result<[UInt8], any Error>) -> Void
  ) {
    database.submitRead(for: answer.owner) { [self] reader in
      try part.withLock { part in
        let count = Int(range.upperBound - range.lowerBound)
        if part.bytes.count < count, !part.isLast {
          try ActualAnswer.read(&part, of: answer.epoch, upTo: answer.head, reader)
          if part.isLast { part.bytes += answer.trie }
        }
        // The epoch was deleted meanwhile. The client sees that bytes are missing.
        guard part.bytes.count >= count else { throw ActualRefusal.fileHasReset }
        defer { part.bytes.removeFirst(count) }
        return Array(part.bytes.prefix(count))
      }
    } completion: { result in
      done(result)
    }
  }
}
