import Base
import Configuration
import JSON
import RecordedStories
import SeededRandom
import StripeSamples
import TestDevices
import TestEngines
import Testing

/// An earlier version, which `ops/upgrade-test` builds and names, and this one on the same database.
@Suite(.enabled(if: TestRun.previousPrograms != nil)) struct UpgradeTests {
  private static let story = "\(RecordedStory.folder)/stripe/2025-03-31.basil/first-purchase"
  private static let paidCap: Int64 = 30_000_000_000

  @Test(arguments: TestEngine.available)
  func `this version takes over from the one before while both are used`(
    engine: TestEngine
  ) throws {
    let previous = try #require(TestRun.previousPrograms)
    let installation = try Installation(
      engine, with: .nothing, settings: ["COFFER_PLANS": RecordedStory.cataloguePath])
    let seed = SeededGenerator.seed(of: "upgrade, \(engine)")
    let oldSync = try installation.start(.sync, from: previous)
    let oldBilling = try installation.start(.billing, from: previous)
    let olds = try (0..<2).map { number in
      try Writer(installation.device(of: oldSync), seed: seed &+ UInt64(number))
    }
    let oldSender = Sender(port: oldBilling.port)
    let buyers = try (0..<2).map { _ in try installation.device(of: oldSync) }
    // This version's `coffer` would refuse a schema that is not its own yet.
    try Self.deliver(
      "03-customer.subscription.created.http", to: buyers[0], oldBilling, from: previous)

    // While those write, this version migrates and serves next to them.
    let before =
      olds.map { old in Thread { old.write(times: 60) } }
      + [Thread { oldSender.send(times: 60) }]
    let sync = try installation.start(.sync)
    let billing = try installation.start(.billing)
    let news = try (0..<2).map { number in
      try Writer(installation.device(of: sync), seed: seed &+ UInt64(10 + number))
    }
    let sender = Sender(port: billing.port)
    let beside =
      news.map { new in Thread { new.write(times: 60) } } + [Thread { sender.send(times: 60) }]
    for thread in before + beside { thread.join() }

    // One purchase of which each version got half, and one that the older version got while both ran.
    try Self.deliver("04-invoice.paid.http", to: buyers[0], billing)
    for file in ["03-customer.subscription.created.http", "04-invoice.paid.http"] {
      try Self.deliver(file, to: buyers[1], oldBilling)
    }
    for device in buyers {
      let other = installation.device(of: sync, key: device.key)
      for reader in [device, other] {
        #expect(try reader.get("/v1/account").json["cap"].integer == Self.paidCap)
      }
    }

    // The way back: the older version can also start next to the newer one's schema.
    for server in [oldSync, oldBilling] {
      #expect(server.stop() == .exited(0), "\(server.lastWords)")
      let again = try installation.start(server.program, port: server.port, from: previous)
      if server.program == .sync { for old in olds { old.write(times: 10) } }
      #expect(again.stop() == .exited(0), "\(again.lastWords)")
    }
    for old in olds {
      try old.check(through: installation.device(of: sync, key: old.device.key))
    }
    for new in news { try new.check() }
    #expect(sender.trouble + oldSender.trouble == [])
    for server in [sync, billing] {
      #expect(server.stop() == .exited(0), "\(server.lastWords)")
    }
    try Books(installation).expectWhole(accountCount: olds.count + news.count + buyers.count)
    try Deliveries(installation).expectEach(of: oldSender.acknowledged + sender.acknowledged)
  }

  private static func deliver(
    _ file: String, to device: TestDevice, _ billing: Server, from previous: String? = nil
  ) throws {
    let sent = try billing.installation.command(
      "webhook", "send", "\(story)/\(file)", "--account", "\(try device.account)", "--now",
      "--url", billing.url + "/webhooks/stripe", from: previous)
    #expect(sent.end == .exited(0), "\(sent.output)")
  }
}
