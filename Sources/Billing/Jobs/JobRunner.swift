package import Base
package import Storage

/// The threads that run due jobs. They look for them a few times a second by the given clock, which may jump, and
/// at once after a run has ended. A run that crashes or hangs costs only its lease.
package final class JobRunner: Sendable {
  /// How long an idle thread waits before it looks again, in real time.
  private static let pollSpan = Instant.Span.milliseconds(150)
  private static let gaugeSpan = Instant.Span.seconds(5)

  private let database: Database
  private let clock: Clock
  private let handlers: [JobHandler]
  private let metrics: [String: JobMetrics]
  private let duration: Metrics.Histogram
  private let state = Locked(State())
  private let threads = Locked<[Thread]>([])

  private struct State {
    var isStopped = false
    /// Grows with each run that ends, so that no end is missed between a look and a wait.
    var wakes = 0
    var running: [String: Int] = [:]
    var failedLooks = 0
  }

  /// `database` owns the billing schema. Nothing runs before `start`.
  package init(
    database: Database, clock: Clock, handlers: [JobHandler], metrics: Metrics = .shared
  ) {
    self.database = database
    self.clock = clock
    self.handlers = handlers
    self.metrics = Dictionary(
      uniqueKeysWithValues: Set(handlers.map(\.kind)).map { ($0, JobMetrics(kind: $0, metrics)) })
    duration = metrics.histogram(
      "coffer_job_duration_seconds", "From a job's lease to its commit or failure.",
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120])
  }

  /// Runs jobs from now on. Call once.
  package func start(threads count: Int = 4) {
    threads.withLock { threads in
      precondition(threads.isEmpty, "a runner starts once")
      threads = (0..<count).map { _ in Thread { [self] in work() } }
      threads.append(Thread { [self] in measure() })
    }
  }

  /// Leases nothing more, lets running jobs finish, which takes as long as the handlers' own deadlines, and joins the
  /// threads. May be called again.
  package func stop() {
    state.signal { $0.isStopped = true }
    let ended = threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
    for thread in ended { thread.join() }
  }

  private func work() {
    while true {
      let (isStopped, wakes) = state.withLock { ($0.isStopped, $0.wakes) }
      if isStopped { return }
      if runNext() { continue }
      _ = state.wait(until: .now() + Self.pollSpan) { state in
        state.isStopped || state.wakes != wakes ? true : nil
      }
    }
  }

  /// Runs the job that has waited longest among those that may run. Returns false if there is none.
  private func runNext() -> Bool {
    do {
      let now = clock.now()
      let due = try database.read { reader in
        try handlers.compactMap { handler in
          try Jobs.earliestDue(handler.kind, lanes: handler.lanes, now: now, reading: reader)
            .map { (handler, $0) }
        }
      }
      var failure: (any Error)?
      for (handler, _) in due.sorted(by: { $0.1 < $1.1 }) where reserve(handler) {
        // A kind whose jobs cannot be leased does not keep the others from running.
        do { if try runOne(of: handler, now: now) { return true } } catch { failure = error }
      }
      if let failure { throw failure }
      state.withLock { $0.failedLooks = 0 }
    } catch {
      // Logged once, not for each look of each thread while the database is unavailable.
      let count = state.withLock { state in
        state.failedLooks += 1
        return state.failedLooks
      }
      if count == 1 { Log.warning("jobs.cannot_look", ["reason": "\(error)"]) }
    }
    return false
  }

  private func reserve(_ handler: JobHandler) -> Bool {
    state.withLock { state in
      let count = state.running[handler.name, default: 0]
      guard count < handler.concurrencyMax else { return false }
      state.running[handler.name] = count + 1
      return true
    }
  }

  /// Needs a reserved place and releases it.
  private func runOne(of handler: JobHandler, now: Instant) throws -> Bool {
    var hasRun = false
    defer { release(handler, wakes: hasRun) }
    let lease = try database.write(for: nil) { transaction in
      try Jobs.lease(
        handler.kind, lanes: handler.lanes, limit: 1, now: now, in: transaction
      ).first
    }
    guard let lease else { return false }
    hasRun = true
    TraceContext.$current.withValue(lease.trace ?? .begin()) { run(lease, handler) }
    return true
  }

  /// After a run, wakes other threads that found this kind's places taken.
  private func release(_ handler: JobHandler, wakes: Bool) {
    state.signal { state in
      state.running[handler.name, default: 1] -= 1
      if wakes { state.wakes += 1 }
    }
  }

  private func run(_ lease: Lease, _ handler: JobHandler) {
    let began = MonotonicTime.now()
    if lease.isRepeated { metrics[lease.kind]?.expired.add() }
    do throws(JobFailure) {
      let result = try handler.run(lease)
      let isSettled = try commit(result, lease)
      metrics[lease.kind]?.done.add()
      Log.info(
        "job.done",
        [
          "kind": lease.kind, "object": lease.object, "read": String(lease.readNumber),
          "settled": isSettled ? "yes" : "no", "trace": Self.trace,
        ])
    } catch {
      fail(lease, handler, error)
    }
    duration.observe(MonotonicTime.now().seconds(since: began))
  }

  /// Commits the facts and the lease in one transaction. Returns true if the job is settled.
  private func commit(_ result: JobResult, _ lease: Lease) throws(JobFailure) -> Bool {
    do {
      let now = clock.now()
      let (isSettled, committed) = try database.write(for: nil) { transaction in
        try result.commit(lease, now: now, in: transaction)
      }
      committed()
      return isSettled
    } catch let failure as JobFailure {
      throw failure
    } catch let error as DatabaseError {
      throw error.isOfDatabase ? .transient("\(error)", retryAfter: nil) : .refused("\(error)")
    } catch {
      throw .refused("an unexpected error: \(type(of: error))")
    }
  }

  private func fail(_ lease: Lease, _ handler: JobHandler, _ failure: JobFailure) {
    let now = clock.now()
    switch failure {
    case .transient: metrics[lease.kind]?.retried.add()
    case .refused: metrics[lease.kind]?.refused.add()
    }
    do {
      let isDead = try database.write(for: nil) { transaction in
        try handler.fail(lease, failure, now: now, in: transaction)
      }
      log(lease, failure, isDead: isDead)
      if isDead {
        metrics[lease.kind]?.died.add()
        handler.died(lease)
      }
    } catch {
      // The lease runs out by itself, which leads to the retry.
      Log.warning(
        "job.cannot_wait",
        ["kind": lease.kind, "object": lease.object, "reason": "\(error)"])
    }
  }

  private func log(_ lease: Lease, _ failure: JobFailure, isDead: Bool) {
    let fields: KeyValuePairs<StaticString, String> = [
      "kind": lease.kind, "object": lease.object, "attempt": String(lease.attempts + 1),
      "reason": failure.reason, "trace": Self.trace,
    ]
    if isDead { Log.error("job.dead", fields) } else { Log.warning("job.failed", fields) }
  }

  /// When to count again. Counting reads every open job: it takes at most a fiftieth of one processor.
  private static func nextMeasure(_ began: MonotonicTime) -> MonotonicTime {
    let took = MonotonicTime.now().nanoseconds - began.nanoseconds
    return .now() + max(gaugeSpan, .milliseconds(Int64(took / 1_000_000) * 50))
  }

  /// The id that the provider got with the run, by which its records and ours can be matched.
  private static var trace: String { TraceContext.current?.id ?? "-" }

  /// Updates the gauges, even while the other threads wait.
  private func measure() {
    var began: MonotonicTime
    repeat {
      began = .now()
      guard let counts = try? database.read({ try Jobs.counts($0) }) else { continue }
      let now = clock.now()
      for (kind, metrics) in metrics {
        let count = counts.first { $0.kind == kind }
        metrics.open.set(Int64(count?.open ?? 0))
        metrics.dead.set(Int64(count?.dead ?? 0))
        let age = count?.unsettledSince.map { now - $0 } ?? .seconds(0)
        metrics.oldestDue.set(max(0, age.milliseconds / 1000))
      }
    } while state.wait(until: Self.nextMeasure(began), { $0.isStopped ? true : nil }) == nil
  }
}
