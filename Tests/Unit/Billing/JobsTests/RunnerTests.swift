import Base
import Jobs
import Storage
import TestEngines
import Testing

@Suite struct RunnerTests {
  /// A runner that ends with its test.
  private final class Running {
    let runner: JobRunner
    let metrics = Metrics()

    init(_ queue: Queue, threads: Int = 4, _ handlers: JobHandler...) {
      runner = JobRunner(
        database: queue.database, clock: queue.clock, handlers: handlers, metrics: metrics)
      runner.start(threads: threads)
    }

    deinit { runner.stop() }

    func shows(_ line: String) -> Bool { metrics.render().contains(line + "\n") }
  }

  private static let nothing = JobResult(readBegan: nil) { _ in }

  @Test(arguments: TestEngine.available)
  func `a due job runs and is settled`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let committed = Locked<[String]>([])
    let running = Running(
      queue,
      JobHandler("k") { lease in
        JobResult(readBegan: nil) { _ in
          lease.object
        } committed: { value in
          committed.withLock { $0.append(value) }
        }
      })
    try queue.request()
    #expect(try eventually { try queue.job().state == .settled })
    #expect(eventually { committed.withLock { $0 } == ["a"] })
    #expect(eventually { running.shows("coffer_job_runs_done_total{kind=\"k\"} 1") })
  }

  @Test func `a kind whose jobs cannot be leased keeps no other from being done`() throws {
    let queue = try Queue(.sqlite)
    try queue.database.write(for: nil) { transaction in
      try transaction.execute(
        """
        CREATE TRIGGER billing.poison BEFORE UPDATE ON jobs WHEN NEW.kind = 'bad'
        BEGIN SELECT RAISE(ABORT, 'poisoned'); END
        """)
    }
    try queue.request("first", kind: "bad", due: queue.now - .hours(1))
    try queue.request()
    let running = Running(
      queue, JobHandler("bad") { _ in Self.nothing }, JobHandler("k") { _ in Self.nothing })
    #expect(try eventually { try queue.job().state == .settled })
    withExtendedLifetime(running) {}
  }

  @Test func `a jump of the clock makes a job due`() throws {
    let queue = try Queue(.sqlite)
    let running = Running(queue, JobHandler("k") { _ in Self.nothing })
    try queue.request(due: queue.now + .days(300))
    pause(milliseconds: 200)
    #expect(try queue.job().issued == 0)
    queue.pass(.days(300))
    #expect(try eventually { try queue.job().state == .settled })
    withExtendedLifetime(running) {}
  }

  @Test(arguments: TestEngine.available)
  func `facts are written with the lease or not at all`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let now = queue.now
    let running = Running(
      queue,
      JobHandler("k") { lease in
        JobResult(readBegan: nil) { transaction in
          try Jobs.request("fact", lease.object, due: now, in: transaction)
          // Decided by the time, not by a count: a write that is grouped with others may run twice.
          if queue.now == now { throw JobFailure.transient("undone", retryAfter: .seconds(30)) }
        }
      })
    try queue.request()
    #expect(try eventually { try queue.job().lastError == "undone" })
    #expect(try queue.database.read { try Jobs.find("fact", "a", reading: $0) } == nil)
    queue.pass(.seconds(30))
    #expect(try eventually { try queue.job().state == .settled })
    #expect(try queue.job(kind: "fact").requested == 1)
    withExtendedLifetime(running) {}
  }

  @Test func `what a handler suffers is retried, what is wrong dies in the end`() throws {
    let queue = try Queue(.sqlite)
    let running = Running(
      queue,
      JobHandler("k") { lease throws(JobFailure) in
        throw lease.object == "a" ? .transient("down", retryAfter: nil) : .refused("no")
      })
    try queue.request("a")
    try queue.request("b")
    #expect(
      try eventually(.seconds(20)) {
        // Not while a job runs, or its lease would expire.
        let jobs = [try queue.job("a"), try queue.job("b")]
        if jobs.allSatisfy({ $0.state != .running }) { queue.pass(.minutes(15)) }
        return jobs[1].state == .dead && jobs[0].attempts > 20
      })
    #expect(try queue.job("a").state != .dead)
    #expect(try queue.job("b").refusals == 20)
    #expect(eventually { running.shows("coffer_job_deaths_total{kind=\"k\"} 1") })
  }

  @Test func `the handler is told of a death, once`() throws {
    let queue = try Queue(.sqlite)
    let deaths = Locked<[String]>([])
    let running = Running(
      queue,
      JobHandler("k") { _ throws(JobFailure) in
        throw .refused("no")
      } died: { lease in
        deaths.withLock { $0.append(lease.object) }
      })
    try queue.request()
    #expect(
      try eventually(.seconds(20)) {
        if try queue.job().state != .running { queue.pass(.minutes(15)) }
        return deaths.withLock { !$0.isEmpty }
      })
    #expect(deaths.withLock { $0 } == ["a"])
    withExtendedLifetime(running) {}
  }

  @Test func `what clients made up keeps to its own place`() throws {
    let queue = try Queue(.sqlite)
    let gate = Gate()
    let made = Locked<[String]>([])
    let running = Running(
      queue, threads: 2,
      JobHandler("k", lanes: 0...0, concurrencyMax: 2) { _ in Self.nothing },
      JobHandler("k", lanes: 1...Int64.max, concurrencyMax: 1) { lease in
        made.withLock { $0.append(lease.object) }
        gate.pass()
        return Self.nothing
      })
    let now = queue.now
    try queue.database.write(for: nil) { transaction in
      for number in 0..<20 {
        try Jobs.request("k", "made\(number)", due: now, lane: 1 + number % 5, in: transaction)
      }
    }
    #expect(eventually { gate.insideCount == 1 })
    try queue.request("told")
    #expect(try eventually { try queue.job("told").state == .settled })
    #expect(gate.insideCount == 1)
    gate.open()
    #expect(eventually { made.withLock { $0.count } == 20 })
    // Lower lanes come first.
    #expect(Set(made.withLock { $0.prefix(4) }) == ["made0", "made5", "made10", "made15"])
    withExtendedLifetime(running) {}
  }

  @Test func `an error of the database's schema counts as a refusal`() throws {
    let queue = try Queue(.sqlite)
    let running = Running(
      queue,
      JobHandler("k") { _ in
        JobResult(readBegan: nil) { try $0.execute("INSERT INTO billing.nowhere VALUES (1)") }
      })
    try queue.request()
    #expect(try eventually { try queue.job().refusals == 1 })
    withExtendedLifetime(running) {}
  }

  @Test func `a request during the read leads to another`() throws {
    let queue = try Queue(.sqlite)
    let running = Running(
      queue,
      JobHandler("k") { lease in
        if lease.readNumber == 1 { try? queue.request() }
        return Self.nothing
      })
    try queue.request()
    #expect(try eventually { try queue.job().committed == 1 })
    queue.pass(JobRules.pauseMin)
    #expect(try eventually { try queue.job().state == .settled })
    #expect(try queue.job().committed == 2)
    withExtendedLifetime(running) {}
  }

  @Test func `the work of a crashed reader is done again`() throws {
    let queue = try Queue(.sqlite)
    try queue.request()
    _ = try queue.lease()
    let running = Running(queue, JobHandler("k") { _ in Self.nothing })
    pause(milliseconds: 200)
    #expect(try queue.job().committed == 0)
    queue.pass(JobRules.leaseTime)
    #expect(try eventually { try queue.job().state == .settled })
    #expect(running.shows("coffer_job_leases_expired_total{kind=\"k\"} 1"))
  }

  @Test func `a slow kind keeps to its places and holds up no other`() throws {
    let queue = try Queue(.sqlite)
    let gate = Gate()
    let running = Running(
      queue, threads: 3,
      JobHandler("slow", concurrencyMax: 2) { _ in
        gate.pass()
        return Self.nothing
      }, JobHandler("k") { _ in Self.nothing })
    for number in 0..<6 { try queue.request("s\(number)", kind: "slow") }
    #expect(eventually { gate.insideCount == 2 })
    try queue.request("a")
    #expect(try eventually { try queue.job("a").state == .settled })
    #expect(gate.insideCount == 2)
    gate.open()
    #expect(
      try eventually {
        try (0..<6).allSatisfy { try queue.job("s\($0)", kind: "slow").state == .settled }
      })
    #expect(gate.insideCountMax == 2)
    withExtendedLifetime(running) {}
  }

  @Test func `stopping waits for what runs and begins nothing`() throws {
    let queue = try Queue(.sqlite)
    let gate = Gate()
    let running = Running(
      queue, threads: 1,
      JobHandler("k") { _ in
        gate.pass()
        return Self.nothing
      })
    try queue.request("a")
    #expect(eventually { gate.insideCount == 1 })
    try queue.request("b")
    let stopping = Thread { [runner = running.runner] in runner.stop() }
    pause(milliseconds: 100)
    gate.open()
    stopping.join()
    #expect(try queue.job("a").state == .settled)
    #expect(try queue.job("b").issued == 0)
  }

  @Test(arguments: TestEngine.available)
  func `two runners do each job once`(_ engine: TestEngine) throws {
    let queue = try Queue(engine)
    let runs = Locked<[String]>([])
    let handler = JobHandler("k", concurrencyMax: 4) { lease in
      runs.withLock { $0.append(lease.object) }
      return Self.nothing
    }
    for number in 0..<60 { try queue.request("o\(number)") }
    let runners = [Running(queue, handler), Running(queue, handler)]
    #expect(
      try eventually(.seconds(20)) { try queue.database.read { try Jobs.counts($0) }.isEmpty })
    #expect(runs.withLock { $0.count } == 60)
    #expect(Set(runs.withLock { $0 }).count == 60)
    withExtendedLifetime(runners) {}
  }

  @Test func `the gauges show what is open, dead and late`() throws {
    let queue = try Queue(.sqlite)
    try queue.request("a", due: queue.now - .seconds(90))
    _ = try queue.lease()
    let running = Running(queue, JobHandler("k") { _ in Self.nothing })
    #expect(eventually { running.shows("coffer_jobs_open{kind=\"k\"} 1") })
    #expect(running.shows("coffer_jobs_dead{kind=\"k\"} 0"))
    #expect(eventually { running.shows("coffer_jobs_oldest_due_seconds{kind=\"k\"} 90") })
  }
}

/// Holds handlers until the test releases them.
private final class Gate: Sendable {
  private let state = Locked((inside: 0, insideMax: 0, isOpen: false))

  func pass() {
    state.signal { state in
      state.inside += 1
      state.insideMax = max(state.insideMax, state.inside)
    }
    _ = state.wait(until: .now() + .seconds(20)) { $0.isOpen ? true : nil }
    state.signal { $0.inside -= 1 }
  }

  func open() { state.signal { $0.isOpen = true } }
  var insideCount: Int { state.withLock { $0.inside } }
  var insideCountMax: Int { state.withLock { $0.insideMax } }
}
