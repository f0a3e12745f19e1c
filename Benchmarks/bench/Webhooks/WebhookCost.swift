import Base
import Crypto
import Glibc
import HTTPMessages
import HTTPServer
import KnownStores
import Ledger
import SQLite
import Storage
import Stores
import Tiers

/// The processor time of a delivery, part by part, for the same code in one thread of this process.
///
/// A part inside another is also measured by itself and subtracted: verifying and parsing are inside the
/// preparation of a delivery.
struct WebhookCost {
  /// Deliveries of one store, and the functions that are also timed on them.
  struct Sample {
    let store: any Store
    /// Its name in a report.
    let title: String
    let environment: StoreEnvironment
    let requests: [(head: RequestHead, body: [UInt8])]
    /// Proves the sender of one delivery.
    let verify: (_ index: Int) throws -> Void
    /// Does so, and parses the JSON.
    let verifyAndParse: (_ index: Int) throws -> Void
  }

  /// The number of deliveries between two checkpoints, which are not timed.
  private static let checkpointed = 512

  private let workspace: Workspace
  private let catalogue: Catalogue

  init(_ workspace: Workspace, _ catalogue: Catalogue) {
    self.workspace = workspace
    self.catalogue = catalogue
  }

  /// Nanoseconds of processor time for all deliveries after the first tenth.
  private struct Spent {
    var verify = 0.0
    var verifyAndParse = 0.0
    var prepare = 0.0
    var seal = 0.0
    var record = 0.0
    var commit = 0.0
    /// By the clock.
    var recordTime = 0.0
    var commitTime = 0.0
    var frameCount = 0
    var count = 0
  }

  /// `batchCount` deliveries go into each commit, `groupCount` of them are recorded together, and the server
  /// needs `serverMicroseconds` for each.
  private func measure(
    _ sample: Sample, batchCount: Int, groupCount: Int, serverMicroseconds: Double
  ) throws(BenchError) -> Breakdown {
    do {
      let connection = TimedConnection(try self.connection(sample))
      let spent = try spend(sample, batchCount, groupCount, connection)
      return try Self.breakdown(
        sample, batchCount, spent, connection, serverMicroseconds: serverMicroseconds)
    } catch {
      throw .command("what a delivery of \(sample.title) costs: \(error)")
    }
  }

  /// Measures in commits and groups of the server's size.
  func measure(_ sample: Sample, _ server: SideBySide) throws(BenchError) -> Breakdown {
    try measure(
      sample, batchCount: max(1, Int(server.metrics.deliveriesPerCommit.rounded())),
      groupCount: max(1, Int(server.metrics.deliveriesPerWrite.rounded())),
      serverMicroseconds: server.ours.outcome.serverMicrosecondsEach)
  }

  /// A writer's connection to a database whose schema and rules are in force.
  private func connection(_ sample: Sample) throws -> SQLiteConnection {
    let directory = try workspace.directory("cost-\(sample.store.provider)")
    let database = try Database.open(.sqlite(directory: directory), owning: .billing)
    let ledger = ledger(sample)
    try database.write(for: nil) { try ledger.takeForce(at: .now, in: $0) }
    database.close()
    return try SQLiteFiles(directory: directory).connect(.writer(.billing), lockWait: .seconds(1))
  }

  private func ledger(_ sample: Sample) -> Ledger {
    Ledger(
      stores: StoreList.known(with: sample.store),
      rules: LedgerRules(catalogue: catalogue, grantingEnvironment: sample.environment))
  }

  private func spend(
    _ sample: Sample, _ batchCount: Int, _ groupCount: Int, _ connection: TimedConnection
  ) throws -> Spent {
    let sealing = try SealingKeys([Secret(Random.bytes(32))])
    guard let webhook = sample.store.webhook else { throw BenchError.command("it has no webhook") }
    let (requests, ledger, counter) = (sample.requests, ledger(sample), WorkCounter(.write))
    let now = Instant.now
    var spent = Spent()
    var isWarm = false
    var uncopied = 0
    for start in stride(from: 0, to: requests.count, by: batchCount) {
      let isFirst = !isWarm && start >= requests.count / 10
      if isFirst || uncopied >= Self.checkpointed {
        spent.frameCount += try connection.connection.checkpoint("billing", .passive) ?? 0
        uncopied = 0
      }
      if isFirst {
        isWarm = true
        connection.forget()
        spent = Spent()
      }
      let slice = requests[start..<min(requests.count, start + batchCount)]
      spent.count += slice.count
      uncopied += slice.count
      spent.verify += try timed { for index in slice.indices { try sample.verify(index) } }
      spent.verifyAndParse += try timed {
        for index in slice.indices { try sample.verifyAndParse(index) }
      }
      var read: [(Delivery, [UInt8])] = []
      spent.prepare += try timed {
        for (head, body) in slice {
          guard case .ready(let preparation) = try webhook.admit(head, now) else { continue }
          read.append((try preparation(body, now), body))
        }
      }
      guard read.count == slice.count else { throw BenchError.command("a delivery had to wait") }
      var prepared: [PreparedDelivery] = []
      spent.seal += timed {
        for (delivery, body) in read {
          prepared.append(
            PreparedDelivery(
              delivery, of: sample.store, received: now, body: body, sealing: sealing))
        }
      }
      let begin = MonotonicTime.now()
      spent.record += try timed {
        try connection.connection.execute("BEGIN IMMEDIATE")
        for first in stride(from: 0, to: prepared.count, by: groupCount) {
          let session = Session(connection, counting: counter)
          defer { session.end() }
          let group = Array(prepared[first..<min(prepared.count, first + groupCount)])
          _ = try ledger.record(group, in: Transaction(session))
        }
      }
      let middle = MonotonicTime.now()
      spent.commit += try timed { try connection.connection.execute("COMMIT") }
      let end = MonotonicTime.now()
      spent.recordTime += Double(middle.nanoseconds - begin.nanoseconds)
      spent.commitTime += Double(end.nanoseconds - middle.nanoseconds)
    }
    spent.frameCount += try connection.connection.checkpoint("billing", .passive) ?? 0
    return spent
  }

  private static func breakdown(
    _ sample: Sample, _ batchCount: Int, _ spent: Spent, _ connection: TimedConnection,
    serverMicroseconds: Double
  ) throws -> Breakdown {
    let count = Double(spent.count)
    let each = { (total: Double) in total / count / 1000 }
    let read = min(spent.verifyAndParse, spent.prepare)
    let verify = min(spent.verify, read)
    // Statements are timed by the clock, which also runs while other threads have the processor.
    let share = spent.record / max(1, spent.recordTime)
    let statements = min(spent.record, Double(connection.nanoseconds) * share)
    let pageByteCount = try connection.connection.integer("PRAGMA billing.page_size")
    return Breakdown(
      store: sample.title,
      stages: [
        ("verify", each(verify)), ("parse", each(read - verify)),
        ("decode", each(spent.prepare - read)), ("seal", each(spent.seal)),
        ("statements", each(statements)), ("fold", each(spent.record - statements)),
        ("commit", each(spent.commit)),
      ],
      statements: connection.statements.map { sql, total in
        Breakdown.Statement(
          sql: sql.split { $0 == "\n" || $0 == " " }.joined(separator: " "),
          perDelivery: Double(total.count) / count,
          microseconds: each(Double(total.nanoseconds) * share))
      }.sorted { $0.microseconds > $1.microseconds },
      waitMicroseconds: each(max(0, spent.commitTime - spent.commit)),
      logByteCount: spent.frameCount * Int(pageByteCount) / spent.count, batchCount: batchCount,
      serverMicroseconds: serverMicroseconds)
  }

  /// Nanoseconds of this thread's processor time.
  private func timed(_ body: () throws -> Void) rethrows -> Double {
    let start = Self.processorTime()
    try body()
    return Self.processorTime() - start
  }

  private static func processorTime() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}
