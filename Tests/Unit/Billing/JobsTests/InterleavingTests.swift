import Base
import Jobs
import SeededRandom
import Storage
import TestEngines
import Testing

/// Seeded interleavings of everything that can happen to a few jobs, compared with a list of what happened.
@Suite struct InterleavingTests {
  @Test(arguments: TestEngine.available, [0, 1])
  func `no interleaving loses a request or leases twice`(
    _ engine: TestEngine, _ confirmations: Int
  ) throws {
    let queue = try Queue(engine)
    let seed = SeededGenerator.seed(of: "interleavings \(engine) \(confirmations)")
    var random = SeededGenerator(seed: seed)
    var stories = (0..<3).map { Story(object: "o\($0)", confirmations: confirmations) }
    for count in 0..<1_000 {
      let index = Int.random(in: 0..<stories.count, using: &random)
      // In every other stretch the provider refuses all requests.
      try stories[index].step(queue, refuses: count / 250 % 2 == 1, &random)
      try stories[index].check(queue)
    }
    for index in stories.indices { try stories[index].finish(queue) }
  }
}

/// What happened to one job, kept as a plain list: no numbers, no due time.
private struct Story {
  let object: String
  let confirmations: Int
  private var requests: [Request] = []
  private var reads: [Read] = []
  private var refusalCount = 0

  private struct Request {
    let end: Instant?
  }

  private struct Read {
    let lease: Lease
    /// The number of requests when it began, and the time.
    let requestCount: Int
    let began: Instant
    var committed: Instant?
    /// Whether it committed or failed.
    var isOver = false
    /// Whether its reader crashed for good.
    var isLost = false

    var canAct: Bool { !isOver && !isLost }
  }

  init(object: String, confirmations: Int) {
    self.object = object
    self.confirmations = confirmations
  }

  mutating func step(
    _ queue: Queue, refuses: Bool, _ random: inout SeededGenerator
  ) throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<15: try request(queue, &random)
    case 15..<45: try lease(queue)
    case 45..<65 where !refuses: try commit(queue, &random)
    case 45..<65: try fail(queue, isRefused: true)
    case 65..<72: try fail(queue, isRefused: Bool.random(using: &random))
    case 72..<75: crash()
    case 75..<80 where try job(queue)?.state == .dead: try queue.revive(object, kind: object)
    case 80..<90: queue.pass(.milliseconds(Int64.random(in: 1...5_000, using: &random)))
    default: queue.pass(.seconds(Int64.random(in: 1...200, using: &random)))
    }
  }

  /// Checks that nothing is settled that a request still needs.
  func check(_ queue: Queue) throws {
    guard let job = try job(queue) else {
      #expect(requests.isEmpty)
      return
    }
    if job.state == .settled { #expect(openRequests.isEmpty, "\(object): settled too early") }
    if job.state == .dead { #expect(refusalCount >= JobRules.refusalCountMax) }
    #expect(job.issued == Int64(reads.count))
  }

  /// Runs one honest reader alone, until the job settles.
  mutating func finish(_ queue: Queue) throws {
    guard let job = try job(queue) else { return }
    if job.state == .dead { try queue.revive(object, kind: object) }
    for _ in 0..<10 {
      if try self.job(queue)?.state == .settled { break }
      queue.pass(.hours(1))
      try lease(queue)
      for index in reads.indices.suffix(1) where reads[index].canAct {
        try queue.commit(reads[index].lease, readBegan: queue.now)
        reads[index].committed = queue.now
        reads[index].isOver = true
      }
    }
    #expect(try self.job(queue)?.state == .settled)
    try check(queue)
  }

  private func job(_ queue: Queue) throws -> JobSummary? {
    try queue.database.read { try Jobs.find(object, object, reading: $0) }
  }

  /// The requests without a kept read that began after them, or without enough confirming reads.
  private var openRequests: [Int] {
    requests.indices.filter { index in
      let settling = reads.filter { read in
        read.committed != nil && read.requestCount > index
          && (requests[index].end.map { read.began >= $0 } ?? true)
      }
      guard let first = settling.compactMap(\.committed).min() else { return true }
      let confirming = settling.filter { $0.began >= first + JobRules.confirmationDelay }
      return confirming.count < confirmations
    }
  }

  private mutating func request(_ queue: Queue, _ random: inout SeededGenerator) throws {
    let lead = Int64.random(in: -5...5, using: &random)
    let end = Bool.random(using: &random) ? queue.now + .seconds(lead) : nil
    try queue.request(object, kind: object, settleAfter: end, confirmations: confirmations)
    requests.append(Request(end: end))
  }

  private mutating func lease(_ queue: Queue) throws {
    let now = queue.now
    for lease in try queue.leases(kind: object) {
      let others = reads.filter { !$0.isOver && now < $0.began + JobRules.leaseTime }
      #expect(others.isEmpty, "\(object): leased twice")
      #expect(lease.readNumber > reads.last?.lease.readNumber ?? 0)
      reads.append(Read(lease: lease, requestCount: requests.count, began: now))
    }
  }

  private mutating func commit(_ queue: Queue, _ random: inout SeededGenerator) throws {
    guard let index = reads.indices.filter({ reads[$0].canAct }).randomElement(using: &random)
    else { return }
    let (lease, began, now) = (reads[index].lease, reads[index].began, queue.now)
    guard Int.random(in: 0..<5, using: &random) > 0 else {
      // The transaction fails at its end, so nothing has happened.
      #expect(throws: JobFailure.refused("undone")) {
        try queue.database.write(for: nil) { transaction in
          try lease.commit(readBegan: began, now: now, in: transaction)
          throw JobFailure.refused("undone")
        }
      }
      return
    }
    try queue.commit(lease, readBegan: began)
    reads[index].committed = now
    reads[index].isOver = true
  }

  private mutating func fail(_ queue: Queue, isRefused: Bool) throws {
    guard let index = reads.lastIndex(where: \.canAct) else { return }
    if isRefused { refusalCount += 1 }
    try queue.retry(
      reads[index].lease, isRefused ? .refused("no") : .transient("down", retryAfter: nil))
    reads[index].isOver = true
  }

  private mutating func crash() {
    if let index = reads.lastIndex(where: \.canAct) { reads[index].isLost = true }
  }
}
