import Base
import SQLite
import Storage

/// A connection that measures its statements by the clock. Reading the processor's time would cost more than
/// a statement may take.
final class TimedConnection: EngineConnection {
  let connection: SQLiteConnection
  /// By statement: how often it ran, and its total time.
  var statements: [String: (count: Int, nanoseconds: UInt64)] {
    Dictionary(times.map { ($0.key.sql, $0.value) }) { $1 }
  }
  private var times: [Text: (count: Int, nanoseconds: UInt64)] = [:]
  private(set) var nanoseconds: UInt64 = 0

  init(_ connection: SQLiteConnection) { self.connection = connection }

  func perform(
    _ sql: String, _ values: [SQLValue], row: (borrowing Row) throws -> Bool
  ) throws -> DatabaseWork {
    let start = MonotonicTime.now()
    let work = try connection.perform(sql, values, row: row)
    let time = MonotonicTime.now().nanoseconds - start.nanoseconds
    nanoseconds += time
    times[Text(sql: sql), default: (0, 0)].count += 1
    times[Text(sql: sql), default: (0, 0)].nanoseconds += time
    return work
  }

  func forget() { (times, nanoseconds) = ([:], 0) }

  /// Hashed by its length alone, because hashing the whole text would cost more than some statements take.
  private struct Text: Hashable {
    let sql: String

    func hash(into hasher: inout Hasher) { hasher.combine(sql.utf8.count) }
  }
}
