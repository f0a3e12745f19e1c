import Base
import Billing
import Crypto
import JSON
import KnownStores
import Ledger
import SeededRandom
import Storage
import Stores
import Stripe
import Subscriptions
import Tiers

/// The cost of one more event in a ledger, by the number of other stored subscriptions.
///
/// Two databases get the same events by turns, so that a busy moment of the machine affects both.
struct LedgerCost {
  /// The number of timed events: one for each subscription of the smaller ledger.
  private static let smallCount = 1000
  /// The size of a Stripe delivery, which is sealed and kept.
  private static let bodyByteCount = 3500
  private static let fillBatchCount = 500

  private let samples: FoldSamples
  private let options: Options
  private let workspace: Workspace
  private let sealing: SealingKeys
  private let body = Random.bytes(bodyByteCount)

  init(_ samples: FoldSamples, _ options: Options, _ workspace: Workspace) throws(BenchError) {
    self.samples = samples
    self.options = options
    self.workspace = workspace
    do throws(CryptoError) {
      sealing = try SealingKeys([Secret(Random.bytes(32))])
    } catch {
      throw .command("no sealing key: \(error)")
    }
  }

  struct Outcome {
    let description: String
    let timings: [Timing]
    let figures: [Figure]
  }

  func measure() throws(BenchError) -> Outcome {
    let counts = [Self.smallCount, options.storedCount]
    var stores: [Store] = []
    for count in counts { stores.append(try Store(filled(count), count, seed: options.seed)) }
    defer { for store in stores { store.database.close() } }
    for round in 0..<Self.smallCount {
      for index in round.isMultiple(of: 2) ? [0, 1] : [1, 0] {
        try record(round, in: &stores[index])
      }
    }
    let recording = stores.map { store in
      Timing("one event beside \(FoldBench.grouped(store.count)) subscriptions", store.recording)
    }
    let durable = stores.map { store in
      Timing("… until it is durable", store.durable)
    }
    return Outcome(
      description: "SQLite; \(Self.smallCount) invoices paid, each of another stored subscription "
        + "drawn at random, to both ledgers by turns",
      timings: [recording[0], durable[0], recording[1], durable[1]],
      figures: [
        .growth(
          "ratio_recorded", recording[1].median / recording[0].median,
          "times the time to record an event, for \(counts[1] / counts[0]) times as many others",
          limit: 1.3),
        .growth(
          "ratio_durable", durable[1].median / durable[0].median,
          "times the time until it is durable", limit: 1.3),
      ])
  }

  private struct Store {
    let database: Database
    let count: Int
    var recording: [UInt64] = []
    var durable: [UInt64] = []
    /// The subscriptions of the events, in turn.
    let order: [Int]

    init(_ database: Database, _ count: Int, seed: UInt64) {
      self.database = database
      self.count = count
      var random = SeededGenerator(seed: seed)
      order = Array((0..<count).shuffled(using: &random).prefix(smallCount))
    }
  }

  private func filled(_ count: Int) throws(BenchError) -> Database {
    let directory = try workspace.directory("ledger-\(count)")
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: samples.catalogue))
    do {
      let database = try Database.open(.sqlite(directory: directory), owning: .billing)
      for first in stride(from: 0, to: count, by: Self.fillBatchCount) {
        let deliveries = (first..<min(count, first + Self.fillBatchCount)).map { index in
          let id = Self.id(index)
          return delivery(
            "evt_\(id)",
            [
              FoldSamples.subscription(
                id, account: Self.account(index), created: Instant(seconds: 1_480_000_000)),
              FoldSamples.paidInvoice(id, 0),
            ])
        }
        try database.write(for: nil) { transaction in
          for delivery in deliveries { _ = try ledger.record(delivery, in: transaction) }
        }
      }
      return database
    } catch {
      throw .command("filling a ledger: \(error)")
    }
  }

  private func record(_ round: Int, in store: inout Store) throws(BenchError) {
    let id = Self.id(store.order[round])
    let delivery = delivery("evt_\(id)_2", [FoldSamples.paidInvoice(id, 1)])
    let ledger = Ledger(stores: .known, rules: LedgerRules(catalogue: samples.catalogue))
    let start = MonotonicTime.now()
    do {
      let inside = try store.database.write(for: nil) { transaction in
        let start = MonotonicTime.now()
        _ = try ledger.record(delivery, in: transaction)
        return MonotonicTime.now().nanoseconds - start.nanoseconds
      }
      store.recording.append(inside)
    } catch {
      throw .command("recording an event: \(error)")
    }
    store.durable.append(MonotonicTime.now().nanoseconds - start.nanoseconds)
  }

  private func delivery(_ id: String, _ facts: [Fact]) -> PreparedDelivery {
    PreparedDelivery(
      DecodedDelivery(
        provider: .stripe, environment: .live, deliveryID: id, type: "invoice.paid",
        object: facts.last?.key.id, created: facts.last?.asOf.from, facts: facts,
        disposition: .joined, meaning: ["type": "invoice.paid"]),
      of: StripeStore(), received: Instant(seconds: 1_800_000_000), head: [], body: body,
      sealing: sealing)
  }

  /// Ids in no order, like a provider's.
  private static func id(_ index: Int) -> String {
    "sub_" + Hex.encode(SHA256.hash(Array("\(index)".utf8)).prefix(9))
  }

  private static func account(_ index: Int) -> Identifier {
    Identifier(high: UInt64(index) &* 0x9E37_79B9_7F4A_7C15, low: UInt64(index))
  }
}
