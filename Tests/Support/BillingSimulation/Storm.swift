import Base
import Jobs
import Ledger
import ProviderFakes
package import SeededRandom
package import Simulation
package import Subscriptions
package import TestEngines

/// A story under faults: deliveries that arrive late, twice, in any order or not at all, a process that dies,
/// and stores that do not answer or show an old state. In every case the end equals that of the calm run.
package final class Storm {
  package struct Wrong: Error, CustomStringConvertible {
    package let description: String
  }

  let live: Live
  let installation: Installation
  let log: SimulationLog
  /// Whether the disk is full at times, for the whole process.
  private let fillsDisk: Bool
  private var random: SeededGenerator
  private var readings: [Installation.Reading] = []
  /// Indices of deliveries that were answered with success. If they are sent again, nothing need be written.
  private var delivered: Set<Int> = []

  package init(
    _ live: Live, _ engine: TestEngine, _ random: SeededGenerator, fillsDisk: Bool = false,
    _ log: SimulationLog = SimulationLog()
  ) throws {
    self.live = live
    self.random = random
    self.fillsDisk = fillsDisk
    self.log = log
    installation = try Installation(engine, live.stores)
  }

  /// Runs each event once, in order, and the jobs as they become due.
  package static func calm(_ live: Live, _ engine: TestEngine) throws -> Installation {
    let calm = try Storm(live, engine, SeededGenerator(seed: 0))
    for (index, event) in live.events.enumerated() {
      try calm.happen(index, at: event.at)
      try calm.installation.runDue()
    }
    calm.installation.now = max(calm.installation.now, live.end)
    try calm.installation.settle()
    return calm.installation
  }

  /// Deliveries in any order after the story's end, some twice, perhaps one lost. `keys` are the objects that
  /// the installation would know if it had received everything.
  package func shuffled(_ keys: [ObjectKey]) throws -> Installation {
    installation.now = live.end
    var order = live.deliveries.shuffled(using: &random)
    let lost =
      Bool.random(using: &random)
      ? order.filter { !live.irreparable.contains($0) }.randomElement(using: &random) : nil
    order += order.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
    order.removeAll { $0 == lost }
    for index in order {
      try happen(index, at: installation.now)
      try gust()
      installation.now = installation.now + .seconds(Int64.random(in: 0...20, using: &random))
    }
    try clear()
    for index in live.events.indices where !live.deliveries.contains(index) {
      try happen(index, at: installation.now)
    }
    if let lost { try repair(lost, keys) }
    try settle()
    return installation
  }

  /// Every event arrives up to a day and a half late. Between arrivals reads begin, and end later.
  package func overlapping() throws -> Installation {
    let arrivals = live.events.enumerated().map { index, event in
      (at: event.at + .minutes(Int64.random(in: 0...2160, using: &random)), index: index)
    }.sorted { ($0.at, $0.index) < ($1.at, $1.index) }
    for (at, index) in arrivals {
      try happen(index, at: at)
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        installation.now = installation.now + .seconds(Int64.random(in: 0...90, using: &random))
        try gust()
      }
    }
    installation.now = max(installation.now, live.end)
    try clear()
    try settle()
    return installation
  }

  // MARK: What goes wrong

  private func gust() throws {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: try crash()
    case 1, 2: try read()
    case 3, 4: try commit()
    case 5:
      try read()
      try crash()
    case 6: failReads()
    case 7: lag()
    default: break
    }
  }

  private func crash() throws {
    let before = try installation.digest()
    log.write(installation.now, "crash")
    try installation.crash()
    readings = []
    guard try installation.digest() == before else {
      throw Wrong(description: "a crash changed what was committed")
    }
  }

  /// Leases the jobs that are due and asks the store, without committing.
  private func read() throws {
    for reading in try installation.beginReads() {
      let isAnswered = if case .success = reading.result { true } else { false }
      log.write(
        installation.now, "read \(Self.name(reading))\(isAnswered ? "" : ": no answer")")
      readings.append(reading)
    }
  }

  private func commit() throws {
    guard let index = readings.indices.randomElement(using: &random) else { return }
    let reading = readings.remove(at: index)
    try withFullDisk("commit", isNothingNew: true) {
      do { try installation.commit(reading) } catch { return 503 }
      return 200
    }
    log.write(installation.now, "commit \(Self.name(reading))")
    try installation.commit(reading)
  }

  private func failReads() {
    let failures: [FakeFaults.Failure] = (0..<Int.random(in: 1...3, using: &random)).map { _ in
      [.status(500), .status(503, retryAfter: 7), .status(429, retryAfter: 30), .timeout][
        Int.random(in: 0..<4, using: &random)]
    }
    log.write(installation.now, "the store will fail with \(failures.map(Self.name))")
    live.faults.randomElement(using: &random)?.fail(next: failures)
  }

  /// Less than the time after which a read is confirmed.
  private func lag() {
    let seconds = Bool.random(using: &random) ? Int64.random(in: 1...45, using: &random) : 0
    log.write(installation.now, "the store's replicas lag \(seconds) s")
    for faults in live.faults { faults.setReplicaLag(.seconds(seconds)) }
  }

  /// Commits the reads that have begun, and makes replicas current again.
  private func clear() throws {
    for faults in live.faults { faults.setReplicaLag(.seconds(0)) }
    for reading in readings {
      log.write(installation.now, "commit \(Self.name(reading))")
      try installation.commit(reading)
    }
    readings = []
  }

  private func settle() throws {
    try installation.settle()
    log.write(installation.now, "settled")
  }

  /// Replaces a lost delivery by reading every record. If no other delivery named the subscription, there is
  /// no record to read, so the delivery can only come late.
  private func repair(_ lost: Int, _ all: [ObjectKey]) throws {
    log.write(installation.now, "event \(lost) was lost: read everything again")
    try installation.reread(installation.keys)
    try installation.settle()
    if try installation.keys != all { try happen(lost, at: installation.now) }
  }

  /// Sometimes tries `body` while nothing can be written: it must fail and change nothing.
  private func withFullDisk(
    _ what: String, isNothingNew: Bool = false, _ body: () throws -> Int
  ) throws {
    guard fillsDisk, Int.random(in: 0..<10, using: &random) == 0 else { return }
    let byteCount = Int.random(in: 0..<4096, using: &random)
    let before = try installation.digest()
    let status = try FullDisk.within(byteCount: byteCount, body)
    log.write(installation.now, "\(what) on a disk full at \(byteCount) bytes: \(status)")
    let after = try installation.digest()
    guard after == before, status == 503 || isNothingNew else {
      throw Wrong(description: "\(what) answered \(status) though the disk was full")
    }
  }

  // MARK: What happens

  private func happen(_ index: Int, at now: Instant) throws {
    installation.now = max(installation.now, now)
    switch live.events[index].what {
    case .delivery(let request):
      let name = "delivery \(index)"
      try withFullDisk(name, isNothingNew: delivered.contains(index)) {
        try installation.deliver(request(installation.now))
      }
      try accepted(name) { try installation.deliver(request(installation.now)) }
      delivered.insert(index)
    case .claim(let key, let account):
      log.write(installation.now, "claim")
      try installation.decide { ledger, transaction, now in
        try ledger.decide(.claim(account, key), at: now, in: transaction)
      }
    case .posted(let claim, let account):
      try accepted("claim") { try installation.post(claim, by: account) }
    case .deletion(let account):
      log.write(installation.now, "deletion of the account")
      try installation.decide { ledger, transaction, now in
        try ledger.decide(.accountDeleted(account), at: now, in: transaction)
      }
    }
  }

  /// Sends until accepted, as a store does. Only a status of 429, or of 500 and above, is retried; any other
  /// refusal throws.
  private func accepted(_ what: String, _ send: () throws -> Int) throws {
    for _ in 0..<20 {
      let status = try send()
      log.write(installation.now, "\(what): \(status)")
      if status == 200 || status == 202 { return }
      guard status >= 500 || status == 429 else {
        throw Wrong(description: "\(what) was refused with \(status)")
      }
      installation.now = installation.now + .minutes(1)
    }
    throw Wrong(description: "\(what) was never taken")
  }

  private static func name(_ reading: Installation.Reading) -> String {
    "\(reading.handler.kind) \(reading.lease.object)"
  }

  private static func name(_ failure: FakeFaults.Failure) -> String {
    switch failure {
    case .timeout: "timeout"
    case .status(let status, _): "\(status)"
    }
  }

  /// In few words, how two digests differ.
  package static func difference(_ found: [String], _ expected: [String]) -> String {
    let extra = found.filter { !expected.contains($0) }
    let missing = expected.filter { !found.contains($0) }
    return "found \(extra.prefix(3)), expected \(missing.prefix(3))"
  }
}
