package import Base
package import Storage

/// How jobs of one kind are done.
package struct JobHandler: Sendable {
  package let kind: String
  /// How many of the kind run at once.
  package let concurrencyMax: Int
  /// Reads from the provider, outside any transaction and with deadlines of its own, and says what
  /// is to be written. Runs on a thread of the runner.
  package let run: @Sendable (Lease) throws(JobFailure) -> JobResult

  package init(
    _ kind: String, concurrencyMax: Int = 2,
    run: @escaping @Sendable (Lease) throws(JobFailure) -> JobResult
  ) {
    self.kind = kind
    self.concurrencyMax = concurrencyMax
    self.run = run
  }
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

  /// Writes what was found and commits the lease; one transaction holds both.
  ///
  /// Returns whether the job is settled, and what is to be done once that is durable.
  package func commit(
    _ lease: Lease, now: Instant, in transaction: Transaction
  ) throws -> (isSettled: Bool, committed: @Sendable () -> Void) {
    let committed = try write(transaction)
    return (try lease.commit(readBegan: readBegan, now: now, in: transaction), committed)
  }
}
