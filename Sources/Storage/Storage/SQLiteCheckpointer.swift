import Base
import SQLite

/// The thread that copies the write-ahead log into the file, so that commits need not.
///
/// Its copies never wait for others, so they never start a busy log over: the writer does, beyond `logFrameCountMax`.
final class SQLiteCheckpointer: Sendable {
  private let connection: Locked<SQLiteConnection>
  private let schema: Schema
  private let options: DatabaseOptions
  private let state = Locked(State())
  private let thread = Locked<Thread?>(nil)

  private struct State {
    var isWanted = false
    /// The length of the log when it was last copied.
    var copiedFrameCount = 0
    var isStopped = false
  }

  private static let interval = Instant.Span.seconds(1)
  private static let lockWait = Instant.Span.milliseconds(200)

  init(_ files: SQLiteFiles, of schema: Schema, options: DatabaseOptions) throws(SQLiteError) {
    self.schema = schema
    self.options = options
    connection = Locked(try files.connect(.checkpointer(schema), lockWait: Self.lockWait))
    thread.withLock { $0 = Thread(niceness: Thread.behindWriter) { [self] in run() } }
  }

  func committed(logFrameCount: Int) {
    StorageMetrics.logFrames.set(Int64(logFrameCount))
    guard logFrameCount >= options.logFrameCountWanted else { return }
    state.signal { state in
      // A shorter log has been started over.
      if logFrameCount < state.copiedFrameCount { state.copiedFrameCount = 0 }
      // Without this distance the same pages would be copied over and over while the log is under load.
      guard logFrameCount >= state.copiedFrameCount + options.logFrameCountWanted else { return }
      state.copiedFrameCount = logFrameCount
      state.isWanted = true
    }
  }

  /// Ends the thread and empties the log, as far as other processes allow.
  func close() {
    state.signal { $0.isStopped = true }
    thread.withLock { $0.take() }?.join()
    connection.withLock { $0.tryCheckpoint(schema, .truncate) }
  }

  private func run() {
    while true {
      let isStopped = state.wait(until: .now() + Self.interval) { state -> Bool? in
        if state.isStopped { return true }
        guard state.isWanted else { return nil }
        state.isWanted = false
        return false
      }
      if isStopped == true { return }
      connection.withLock { $0.tryCheckpoint(schema, .passive) }
    }
  }
}

extension SQLiteConnection {
  /// Logs a failure and goes on, because the next attempt may succeed.
  func tryCheckpoint(_ schema: Schema, _ mode: CheckpointMode) {
    do {
      _ = try checkpoint(schema.rawValue, mode)
    } catch {
      Log.warning("storage.checkpoint_failed", ["reason": error.message])
    }
  }
}
