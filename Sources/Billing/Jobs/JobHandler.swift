package import Base
package import Storage

/// How jobs of one kind are done.
package struct JobHandler: Sendable {
  package let kind: String
  /// The lanes whose jobs it does; a kind may have a handler for each.
  package let lanes: ClosedRange<Int64>
  /// How many of them run at once.
  package let concurrencyMax: Int
  /// Reads from the provider, outside any transaction and with deadlines of its own, and says what
  /// is to be written. Runs on a thread of the runner.
  package let run: @Sendable (Lease) throws(JobFailure) -> JobResult
  private let failed: @Sendable (Lease, Instant, Transaction) throws -> Void
  /// What is to be done once a job was given up; a crash may skip it.
  package let died: @Sendable (Lease) -> Void

  /// `failed` may run more than once: it writes what a failed read says by itself, in the transaction
  /// that notes the failure.
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

  /// Notes that a run failed; returns whether the job is dead.
  package func fail(
    _ lease: Lease, _ failure: JobFailure, now: Instant, in transaction: Transaction
  ) throws -> Bool {
    try failed(lease, now, transaction)
    return try lease.retry(failure, now: now, in: transaction)
  }

  /// Names the handler among those of a runner.
  var name: String { "\(kind) \(lanes)" }
}

/// What a read found. The runner writes it in the one transaction that also commits the lease, so
/// neither can be without the other.
package struct JobResult: Sendable {
  /// When the read began by the provider's clock; nil where it has none.
  package let readBegan: Instant?
  /// Answers what is to be done once the transaction is durable.
  private let write: @Sendable (Transaction) throws -> @Sendable () -> Void

  /// `writes` may run more than once and may throw a `JobFailure`, which undoes it; `committed`
  /// gets its value once that is durable, for counting and logging: a crash may skip it.
  package init<Value: Sendable>(
    readBegan: Instant?, writes: @escaping @Sendable (Transaction) throws -> Value,
    committed: @escaping @Sendable (Value) -> Void = { (_: Value) in }
  ) {
    self.readBegan = readBegan
    write = { transaction in
      let value = try writes(transaction)
      return { committed(value) }
    }
  }

  /// The same, written inside `body`, which calls what it is given exactly once.
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

  /// Writes what was found and commits the lease; one transaction holds both.
  ///
  /// Returns whether the job is settled, and what is to be done once that is durable.
  package func commit(
    _ lease: Lease, now: Instant, in transaction: Transaction
  ) throws -> (isSettled: Bool, committed: @Sendable () -> Void) {
    // A reader that comes back after its object was forgotten: its number counts no more.
    guard try Jobs.find(lease.kind, lease.object, reading: transaction) != nil else {
      return (true, {})
    }
    let committed = try write(transaction)
    return (try lease.commit(readBegan: readBegan, now: now, in: transaction), committed)
  }
}
