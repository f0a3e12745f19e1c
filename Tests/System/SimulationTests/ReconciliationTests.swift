import Answers
import Apple
import Base
import BillingSimulation
import Google
import JSON
import Jobs
import Ledger
import ProviderFakes
import Storage
import Subscriptions
import TestEngines
import Testing

/// A reconciliation repairs losses from what the stores report again.
struct ReconciliationTests {
  /// How long the App Store remembers its notifications.
  private static let appleMemory = Instant.Span.days(179)

  /// In a short run every second story.
  private static let stories = LivedStory.all.filter(\.isShort).enumerated().filter { index, _ in
    TestRun.isFull || index.isMultiple(of: 2)
  }.map(\.element)

  /// Before a full run, the only known part of a story is what its store reports once.
  @Test(arguments: stories)
  func `who lost every delivery and reconciles ends where the deliveries lead`(
    story: LivedStory
  ) throws {
    let live = story.live()
    let calm = try Storm.calm(live, .sqlite)
    let lossy = try Self.lived(story.live(), story.name, losing: { _ in true })
    try lossy.reconcile()
    try Self.expectEqual(lossy, calm)
    #expect(try lossy.drift().isEmpty)
  }

  /// Of known orders only the differences are read, so these must show.
  @Test(arguments: LivedStory.all.filter { $0.isShort && $0.name.hasPrefix("google/") })
  func `who lost the last deliveries of what was known reconciles to where they lead`(
    story: LivedStory
  ) throws {
    let live = story.live()
    let calm = try Storm.calm(live, .sqlite)
    let times = live.events.map(\.at)
    for begin in Set([times[times.count / 2], times[times.count - 1]]).sorted() {
      let lossy = try Self.lived(story.live(), story.name, losing: { $0 >= begin })
      try lossy.reconcile()
      try Self.expectEqual(lossy, calm)
    }
  }

  @Test func `a refund that no delivery and no list tells is found among orders that were known`()
    throws
  {
    let story = try #require(LivedStory.all.first { $0.name == "google/refund-kept" })
    let live = story.live()
    let bought = try #require(live.events.first).at
    let lossy = try Self.lived(
      live, story.name, until: bought + .hours(1), losing: { _ in false })
    try lossy.runDue()
    lossy.now = bought + .days(13)
    func orders() throws -> [String] {
      try lossy.database.read { reader in
        try reader.rows(
          "SELECT content FROM billing.mirrors WHERE object LIKE 'google:live:order:%'"
        ) { row in try row.text(0) }
      }
    }
    let before = try orders()
    #expect(before.count == 1 && !before[0].contains("REFUNDED"), "\(before)")
    try lossy.reconcile()
    let after = try orders()
    #expect(after.contains { $0.contains("REFUNDED") }, "\(after)")
  }

  @Test func `a purchase of which all is known costs one call, and an order part of one`() throws {
    let story = try #require(LivedStory.all.first { $0.name == "google/renewal" })
    let live = story.live()
    let lossy = try Self.lived(live, story.name, losing: { _ in false })
    try lossy.settle()
    let play = try #require(live.faults.first)
    let before = play.requestCount
    try lossy.reconcile()
    let runs = try lossy.reconciliations().filter { $0.provider == .google }
    #expect(runs.map(\.counts.examined) == [1], "\(runs.map(\.counts))")
    #expect(runs.map(\.counts.agreed) == [1])
    // The list of voided purchases, all known orders, and the purchase.
    #expect(play.requestCount - before == 3)
  }

  /// A daily run as coffer-billing makes it: no subscription is read if its lists show it.
  @Test(
    arguments: LivedStory.all.filter { $0.isShort && !$0.name.hasPrefix("google/") }.enumerated()
      .filter { $0.offset % 10 == 0 }.map(\.element))
  func `a daily run makes up for a month without deliveries`(story: LivedStory) throws {
    let live = story.live()
    let calm = try Storm.calm(live, .postgres)
    let lossy = try Self.lived(
      story.live(), story.name, .postgres, losing: { $0 > live.end - .days(29) })
    try lossy.reconcile(isWhole: false)
    try Self.expectEqual(lossy, calm)
  }

  @Test func `what was repaired once agrees the next time`() throws {
    let story = try #require(LivedStory.apple.first { $0.name == "apple/renewal" })
    let lossy = try Self.lived(story.live(), story.name, losing: { _ in true })
    try lossy.reconcile()
    try lossy.reconcile()
    let runs = try lossy.reconciliations().filter { $0.provider == .apple }
    let (second, first) = (try #require(runs.first).counts, try #require(runs.last).counts)
    #expect(runs.count == 2)
    #expect(first.repaired > 0)
    #expect(second.examined > 0)
    #expect(second.agreed == second.examined)
  }

  @Test(arguments: TestEngine.available)
  func `each lost delivery that a run repaired is kept with what it changed`(
    engine: TestEngine
  ) throws {
    let story = try #require(LivedStory.apple.first { $0.name == "apple/renewal" })
    let lossy = try Self.lived(story.live(), story.name, engine, losing: { _ in true })
    try lossy.reconcile()
    let repairs = try lossy.repairs()
    let run = try #require(try lossy.reconciliations().first { $0.provider == .apple })
    #expect(repairs.filter { $0.repair.provider == .apple }.count == Int(run.counts.repaired))
    #expect(repairs.allSatisfy { $0.repair.run == run.number })
    let owed = repairs.filter { $0.effect?.owed.isEmpty == false }
    #expect(owed.contains { if case .delivery = $0.repair.subject { true } else { false } })
  }

  @Test(arguments: TestEngine.available)
  func `a purchase that a read repaired is kept with what the read changed`(
    engine: TestEngine
  ) throws {
    let story = try #require(LivedStory.all.first { $0.name == "google/cancel-and-restore" })
    let live = story.live()
    let (bought, cancelled) = (live.events[0].at, live.events[1].at)
    let lossy = try Self.lived(
      live, story.name, engine, until: bought + .hours(1), losing: { _ in false })
    try lossy.runDue()
    lossy.now = cancelled + .hours(1)
    try lossy.reconcile()
    let read = try lossy.repairs().filter {
      if case .object(let key) = $0.repair.subject { key.provider == .google } else { false }
    }
    #expect(read.count == 1)
    #expect(read.first?.effect?.changes.isEmpty == false)
  }

  @Test(arguments: TestEngine.available, ["stripe/2026-07-29.dahlia/renewal", "apple/renewal"])
  func `a store that fails, is slow or limits us is asked again until the run ends`(
    engine: TestEngine, name: String
  ) throws {
    let story = try #require(LivedStory.all.first { $0.name == name })
    let live = story.live()
    let lossy = try Self.lived(live, name, engine, losing: { _ in true })
    for faults in live.faults {
      faults.fail(next: [
        .status(500, retryAfter: nil), .timeout, .status(429, retryAfter: 30),
        .status(503, retryAfter: 7),
      ])
    }
    try lossy.reconcile()
    try Self.expectEqual(lossy, Storm.calm(story.live(), engine))
  }

  @Test
  func `a run that fails is not over, stands among what wants a human, and goes on by itself`()
    throws
  {
    let story = try #require(LivedStory.apple.first { $0.name == "apple/renewal" })
    let live = story.live()
    let lossy = try Self.lived(live, story.name, losing: { _ in true })
    try lossy.beginReconciling()
    let start = lossy.now
    while lossy.now < start + .hours(8) {
      lossy.now = lossy.now + .minutes(5)
      for faults in live.faults { faults.fail(next: [.timeout, .timeout, .timeout]) }
      try lossy.runDue()
    }
    #expect(try lossy.reconciliations().allSatisfy { $0.ended == nil })
    let attention = try lossy.attention()
    #expect(attention.contains { $0.kind == .unreconciled && $0.subject == "apple" })
    try lossy.settle(countMax: 5000)
    #expect(try lossy.reconciliations().allSatisfy { $0.ended != nil })
  }

  /// The App Store remembers half a year, Google Play thirty days; requests for more are refused.
  @Test(arguments: ["apple/renewal", "google/renewal", "stripe/2026-07-29.dahlia/renewal"])
  func `a run that stood still for longer than its store remembers begins anew`(
    name: String
  ) throws {
    let story = try #require(LivedStory.all.first { $0.name == name })
    let lossy = try Self.lived(story.live(), name, losing: { _ in false })
    try lossy.settle()
    try lossy.beginReconciling()
    lossy.now = lossy.now + .days(200)
    try lossy.settle(countMax: 5000)
    #expect(try lossy.reconciliations().allSatisfy { $0.ended != nil })
  }

  @Test(arguments: ["apple/renewal", "google/renewal", "stripe/2026-07-29.dahlia/renewal"])
  func `a process that dies at any step goes on from there`(name: String) throws {
    let story = try #require(LivedStory.all.first { $0.name == name })
    let lossy = try Self.lived(story.live(), name, losing: { _ in true })
    try lossy.beginReconciling()
    var steps = 0
    while try lossy.reconciliations().contains(where: { $0.ended == nil }), steps < 200 {
      steps += 1
      let readings = try lossy.beginReads(limit: 3)
      // Every other time, what was read but not written is lost with the process.
      if steps % 2 == 0 { for reading in readings { try lossy.commit(reading) } }
      try lossy.crash()
      lossy.now = lossy.now + JobRules.leaseTime + .seconds(1)
    }
    #expect(steps > 3)
    try lossy.settle(countMax: 5000)
    try Self.expectEqual(lossy, Storm.calm(story.live(), .sqlite))
  }

  @Test func `a whole run that is wanted takes the place of a daily one under way`() throws {
    let story = try #require(LivedStory.apple.first { $0.name == "apple/renewal" })
    let lossy = try Self.lived(story.live(), story.name, losing: { _ in true })
    try lossy.beginReconciling(isWhole: false)
    for reading in try lossy.beginReads() { try lossy.commit(reading) }
    try lossy.reconcile()
    let runs = try lossy.reconciliations()
    #expect(runs.allSatisfy { $0.number == 1 && $0.isWhole && $0.ended != nil })
  }

  @Test func `a page of a daily run is none of the whole one that took its place`() throws {
    let story = try #require(LivedStory.apple.first { $0.name == "apple/renewal" })
    let lossy = try Self.lived(story.live(), story.name, losing: { _ in true })
    try lossy.beginReconciling(isWhole: false)
    let late = try lossy.beginReads()
    try lossy.beginReconciling()
    let begun = try lossy.reconciliations()
    for reading in late { try lossy.commit(reading) }
    #expect(try lossy.reconciliations() == begun)
    try lossy.settle(countMax: 5000)
    #expect(try lossy.reconciliations().allSatisfy { $0.isWhole && $0.ended != nil })
  }

  @Test func `two that begin at once are one run, and a late page changes nothing`() throws {
    let story = try #require(LivedStory.apple.first { $0.name == "apple/renewal" })
    let lossy = try Self.lived(story.live(), story.name, losing: { _ in true })
    try lossy.beginReconciling()
    let late = try lossy.beginReads()
    lossy.now = lossy.now + JobRules.leaseTime + .seconds(1)
    try lossy.reconcile()
    let runs = try lossy.reconciliations()
    #expect(Set(runs.map { "\($0.provider) \($0.number)" }).count == runs.count)
    #expect(runs.allSatisfy { $0.number == 1 })
    for reading in late { try lossy.commit(reading) }
    #expect(try lossy.reconciliations() == runs)
  }

  // MARK: living through a story

  private static func expectEqual(_ lossy: Installation, _ calm: Installation) throws {
    let (found, expected) = (try lossy.digest(), try calm.digest())
    #expect(found == expected, "\(Storm.difference(found, expected))")
    let runs = try lossy.reconciliations()
    #expect(!runs.isEmpty && runs.allSatisfy { $0.ended != nil })
  }

  /// Replays everything in order, except for lost deliveries. Some messages are never lost, because a store
  /// sends them once and no list shows them: the first one about each purchase by Google Play, or by its
  /// buyer's device; when a BTCPay invoice settled; what the App Store has forgotten about a customer whom it
  /// has not mentioned since.
  private static func lived(
    _ live: Live, _ name: String, _ engine: TestEngine = .sqlite, until end: Instant? = nil,
    losing isLost: (Instant) -> Bool
  ) throws -> Installation {
    let end = end ?? live.end
    let installation = try Installation(engine, live.stores)
    var tokens: Set<String> = []
    for (index, event) in live.events.enumerated() where event.at <= end {
      installation.now = max(installation.now, event.at)
      switch event.what {
      case .delivery(let request):
        let request = request(installation.now)
        let isFirst = token(in: request).map { tokens.insert($0).inserted } ?? false
        let isForgotten =
          index == 0 && name.hasPrefix("apple/") && event.at < live.end - appleMemory
        let isToldOnce = isFirst || isForgotten || live.irreparable.contains(index)
        if isLost(event.at), !isToldOnce { continue }
        #expect(try installation.deliver(request) == 200)
      case .claim(let key, let account):
        try installation.decide { ledger, transaction, now in
          try ledger.decide(.claim(account, key), at: now, in: transaction)
        }
      case .posted(let claim, let account):
        #expect([200, 202].contains(try installation.post(claim, by: account)))
      case .deletion(let account):
        try installation.decide { ledger, transaction, now in
          try ledger.decide(.accountDeleted(account), at: now, in: transaction)
        }
      }
      try installation.runDue()
    }
    installation.now = max(installation.now, end)
    return installation
  }

  /// The purchase of a Google notification.
  private static func token(in request: FakeRequest) -> String? {
    guard request.path.hasSuffix("/google"),
      let data = try? JSON.parse(request.body)["message"]["data"].string,
      let bytes = Base64.standard.decode(data), let json = try? JSON.parse(bytes)
    else { return nil }
    return json["subscriptionNotification"]["purchaseToken"].string
      ?? json["voidedPurchaseNotification"]["purchaseToken"].string
  }
}
