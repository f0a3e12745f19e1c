import Base
import Billing
import Ledger
import ProviderFakes
import SeededRandom
import Subscriptions
import TestEngines
import Testing

/// The same through a real database: orders, repetitions, losses, crashes and reads in between.
struct DatabaseTests {
  private static let runCount = TestRun.isFull ? 12 : 2

  @Test(arguments: Stories.live.filter { TestRun.isFull || $0.isShort })
  func `orders, losses and crashes leave the rows that calm weather leaves`(
    story: Stories.Lived
  ) throws {
    let live = story.live()
    let calm = try calm(live, .sqlite)
    let (expected, keys) = (try calm.digest(), try calm.keys)
    var random = SeededGenerator(seed: Seed.of(story.name))
    for run in 0..<Self.runCount {
      let found = try stormy(live, .sqlite, keys, &random).digest()
      guard found == expected else {
        Issue.record("\(story.name), run \(run): \(Self.difference(found, expected))")
        return
      }
    }
  }

  /// Some stores have no as-of: only the number of a read says which of two answers is the newer.
  @Test(arguments: Stories.liveGoogle + Stories.liveBTCPay)
  func `notifications, reads and commits that interleave with the store's own time end the same`(
    story: Stories.Lived
  ) throws {
    let live = story.live()
    let expected = try calm(live, .sqlite).digest()
    var random = SeededGenerator(seed: Seed.of("in time " + story.name))
    for run in 0..<Self.runCount {
      let found = try overlapping(live, &random).digest()
      guard found == expected else {
        Issue.record("\(story.name), run \(run): \(Self.difference(found, expected))")
        return
      }
    }
  }

  /// In the short run SQLite is stormy enough above.
  @Test(
    arguments: Stories.live.filter { TestRun.isFull || $0.isShort },
    TestEngine.available.filter { TestRun.isFull || $0 != .sqlite })
  func `both engines end with the same rows`(story: Stories.Lived, engine: TestEngine) throws {
    let live = story.live()
    var random = SeededGenerator(seed: Seed.of(story.name))
    let calm = try calm(live, .sqlite)
    let expected = try calm.digest()
    let found = try stormy(live, engine, calm.keys, &random).digest()
    #expect(found == expected, "\(Self.difference(found, expected))")
  }

  /// Everything once, in order, and the jobs done as they come due.
  private func calm(_ live: Live, _ engine: TestEngine) throws -> Installation {
    let installation = try Installation(engine, live.stores)
    for event in live.events {
      try Self.happen(event, at: event.at, installation)
      try installation.runDue()
    }
    installation.now = max(installation.now, live.end)
    try installation.settle()
    return installation
  }

  private func stormy(
    _ live: Live, _ engine: TestEngine, _ keys: [ObjectKey], _ random: inout SeededGenerator
  ) throws -> Installation {
    let installation = try Installation(engine, live.stores)
    installation.now = live.end
    var order = live.deliveries.shuffled(using: &random)
    let lost =
      Bool.random(using: &random)
      ? order.filter { !live.irreparable.contains($0) }.randomElement(using: &random) : nil
    order += order.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
    order.removeAll { $0 == lost }
    var readings: [Installation.Reading] = []
    for index in order {
      try Self.happen(live.events[index], at: installation.now, installation)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: try installation.crash()
      case 1: readings += try installation.beginReads()
      case 2: if let reading = readings.popLast() { try installation.commit(reading) }
      case 3:
        readings += try installation.beginReads()
        try installation.crash()
        readings = []
      default: break
      }
      installation.now = installation.now + .seconds(Int64.random(in: 0...20, using: &random))
    }
    for reading in readings { try installation.commit(reading) }
    for index in live.events.indices where !live.deliveries.contains(index) {
      try Self.happen(live.events[index], at: installation.now, installation)
    }
    if let lost { try repair(live, lost, keys, installation) }
    try installation.settle()
    return installation
  }

  /// Every event arrives up to a day and a half late; between arrivals reads begin, and end later.
  private func overlapping(
    _ live: Live, _ random: inout SeededGenerator
  ) throws -> Installation {
    let installation = try Installation(.sqlite, live.stores)
    let arrivals = live.events.map { event in
      (at: event.at + .minutes(Int64.random(in: 0...2160, using: &random)), event: event)
    }.sorted { $0.at < $1.at }
    var readings: [Installation.Reading] = []
    for (at, event) in arrivals {
      try Self.happen(event, at: at, installation)
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        installation.now = installation.now + .seconds(Int64.random(in: 0...90, using: &random))
        if Bool.random(using: &random) {
          readings += try installation.beginReads()
        } else if let index = readings.indices.randomElement(using: &random) {
          try installation.commit(readings.remove(at: index))
        }
      }
      if Int.random(in: 0..<8, using: &random) == 0 {
        try installation.crash()
        readings = []
      }
    }
    installation.now = max(installation.now, live.end)
    for reading in readings { try installation.commit(reading) }
    try installation.settle()
    return installation
  }

  /// What was lost is told again by reading every record; of a subscription that nothing else told
  /// of there is none to read, so that its delivery can only come late.
  private func repair(
    _ live: Live, _ lost: Int, _ all: [ObjectKey], _ installation: Installation
  ) throws {
    try installation.reread(installation.keys)
    try installation.settle()
    if try installation.keys != all {
      try Self.happen(live.events[lost], at: installation.now, installation)
    }
  }

  private static func happen(
    _ event: Live.Event, at now: Instant, _ installation: Installation
  ) throws {
    installation.now = max(installation.now, now)
    switch event.what {
    case .delivery(let request):
      #expect(try installation.deliver(request(installation.now)) == 200)
    case .claim(let key, let account):
      try installation.decide { ledger, transaction, now in
        try ledger.decide(.claim(account, key), at: now, in: transaction)
      }
    case .posted(let claim, let account):
      let status = try installation.post(claim, by: account)
      #expect(status == 200 || status == 202)
    case .deletion(let account):
      try installation.decide { ledger, transaction, now in
        try ledger.decide(.accountDeleted(account), at: now, in: transaction)
      }
    }
  }

  private static func difference(_ found: [String], _ expected: [String]) -> String {
    let extra = found.filter { !expected.contains($0) }
    let missing = expected.filter { !found.contains($0) }
    return "found \(extra.prefix(3)), expected \(missing.prefix(3))"
  }
}
