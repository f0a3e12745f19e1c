import Base
import SQLite

/// The one thread that writes the program's own file, batch after batch.
final class SQLiteWriter: Sendable {
  private let connection: Locked<SQLiteConnection>
  private let queue: WriteQueue
  private let schema: Schema
  private let options: DatabaseOptions
  private let committed: @Sendable (_ logFrameCount: Int) -> Void
  private let thread = Locked<Thread?>(nil)
  let work = WorkCounter(.write)

  /// How long one attempt to lock the file takes. Between attempts waiting writes may expire.
  private static let lockSlice = Instant.Span.milliseconds(100)

  /// `committed` gets the new length of the log after each batch.
  init(
    _ files: SQLiteFiles, owning schema: Schema, options: DatabaseOptions,
    committed: @escaping @Sendable (Int) -> Void
  ) throws(SQLiteError) {
    let opened = try files.connect(.writer(schema), lockWait: Self.lockSlice)
    opened.countLogFrames()
    connection = Locked(opened)
    queue = WriteQueue(
      capacity: options.queuedWriteCountMax,
      capacityPerAccount: options.queuedWriteCountPerAccountMax, servesAccountsSerially: false,
      gauge: StorageMetrics.queuedWrites)
    self.schema = schema
    self.options = options
    self.committed = committed
    thread.withLock { $0 = Thread { [self] in connection.withLock { run(on: $0) } } }
  }

  func submit(_ request: WriteRequest) throws(DatabaseError) { try queue.append(request) }

  func close() {
    queue.stop()
    thread.withLock { thread in thread.take() }?.join()
  }

  private func run(on connection: SQLiteConnection) {
    var restartsAt = options.logFrameCountMax
    var needsSavepoints = false
    while let first = queue.next() {
      guard begin(for: first, on: connection) else { continue }
      var batch = SQLiteBatch(on: connection, counting: work, usingSavepoints: needsSavepoints)
      fill(&batch, startingWith: first)
      needsSavepoints = batch.neededSavepoints
      let length = connection.logFrameCount
      if length < options.logFrameCountMax {
        committed(length)
        restartsAt = options.logFrameCountMax
      } else if length >= restartsAt {
        // Lets the next commit start the log over, once every reader has left it. Here, because any other thread would
        // compete with this one for the lock.
        connection.tryCheckpoint(schema, .restart)
        // A reader that stays too long costs one wait per `logFrameCountWanted` frames, not one per batch.
        restartsAt = length + options.logFrameCountWanted
      }
    }
  }

  /// Locks the file, waiting as long as `first` may wait. Returns false if that failed.
  private func begin(for first: WriteRequest, on connection: SQLiteConnection) -> Bool {
    let locked = MonotonicTime.now()
    while true {
      do {
        try connection.requireWritable(schema.rawValue)
        try SQLiteBatch(on: connection, counting: work).begin()
        return true
      } catch {
        let now = MonotonicTime.now()
        let hasWaited = now >= locked + options.lockWait || now >= first.deadline
        for request in queue.takeExpired(at: now) { request.fail(error.databaseError) }
        guard error.kind == .locked, !hasWaited else {
          first.fail(error.databaseError)
          return false
        }
      }
    }
  }

  /// Runs writes until none waits or a bound is reached, then commits them.
  private func fill(_ batch: inout SQLiteBatch, startingWith first: WriteRequest) {
    let end = MonotonicTime.now() + options.batchTime
    var next: WriteRequest? = first
    while let request = next {
      if request.deadline <= .now() {
        request.fail(DatabaseError.busy(retryAfterSeconds: 1))
      } else if !batch.run(request) {
        return
      }
      guard batch.count < options.batchCountMax, MonotonicTime.now() < end else { break }
      next = queue.nextIfAny()
    }
    batch.commit()
  }
}
