package import Base
package import Storage

/// The handler of jobs of one kind.
package struct JobHandler: Sendable {
  package let kind: String
  /// The lanes of the jobs that it handles. A kind may have several handlers for different lanes.
  package let lanes: ClosedRange<Int64>
  /// The most jobs that it runs at once.
  package let concurrencyMax: Int
  /// Reads from the provider, outside any transaction and with its own deadlines, on a thread of the runner. Returns
  /// what to write.
  package let run: @Sendable (Lease) throws(JobFailure) -> JobResult
  private let failed: @Sendable (Lease, Instant, Transaction) throws -> Void
  /// Runs after a job has died; a crash may skip it.
  package let died: @Sendable (Lease) -> Void

  /// `failed` writes what a failure means, in the transaction that records it. It may run more than once.
  package init(
    _ kind: String, lanes: ClosedRange<Int64> = 0...0, concurrencyMax: Int = 2,
    failed: @escaping @Sendable (Lease, Instant, Transaction) throws -> Void = { _, _, _ in },
    run: @escaping @Sendable (Lease) throws(JobFailure) -> JobResult,
    died: @escaping @Sendable (Lease) -> Void = { _ in }
  ) {
    self.kind = kind
    self.lanes = lanes
    self.concurrencyMax = concurrencyMax
    self.failed = failed
    self.run = run
    self.died = died
  }

  /// Records that a run failed. Returns whether the job died of it.
  package func fail(
    _ lease: Lease, _ failure: JobFailure, now: Instant, in transaction: Transaction
  ) throws -> Bool {
    try failed(lease, now, transaction)
    return try lease.retry(failure, now: now, in: transaction)
  }

  /// The handler's name among those of a runner.
  var name: String { "\(kind) \(lanes)" }
}

/// The result of a read, which is written in the transaction that also commits the lease.
package struct JobResult: Sendable {
  /// When the read began, by the provider's clock; nil if it has none.
  package let readBegan: Instant?
  /// Returns what must run once the transaction is durable.
  private let write: @Sendable (Transaction) throws -> @Sendable () -> Void

  /// `writes` may run more than once. It may throw a `JobFailure`, which undoes it. `committed`
  /// gets its value once that is durable, for counting and logging; a crash may skip it.
  package init<Value: Sendable>(
    readBegan: Instant? = nil, writes: @escaping @Sendable (Transaction) throws -> Value,
    committed: @escaping @Sendable (Value) -> Void = { (_: Value) in }
  ) {
    self.readBegan = readBegan
    write = { transaction in
      let value = try writes(transaction)
      return { committed(value) }
    }
  }

  /// Nothing to write: the job is done.
  package static let nothing = JobResult { _ in }

  /// The same result, written inside `body`, which calls its second parameter exactly once.
  package func written(
    inside body: @escaping @Sendable (Transaction, () throws -> Void) throws -> Void
  ) -> JobResult {
    JobResult(readBegan: readBegan) { [write] transaction in
      var committed: @Sendable () -> Void = {}
      try body(transaction) { committed = try write(transaction) }
      return committed
    }
  }

  private init(
    readBegan: Instant?, write: @escaping @Sendable (Transaction) throws -> @Sendable () -> Void
  ) {
    self.readBegan = readBegan
    self.write = write
  }

  /// Writes the result and commits the lease. Returns whether the job is settled, and what must run once that is
  /// durable.
  package func commit(
    _ lease: Lease, now: Instant, in transaction: Transaction
  ) throws -> (isSettled: Bool, committed: @Sendable () -> Void) {
    // The object was forgotten before its reader came back, so the number no longer counts.
    guard try Jobs.find(lease.kind, lease.object, reading: transaction) != nil else {
      return (true, {})
    }
    let committed = try write(transaction)
    return (try lease.commit(readBegan: readBegan, now: now, in: transaction), committed)
  }
}
