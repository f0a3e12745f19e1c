import Base
import Configuration
import Glibc
import SeededRandom
import StripeSamples
import TestEngines
import Testing

/// `coffer-billing` after `kill -9` under load: it still has every delivery that it ever answered with 200.
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

    // The provider delivers again, as after every missing answer.
    let again = Sender(port: port)
    for event in lost { again.send(event) }
    #expect(again.acknowledged.count == lost.count)
    #expect(billing.stop() == .exited(0))

    let kept = try Deliveries(installation)
    #expect(kept.count == acknowledged.count + lost.count)
    kept.expectEach(of: acknowledged + lost)
  }
}
