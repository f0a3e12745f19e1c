import Base
import Jobs
import Storage
import TestEngines
import Testing

/// The queue over a test's own database, with a clock that the test moves.
final class Queue: Sendable {
  let database: Database
  private let scratch: ScratchDatabase
  private let time = Locked(Instant(seconds: 1_800_000_000))

  init(_ engine: TestEngine) throws {
    scratch = try ScratchDatabase(engine, with: .schemas)
    database = try Database.open(scratch.location, owning: .billing)
  }

  deinit { database.close() }

  var now: Instant { time.withLock { $0 } }
  var clock: Clock { Clock { [time] in time.withLock { $0 } } }

  func pass(_ span: Instant.Span) { time.withLock { $0 = $0 + span } }

  func request(
    _ object: String = "a", kind: String = "k", payload: [UInt8]? = nil, due: Instant? = nil,
    settleAfter: Instant? = nil, confirmations: Int = 0, trace: TraceContext? = nil,
    isShallow: Bool = false
  ) throws {
    let due = due ?? now
    try database.write(for: nil) { transaction in
      try Jobs.request(
        kind, object, payload: payload, due: due, settleAfter: settleAfter,
        confirmations: confirmations, trace: trace, isShallow: isShallow, in: transaction)
    }
  }

  func leases(_ limit: Int = 10, kind: String = "k") throws -> [Lease] {
    let now = now
    return try database.write(for: nil) { transaction in
      try Jobs.lease(kind, limit: limit, now: now, in: transaction)
    }
  }

  /// The only lease that can be had.
  func lease(_ location: SourceLocation = #_sourceLocation) throws -> Lease {
    let leases = try leases()
    try #require(leases.count == 1, sourceLocation: location)
    return leases[0]
  }

  /// Two leases of a requested job; the first ran out, so the second was given.
  func overtaken(confirmations: Int = 0) throws -> (first: Lease, second: Lease) {
    try request(confirmations: confirmations)
    let first = try lease()
    pass(JobRules.leaseTime)
    return (first, try lease())
  }

  @discardableResult
  func commit(_ lease: Lease, readBegan: Instant? = nil) throws -> Bool {
    let now = now
    return try database.write(for: nil) { transaction in
      try lease.commit(readBegan: readBegan, now: now, in: transaction)
    }
  }

  @discardableResult
  func retry(_ lease: Lease, _ failure: JobFailure) throws -> Bool {
    let now = now
    return try database.write(for: nil) { transaction in
      try lease.retry(failure, now: now, in: transaction)
    }
  }

  @discardableResult
  func revive(_ object: String = "a", kind: String = "k") throws -> Bool {
    let now = now
    return try database.write(for: nil) { transaction in
      try Jobs.revive(kind, object, now: now, in: transaction)
    }
  }

  func job(_ object: String = "a", kind: String = "k") throws -> JobSummary {
    try #require(try database.read { try Jobs.find(kind, object, reading: $0) })
  }
}
