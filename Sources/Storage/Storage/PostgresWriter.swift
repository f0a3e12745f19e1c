import Base
import Glibc
import Postgres

/// The threads that write to PostgreSQL, each on a connection of its own while it writes, one transaction per write.
///
/// Transactions are READ COMMITTED, and their bodies lock owner rows in order. A transaction that
/// still loses a conflict is repeated a bounded number of times. The server groups the commits.
final class PostgresWriter: Sendable {
  private let server: PostgresServer
  private let queue: WriteQueue
  private let options: DatabaseOptions
  private let threads = Locked<[Thread]>([])
  private let idle = Locked<[PostgresConnection]>([])
  let work = WorkCounter(.write)

  private static let pauseMicrosecondsMax: UInt32 = 50_000

  init(_ server: PostgresServer, options: DatabaseOptions) {
    self.server = server
    self.options = options
    queue = WriteQueue(
      capacity: options.queuedWriteCountMax,
      capacityPerAccount: options.queuedWriteCountPerAccountMax, servesAccountsSerially: true,
      gauge: StorageMetrics.queuedWrites)
    threads.withLock { threads in
      threads = (0..<options.writeConnectionCount).map { _ in Thread { [self] in run() } }
    }
  }

  func submit(_ request: WriteRequest) throws(DatabaseError) { try queue.append(request) }

  func close() {
    queue.stop()
    for thread in threads.withLock({ threads in threads }) { thread.join() }
    idle.withLock { $0.removeAll() }
  }

  private func run() {
    while let request = queue.next() {
      // The one that was used last: a quiet server needs one, which has its statements prepared.
      var connection = idle.withLock { $0.popLast() }
      let outcome = Result { try serve(request, &connection) }
      if let connection { idle.withLock { $0.append(connection) } }
      queue.finished(request)
      switch outcome {
      case .success(let finish): finish()
      case .failure(let error):
        request.fail((error as? any EngineError)?.databaseError ?? error)
      }
    }
  }

  /// Runs the write until it is durable. Tries again if nothing can have been written.
  private func serve(
    _ request: WriteRequest, _ connection: inout PostgresConnection?
  ) throws -> WriteRequest.Finish {
    var lossCount = 0
    var conflictCount = 0
    while true {
      guard MonotonicTime.now() < request.deadline else {
        throw DatabaseError.busy(retryAfterSeconds: 1)
      }
      do {
        let current =
          if let open = connection { open } else {
            try server.connect(statementTime: options.readTime)
          }
        connection = current
        return try transact(request, on: current)
      } catch {
        if connection?.isIdle != true { connection = nil }
        let failure = error as? PostgresError
        if failure?.kind == .conflict || error is OutdatedDecision {
          conflictCount += 1
          guard conflictCount < options.conflictAttemptCountMax else {
            throw DatabaseError.busy(retryAfterSeconds: 1)
          }
          StorageMetrics.conflicts.add()
          pause(after: conflictCount)
        } else if failure?.isConnectionLost == true, lossCount == 0 {
          // An idle connection may have died long ago, so one new connection is tried.
          lossCount = 1
        } else {
          throw error
        }
      }
    }
  }

  private func transact(
    _ request: WriteRequest, on connection: PostgresConnection
  ) throws -> WriteRequest.Finish {
    try connection.forgetStale()
    try connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    let session = Session(connection, counting: work)
    defer { session.end() }
    let finish: WriteRequest.Finish
    do {
      finish = try request.attempt(Transaction(session))
      if let failure = session.failure { throw failure }
      guard connection.isInTransaction else {
        throw DatabaseError.statement("a write ended its own transaction")
      }
    } catch {
      if !connection.isLost { try connection.execute("ROLLBACK") }
      throw session.failure ?? error
    }
    do {
      try connection.execute("COMMIT")
    } catch {
      guard error.isConnectionLost else { throw error }
      // Repeating the write could apply it twice.
      throw DatabaseError.uncertain(
        reason: "the connection was lost during a commit, which may have happened")
    }
    StorageMetrics.batchSize.observe(1)
    return finish
  }

  /// Pauses longer after each conflict, and for a random time, so that two transactions do not meet again.
  private func pause(after count: Int) {
    let longest = min(Self.pauseMicrosecondsMax, 1000 << UInt32(min(count, 6)))
    usleep(UInt32.random(in: 100...longest))
  }
}
