import Base
import Billing
import JSON
import KnownStores
import Ledger
import Storage
import Stores
import Stripe
import TestEngines
import Testing
import Tiers

/// Deliveries that wait for the ledger at the same time.
struct DeliveryQueueTests {
  private let harness: Harness
  private let queue: DeliveryQueue

  init() throws {
    harness = try Harness(.sqlite)
    queue = DeliveryQueue(
      ledger: Ledger(stores: .known, rules: LedgerRules(catalogue: catalogue)),
      database: harness.database)
  }

  @Test func `deliveries that come while the writer is busy are numbered at once`() throws {
    let alone = try statements { _ = try answers(of: [delivery("evt_first")]) }
    let together = try statements {
      let answers = try answers(of: (0..<10).map { delivery("evt_\($0)") })
      #expect(answers.allSatisfy { $0 == "recorded" })
    }
    // Each delivery keeps its own row; the numbers are taken for all at once.
    #expect(together < alone * 10)
    #expect(try harness.count("SELECT count(*) FROM billing.deliveries") == 11)
    #expect(try harness.count("SELECT last_number FROM billing.sequence") == 11)
  }

  @Test func `a delivery that cannot be recorded harms none that waits beside it`() throws {
    // SQL text holds no U+0000; decoders let none through.
    let deliveries = (0..<20).map { delivery($0 == 7 ? "evt_\0" : "evt_\($0)") }
    let answers = try answers(of: deliveries)
    #expect(answers.enumerated().allSatisfy { ($0.element == "recorded") == ($0.offset != 7) })
    #expect(answers[7].contains("a statement is wrong"))
    #expect(try harness.count("SELECT count(*) FROM billing.deliveries") == 19)
  }

  @Test func `the same delivery twice in a group is one with a repetition`() throws {
    let delivery = delivery("evt_1")
    #expect(try answers(of: [delivery, delivery]) == ["recorded", "duplicate"])
    #expect(try harness.count("SELECT redelivery_count FROM billing.deliveries") == 1)
  }

  @Test func `more than may wait are told to come again, and only they`() throws {
    let one = delivery("evt_1")
    let answers = try answers(of: (0...DeliveryQueue.countMax).map { _ in one })
    #expect(answers.count { $0.contains("too much to do") } == 1)
    #expect(answers.last?.contains("too much to do") == true)
    #expect(try harness.count("SELECT redelivery_count FROM billing.deliveries") == 4095)
  }

  @Test func `a closed database is told to each that waits`() throws {
    harness.database.close()
    #expect(try answers(of: [delivery("evt_1")]).allSatisfy { $0.contains("not available") })
  }

  /// Queues all deliveries while the writer is busy, then releases it. Returns the status or error of each.
  private func answers(of deliveries: [PreparedDelivery]) throws -> [String] {
    let isHeld = Locked(true)
    let answers = Locked<[Int: String]>([:])
    harness.database.submitWrite(for: nil) { _ in
      _ = isHeld.wait(until: .now() + .seconds(30)) { $0 ? nil : true }
    } completion: { _ in
    }
    for (index, delivery) in deliveries.enumerated() {
      queue.record(delivery) { result in
        answers.signal { answers in
          switch result {
          case .success(let recorded): answers[index] = recorded.status
          case .failure(let error): answers[index] = "\(error)"
          }
        }
      }
    }
    isHeld.signal { $0 = false }
    let count = deliveries.count
    let all = answers.wait(until: .now() + .seconds(30)) { $0.count == count ? $0 : nil }
    return try #require(all).sorted { $0.key < $1.key }.map { $0.value }
  }

  private func statements(_ body: () throws -> Void) rethrows -> Int64 {
    let before = harness.database.writeWork.statementCount
    try body()
    return harness.database.writeWork.statementCount - before
  }

  private func delivery(_ id: String) -> PreparedDelivery {
    PreparedDelivery(
      DecodedDelivery(
        provider: .stripe, environment: .live, deliveryID: id, type: "test", disposition: .recorded,
        meaning: ["id": "test"]),
      of: StripeStore(), received: day0, head: [], body: [], sealing: Harness.sealing)
  }
}
