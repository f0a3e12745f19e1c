import Base
import Jobs
import Storage
import TestEngines
import Testing

/// The trace of the request that asked for a job. It connects the waiting client with the work done.
@Suite struct JobTraceTests {
  private static let first = TraceContext.begin()
  private static let second = TraceContext.begin()

  @Test(arguments: TestEngine.available)
  func `a job belongs to the trace that asked first for what is not settled`(
    engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try queue.request(trace: Self.first)
    try queue.request(trace: Self.second)
    let lease = try queue.lease()
    #expect(lease.trace?.id == Self.first.id)
    try queue.commit(lease)
    try queue.request(trace: Self.second)
    #expect(try queue.lease().trace?.id == Self.second.id)
  }

  @Test func `a job that waits without a trace takes that of who asks then`() throws {
    let queue = try Queue(.sqlite)
    try queue.request()
    try queue.request(trace: Self.first)
    #expect(try queue.lease().trace?.id == Self.first.id)
  }

  @Test func `a job that is asked for anew forgets the trace of what was settled`() throws {
    let queue = try Queue(.sqlite)
    try queue.request(trace: Self.first)
    try queue.commit(queue.lease())
    try queue.request()
    #expect(try queue.lease().trace == nil)
  }

  @Test(arguments: [Self.first, nil])
  func `a run goes on in its job's trace, and in one of its own without`(
    trace: TraceContext?
  ) throws {
    let queue = try Queue(.sqlite)
    let met = Locked<String?>(nil)
    let runner = JobRunner(
      database: queue.database, clock: queue.clock,
      handlers: [
        JobHandler("k") { _ in
          met.withLock { $0 = TraceContext.current?.id }
          return JobResult(readBegan: nil) { _ in }
        }
      ], metrics: Metrics())
    try queue.request(trace: trace)
    runner.start(threads: 1)
    #expect(eventually { met.withLock { $0 } != nil })
    runner.stop()
    if let trace { #expect(met.withLock { $0 } == trace.id) }
  }
}
