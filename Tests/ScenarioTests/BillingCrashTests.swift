import Base
import Configuration
import Crypto
import Glibc
import Storage
import StripeSamples
import TestEngines
import Testing

/// What `kill -9` under load leaves of `coffer-billing`: every delivery it ever said 200 to.
@Suite(.serialized) struct BillingCrashTests {
  @Test(arguments: TestEngine.available)
  func `a crash loses and doubles no delivery that was acknowledged`(engine: TestEngine) throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "billing crash, \(engine)"))
    let installation = try Installation(engine)
    var billing = try installation.start(.billing)
    let port = billing.port
    var senders: [Sender] = []
    for _ in 0..<Crashes.count(of: engine) {
      let fresh = (0..<4).map { _ in Sender(port: port) }
      let threads = fresh.map { sender in Thread { sender.sendUntilLost() } }
      usleep(UInt32.random(in: 100_000..<400_000, using: &random))
      billing.kill()
      for thread in threads { thread.join() }
      billing = try installation.start(.billing, port: port)
      senders += fresh
    }
    let acknowledged = senders.flatMap(\.acknowledged)
    let lost = senders.compactMap(\.lost)
    #expect(senders.flatMap(\.trouble) == [])
    #expect(!acknowledged.isEmpty)
    #expect(lost.count == senders.count, "the load ended before the crash")

    // As after every answer that stayed away, the provider delivers again.
    let again = Sender(port: port)
    for event in lost { again.send(event) }
    #expect(again.acknowledged.count == lost.count)
    #expect(billing.stop() == .exited(0))

    let kept = try Self.deliveries(keptBy: installation)
    #expect(kept.count == acknowledged.count + lost.count)
    let wrong = (acknowledged + lost).filter {
      kept[$0.id] != Kept(sources: 1, subscriptions: 1)
    }
    #expect(wrong.map(\.id) == [])
  }

  private struct Kept: Equatable {
    var sources: Int64
    /// What its own transaction derived from it.
    var subscriptions: Int64
  }

  private static func deliveries(keptBy installation: Installation) throws -> [String: Kept] {
    let database = try Database.open(installation.location, owning: .billing)
    defer { database.close() }
    let rows = try database.read { reader in
      try reader.rows(
        """
        SELECT delivery_id, count(*),
          (SELECT count(*) FROM billing.subscriptions
            WHERE object = 'stripe:live:subscription:' || min(sources.object))
        FROM billing.sources GROUP BY delivery_id
        """
      ) { row in
        (try row.text(0), Kept(sources: try row.integer(1), subscriptions: try row.integer(2)))
      }
    }
    return Dictionary(uniqueKeysWithValues: rows)
  }
}
