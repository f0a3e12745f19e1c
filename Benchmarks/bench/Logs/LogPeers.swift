import Base
import Crypto
import JSON
import SQLite
import SeededRandom
import Storage

/// The rows of a log's messages and nothing else, inserted by SQLite with one prepared statement, durably. The table has
/// the same keys, checks and index as ours.
final class RawInserts {
  private let connection: SQLiteConnection
  private let epoch = Random.identifier()
  private var random = SeededGenerator(seed: 1)
  private var number: Int64 = 0

  init(_ workspace: Workspace) throws(BenchError) {
    do {
      connection = try SQLiteConnection(
        file: workspace.file("raw.db"), busyTimeoutMilliseconds: 1000)
      for sql in [
        "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
        """
        CREATE TABLE log_messages (
          epoch_id BLOB NOT NULL, stamp BLOB NOT NULL CHECK (length(stamp) = 26),
          number INTEGER NOT NULL CHECK (number > 0), content BLOB NOT NULL,
          PRIMARY KEY (epoch_id, stamp)) STRICT, WITHOUT ROWID
        """,
        "CREATE UNIQUE INDEX log_messages_by_number ON log_messages (epoch_id, number)",
      ] {
        try connection.execute(sql)
      }
    } catch {
      throw .command("raw inserts: \(error)")
    }
    _ = try insert(LogBench.smallCount)
  }

  /// One transaction. Returns the time that it took.
  func insert(_ count: Int) throws(BenchError) -> UInt64 {
    var rows: [[SQLValue]] = []
    for _ in 0..<count {
      number += 1
      // A timestamp's 26 bytes, in ascending order.
      let stamp = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) }
      rows.append([
        .id(epoch), .blob(stamp + [UInt8](repeating: 0x61, count: 18)), .integer(number),
        .blob(random.bytes(count: BenchLog.contentByteCount)),
      ])
    }
    let start = MonotonicTime.now()
    do {
      try connection.execute("BEGIN IMMEDIATE")
      for row in rows {
        _ = try connection.perform(
          "INSERT INTO log_messages (epoch_id, stamp, number, content) VALUES ($1, $2, $3, $4)",
          row
        ) { _ in true }
      }
      try connection.execute("COMMIT")
    } catch {
      throw .command("raw inserts: \(error)")
    }
    return MonotonicTime.now().nanoseconds - start.nanoseconds
  }
}

/// What Actual's server does with a request's messages, in Python.
struct ActualPeer {
  private let workspace: Workspace

  init(_ workspace: Workspace) { self.workspace = workspace }

  /// The nanoseconds of each round after the warm-up.
  func times(roundCount: Int) throws(BenchError) -> [UInt64] {
    let text = try workspace.output(
      "python3", "\(WebhookBench.files)/actual_log.py", workspace.file("actual.db"),
      "\(LogBench.smallCount)", "\(LogBench.batchCount)", "\(roundCount)",
      "\(BenchLog.contentByteCount)")
    guard let list = (try? JSON.parse(Array(text.utf8)))?.array, list.count == roundCount else {
      throw .command("actual_log.py printed no times: \(text)")
    }
    return list.map { UInt64($0.integer ?? 0) }
  }
}
