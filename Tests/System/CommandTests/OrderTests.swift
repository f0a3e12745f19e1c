import Base
import Glibc
import HTTPServer
import JSON
import LocalServer
import ProviderFakes
import Storage
import TestEngines
import Testing

/// Orders of an operator to a store, through a running coffer-billing and a Stripe that obeys.
struct OrderTests {
  private static let now = Instant(seconds: 1_772_445_300)
  private static let account = "0190a5e0-0000-7000-8000-00000000a001"

  private let scratch: ScratchDirectory
  private let environment: [String: String]
  private let clock: FakeClock
  private let stripe: FakeStripe
  private let api: HTTPServer
  private let billing: Running
  private let id: String
  /// Runs once, just before Stripe refunds.
  private let whileRefunding = Locked<(@Sendable () -> Void)?>(nil)
  private var key: String { "stripe:live:subscription:\(id)" }

  /// Creates an account that bought a month an hour ago, and reads everything about it.
  init() throws {
    clock = FakeClock(Self.now - .hours(1))
    stripe = FakeStripe(clock)
    api = try startServer(
      stripe.routes().map { [whileRefunding] route in
        guard route.pattern == "/v1/refunds" else { return route }
        return Route(route.method, route.pattern) { head, captures in
          let deed = whileRefunding.withLock { deed in
            defer { deed = nil }
            return deed
          }
          deed?()
          return try route.admit(head, captures)
        }
      })
    id = stripe.buy(account: Identifier(Self.account))
    clock.set(Self.now)
    let running = try RunningBilling(
      at: Self.now,
      adding: [
        "COFFER_STRIPE_API_KEY": String(decoding: stripe.key.exposed, as: UTF8.self),
        "COFFER_STRIPE_API_URL": "http://127.0.0.1:\(api.port)", "COFFER_RECONCILE_HOURS": "0",
      ])
    (scratch, environment, billing) = (running.scratch, running.environment, running.program)
    let key = FirstPurchase.key
    #expect(
      try coffer(
        "account", "create", "--id", Self.account, "--username", "ada", "--public-key", key
      ).code == 0)
    #expect(try coffer("subscription", "read", id).code == 0)
    try wait(for: "2.99")
    // Reads from now on are newer, whatever uncertainty the store's clock leaves.
    clock.set(Self.now + .minutes(5))
    try scratch.setClock(clock.now)
  }

  private func coffer(_ words: String..., without setting: String? = nil) throws -> Finished {
    var environment = environment
    if let setting { environment[setting] = nil }
    return try Finished(words, environment: environment)
  }

  private func explained() throws -> String {
    try coffer("entitlement", "explain", "ada", "--wide").out
  }

  /// Waits until the explanation contains the text.
  private func wait(for text: String) throws {
    for _ in 0..<200 {
      if try explained().contains(text) { return }
      usleep(50_000)
    }
    Issue.record("\(text) is not told: \(try explained())\n\(billing.log)")
  }

  @Test func `a cancellation is shown, then ordered, then told by the store itself`() throws {
    let shown = try coffer("subscription", "cancel", key, "--reason", "ticket 7")
    #expect(shown.code == 3, "\(shown.errors)")
    #expect(!stripe.isCancelling(id))
    let done = try coffer("subscription", "cancel", key, "--reason", "ticket 7", "--yes")
    #expect(done.code == 0, "\(done.errors)")
    #expect(done.out.contains("done at Stripe; the subscription is read next"))
    #expect(stripe.isCancelling(id))
    try wait(for: "does not renew")
    let entries = try coffer("audit", "list").out.split(separator: "\n")
      .filter { $0.contains("subscription cancel") }
    #expect(entries.count == 2)
  }

  @Test func `what is to end now ends now`() throws {
    let words = ["subscription", "cancel", key, "--now", "--reason", "ticket 7"]
    #expect(try Finished(words, environment: environment).code == 3)
    #expect(stripe.status(of: id) == "active")
    #expect(try Finished(words + ["--yes"], environment: environment).code == 0)
    #expect(stripe.status(of: id) == "canceled")
  }

  /// Stripe would otherwise try to collect the debt until the period's end.
  @Test func `a cancellation of what is not paid says that it ends now, and ends it`() throws {
    stripe.setCard(of: id, .declines)
    let renewal = stripe.periodEnd(of: id) + .hours(2)
    stripe.run(until: renewal)
    try scratch.setClock(renewal)
    try #require(stripe.status(of: id) == "past_due")
    #expect(try coffer("subscription", "read", id).code == 0)
    try wait(for: ": grace, renews")
    let shown = try coffer("subscription", "cancel", key, "--reason", "ticket 7", "--json")
    #expect(shown.out.contains(#""ends":"now""#), "\(shown.out)")
    #expect(try coffer("subscription", "cancel", key, "--reason", "ticket 7", "--yes").code == 0)
    #expect(stripe.status(of: id) == "canceled")
  }

  @Test func `a refund that is ordered twice before it is told is made once`() throws {
    let words = [
      "subscription", "refund", key, "--amount", "1.49", "--reason", "ticket 8", "--yes",
    ]
    stripe.faults.setReplicaLag(.minutes(5))
    let first = try Finished(words, environment: environment)
    #expect(first.code == 0, "\(first.errors)")
    let second = try Finished(words, environment: environment)
    #expect(second.code == 1)
    let sentence =
      #/coffer: billing:\d+ of \S+Z was done, and what is known of \S+ does not show it yet: coffer subscription read\n/#
    #expect(second.errors.wholeMatch(of: sentence) != nil, "\(second.errors)")
    #expect(stripe.refundCount == 1)
    stripe.faults.setReplicaLag(.seconds(0))
    #expect(try coffer("subscription", "read", id).code == 0)
    try wait(for: "1.49")
    let third = try Finished(words, environment: environment)
    #expect(third.code == 0, "\(third.errors)")
    #expect(stripe.refundCount == 2)
  }

  private static let refund = ["subscription", "refund", "--reason", "ticket 9", "--yes"]

  private func refund(_ words: String...) throws -> Finished {
    try Finished(Self.refund + [id] + words, environment: environment)
  }

  /// Advances every clock.
  private func pass(_ span: Instant.Span) throws {
    clock.advance(by: span)
    try scratch.setClock(clock.now)
  }

  /// The state of the only refund that was ordered, once it has ended.
  private func outcome() throws -> String {
    for _ in 0..<200 {
      let entries = try coffer("audit", "list").out
      for state in ["done", "failed"] where entries.contains("subscription refund: \(state)") {
        return state
      }
      usleep(50_000)
      try pass(.seconds(30))
    }
    return "none: \(billing.log)"
  }

  @Test func `a store that does not answer is said to, and asked again`() throws {
    stripe.faults.fail(next: [.status(503, retryAfter: nil)])
    let failed = try refund()
    #expect(failed.code == 69)
    let sentence =
      #/coffer: Stripe: .*503.*; coffer-billing makes sure that it is done once: coffer audit show billing:\d+\n/#
    #expect(failed.errors.wholeMatch(of: sentence) != nil, "\(failed.errors)")
    #expect(try coffer("audit", "list").out.contains("subscription refund: ordered, open"))
    let second = try refund("--amount", "0.50")
    #expect(second.code == 1)
    let refusal = #/coffer: billing:\d+ of \S+Z is under way: .*503.*\n/#
    #expect(second.errors.wholeMatch(of: refusal) != nil, "\(second.errors)")
    #expect(try outcome() == "done")
    #expect(stripe.refundCount == 1)
  }

  @Test func `an order that was done and got no answer is done once`() throws {
    stripe.faults.loseNextAnswer()
    #expect(try refund("--amount", "0.50").code == 69)
    #expect(try outcome() == "done")
    #expect(stripe.refundCount == 1)
    try wait(for: "0.50 USD")
    #expect(try refund("--amount", "0.50").code == 0)
    #expect(stripe.refundCount == 2)
  }

  /// After a day Stripe treats the same order as a new one.
  @Test(arguments: [true, false])
  func `an order that got no answer for a day is decided by what is read`(isDone: Bool) throws {
    let silence: [FakeFaults.Failure] = Array(
      repeating: .status(503, retryAfter: nil), count: 10_000)
    if isDone {
      stripe.faults.loseNextAnswer()
    } else {
      stripe.faults.fail(next: silence)
    }
    #expect(try refund("--amount", "0.50").code == 69)
    stripe.faults.fail(next: silence)
    try pass(.hours(2))
    #expect(try coffer("attention").out.contains("open_order"))
    try pass(.hours(22))
    for _ in 0..<100 {
      if try coffer("audit", "list", "--json").out.contains("\"order\":\"doubted\"") { break }
      usleep(50_000)
      try pass(.seconds(30))
    }
    let second = try refund("--amount", "0.50").errors
    #expect(second.contains("is under way"), "\(second)")
    #expect(second.contains("unknown until \(key) is read: coffer subscription read"), "\(second)")
    stripe.faults.fail(next: [])
    #expect(try outcome() == (isDone ? "done" : "failed"))
    #expect(stripe.refundCount == (isDone ? 1 : 0))
  }

  /// Two operators at once. Nothing is known of the first order until its store has answered.
  @Test(arguments: [[], ["--amount", "0.50"]])
  func `what is under way is not ordered a second time`(_ extra: [String]) throws {
    let words = Self.refund + [id]
    let environment = environment
    let second = Locked<Finished?>(nil)
    whileRefunding.withLock { deed in
      deed = {
        let finished = try? Finished(words + extra, environment: environment)
        second.withLock { $0 = finished }
      }
    }
    #expect(try refund().code == 0)
    let refused = try #require(second.withLock { $0 })
    #expect(refused.code == 1)
    let sentence = #/coffer: billing:\d+ of \S+Z is under way\n/#
    #expect(refused.errors.wholeMatch(of: sentence) != nil, "\(refused.errors)")
    #expect(stripe.refundCount == 1)
    let entries = try coffer("audit", "list").out
    #expect(entries.ranges(of: "subscription refund: ordered").count == 1, "\(entries)")
  }

  @Test func `what the store did and could not be noted is noted later, and done once`() throws {
    whileRefunding.withLock { deed in
      deed = { [scratch] in
        do {
          try scratch.change(.billing) { transaction in
            try transaction.execute(
              """
              CREATE TRIGGER billing.full BEFORE INSERT ON audit
              BEGIN SELECT RAISE(ABORT, 'there is no room'); END
              """)
          }
        } catch {
          Issue.record("\(error)")
        }
      }
    }
    let unfinished = try refund("--timeout", "2s")
    #expect(unfinished.code == 75, "\(unfinished.errors)")
    #expect(unfinished.errors.contains("has not answered after 2 s; the order stays open"))
    #expect(stripe.refundCount == 1)
    try scratch.change(.billing) { try $0.execute("DROP TRIGGER billing.full") }
    #expect(try outcome() == "done")
    #expect(stripe.refundCount == 1)
  }

  @Test func `an order whose row cannot be read any more is named, and not repeated`() throws {
    whileRefunding.withLock { deed in
      deed = { [scratch] in
        do {
          try scratch.change(.billing) { transaction in
            try transaction.execute("ALTER TABLE billing.orders RENAME TO lost_orders")
          }
        } catch {
          Issue.record("\(error)")
        }
      }
    }
    let lost = try refund()
    #expect(lost.code != 0 && lost.out.isEmpty, "\(lost.out)")
    let sentence = #/coffer: the order is placed: coffer audit show billing:\d+; .+\n/#
    #expect(lost.errors.wholeMatch(of: sentence) != nil, "\(lost.errors)")
  }

  @Test func `an order that nobody could have done for a day is not done any more`() throws {
    // As if no coffer-billing were running.
    try scratch.change(.billing) { transaction in
      try transaction.execute(
        """
        CREATE TRIGGER billing.late AFTER INSERT ON jobs WHEN NEW.kind = 'order'
        BEGIN UPDATE jobs SET due_ms = NEW.due_ms + 90000000 WHERE kind = 'order'; END
        """)
    }
    #expect(try refund("--timeout", "1s").code == 75)
    try pass(.hours(26))
    #expect(try outcome() == "failed")
    #expect(stripe.refundCount == 0)
    let shown = try coffer("audit", "list", "--json").out
    #expect(shown.contains("it was not asked within 23 hours"), "\(shown)")
  }

  @Test func `what the store refuses changes nothing, and says why`() throws {
    // Refunded on Stripe's own pages, without a delivery.
    stripe.refund(invoice: stripe.latestInvoice(of: id))
    let much = try coffer("subscription", "refund", id, "--reason", "ticket 10", "--yes")
    #expect(much.code == 1)
    #expect(much.errors.contains("refused with 400: charge_already_refunded"), "\(much.errors)")
    #expect(stripe.refundCount == 1)
    #expect(try coffer("audit", "list", "--json").out.contains("charge_already_refunded"))
    let entries = try coffer("audit", "list", "--account", Self.account).out
    #expect(entries.contains("subscription refund: ordered"), "\(entries)")
    #expect(entries.contains("subscription refund: failed"), "\(entries)")
  }

  @Test func `a refund says what was paid, what went back before and what goes back now`() throws {
    let part = [
      "subscription", "refund", id, "--amount", "1.00", "--reason", "ticket 8", "--yes",
    ]
    #expect(try Finished(part, environment: environment).code == 0)
    try wait(for: "1.00 USD")
    let shown = try coffer("subscription", "refund", id, "--reason", "ticket 8")
    #expect(shown.code == 3)
    let lines = shown.out.split(separator: "\n").map {
      $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
    for line in [
      "paid 2.99 USD 2.99 USD", "gone_back 1.00 USD 2.99 USD", "refunds 1 2",
      "goes_back - 1.99 USD",
    ] { #expect(lines.contains(line), "\(shown.out)") }
    let count = try coffer("audit", "list").out.split(separator: "\n").count
    let much = try coffer(
      "subscription", "refund", id, "--amount", "2", "--reason", "ticket 8", "--yes")
    #expect(much.code == 1)
    let sentence = "is left: 1.00 USD of 2.99 USD went back already\n"
    #expect(
      much.errors.hasPrefix("coffer: no more than 1.99 USD of in_")
        && much.errors.hasSuffix(sentence), "\(much.errors)")
    #expect(try coffer("audit", "list").out.split(separator: "\n").count == count)
    let rest = try coffer("subscription", "refund", id, "--reason", "ticket 8", "--yes")
    #expect(rest.code == 0, "\(rest.errors)")
    try wait(for: "1.99 USD")
    let again = try coffer("subscription", "refund", id, "--reason", "ticket 8", "--yes")
    #expect(again.code == 1)
    #expect(again.errors.hasSuffix(", 2.99 USD, went back already\n"), "\(again.errors)")
  }

  @Test(arguments: [
    (["subscription", "refund", "KEY", "--amount", "0", "--reason", "x"], 64, "like 4.99"),
    (["subscription", "refund", "KEY", "--amount", "-1", "--reason", "x"], 64, "--amount"),
    (
      ["subscription", "refund", "KEY", "--amount", "99.99", "--reason", "x"], 1,
      "no more than 2.99 USD of"
    ),
    (
      ["subscription", "cancel", "sub_nosuch", "--reason", "x", "--yes"], 1,
      "there is no record of stripe:live:subscription:sub_nosuch: coffer subscription read"
    ),
    (
      ["subscription", "cancel", "stripe:live:subscription:sub_nosuch", "--reason", "x", "--yes"],
      1, "there is no record of stripe:live:subscription:sub_nosuch: coffer subscription read"
    ),
    (
      ["subscription", "read", "stripe:sandbox:subscription:sub_1"], 1,
      "the key of its store's API is for the live environment"
    ),
    (
      ["subscription", "read", "sub_x/../v1?limit=1"], 64,
      "names no subscription: an id of Stripe is sub_ and letters, digits or _"
    ),
    (
      ["subscription", "read", "stripe:live:subscription:sub_\u{1B}[31mx"], 64,
      "names no subscription: an id of Stripe is sub_ and letters, digits or _"
    ),
    (["subscription", "transfer", "in_1", "ada", "--reason", "x"], 64, "names no subscription"),
    (
      ["subscription", "refund", "KEY", "--amount", "1.999", "--reason", "x"], 64, "1.999 has more"
    ),
    (
      ["subscription", "refund", "KEY", "--payment", "in_9", "--reason", "x"], 1, "no payment in_9"
    ),
    (
      ["subscription", "cancel", "apple:live:subscription:2000", "--reason", "x"], 1,
      "the customer cancels, and asks for a refund, at Apple"
    ),
    (["subscription", "cancel", "KEY"], 64, "--reason"),
    (
      ["subscription", "extend", "KEY", "--days", "7", "--reason", "x"], 1,
      "give the time by coffer entitlement grant"
    ),
    (
      ["subscription", "extend", "apple:live:subscription:2000", "--days", "91", "--reason", "x"],
      64, "from 1 to 90 days"
    ),
    (
      ["subscription", "extend", "apple:live:subscription:2000", "--reason", "x"], 64, "--days"
    ),
    (
      [
        "subscription", "extend", "apple:live:subscription:2000", "--days", "7", "--because",
        "love", "--reason", "x",
      ], 64, "satisfaction, outage or other"
    ),
  ])
  func `what cannot be ordered is refused in one line`(
    words: [String], code: Int32, line: String
  ) throws {
    let finished = try Finished(words.map { $0 == "KEY" ? key : $0 }, environment: environment)
    #expect(finished.code == code)
    #expect(finished.errors.contains(line), "\(finished.errors)")
    #expect(finished.errors.split(separator: "\n").count == 1)
  }

  @Test func `a purchase of which every delivery was lost comes in by a reconciliation`() throws {
    let lost = stripe.buy(account: Identifier(Self.account))
    let begun = try coffer("reconcile", "stripe", "--whole", "--no-wait")
    #expect(begun.code == 0, "\(begun.errors)")
    var run = try JSON.parse(Array("{}".utf8))
    for second in 1...200 where run["ended"].string == nil {
      usleep(20_000)
      let now = Self.now + .minutes(5) + .seconds(Int64(second))
      try scratch.setClock(now)
      let list = try coffer("reconcile", "list", "--store", "stripe", "--json").out
      run = try JSON.parse(Array(list.utf8))["runs"][0]
    }
    #expect(run["ended"].string != nil)
    #expect((run["repaired"].integer ?? 0) > 0)
    #expect(try coffer("find", lost).out.contains("ada"))
    let list = try coffer("reconcile", "list", "--store", "stripe").out
    #expect(list.contains("stripe (whole)") && list.contains("ended after"), "\(list)")
    let repaired = try coffer("reconcile", "list", "--repaired").out
    #expect(repaired.contains(lost) && repaired.contains(Self.account), "\(repaired)")
    let page = try coffer("reconcile", "list", "--repaired", "--limit", "1", "--json").out
    let first = try JSON.parse(Array(page.utf8))
    let next = try #require(first["next"].string, "\(page)")
    let rest = try coffer("reconcile", "list", "--repaired", "--after", next, "--json").out
    let repairs = try JSON.parse(Array(rest.utf8))["repairs"].requireArray()
    #expect(repairs.count + 1 == Int(run["repaired"].integer ?? 0), "\(rest)")
  }

  @Test(arguments: [
    (["reconcile", "google"], 1, "google cannot be queried"),
    (["reconcile", "paypal"], 64, "store is one of"),
    (["reconcile", "list", "--after", "stripe"], 64, "--after takes <store>/<number>"),
    (
      ["reconcile", "list", "--repaired", "--after", "stripe/1"], 64,
      "--after takes <store>/<run>/<subject>"
    ),
  ])
  func `what cannot be reconciled is said in one line`(
    words: [String], code: Int32, line: String
  ) throws {
    let finished = try Finished(words, environment: environment)
    #expect(finished.code == code)
    #expect(finished.errors.contains(line), "\(finished.errors)")
    #expect(finished.errors.split(separator: "\n").count == 1)
  }

  @Test func `without a key of the store's API nothing is ordered`() throws {
    let finished = try coffer(
      "subscription", "cancel", key, "--reason", "x", "--yes", without: "COFFER_STRIPE_API_KEY")
    #expect(finished.code == 78)
    #expect(finished.errors.contains("no key of its API is configured"), "\(finished.errors)")
    #expect(!stripe.isCancelling(id))
  }

  @Test func `doctor asks a store whether it knows our key`() throws {
    let known = try coffer("doctor", "--online")
    #expect(known.out.contains("it answers, and knows our key"), "\(known.out)\(known.errors)")
    let unknown = try Finished(
      ["doctor", "--online"],
      environment: environment.merging(["COFFER_STRIPE_API_KEY": "rk_live_other"]) { $1 })
    #expect(unknown.code == 1)
    #expect(unknown.out.contains("it refuses us"), "\(unknown.out)")
    stripe.faults.fail(next: [.status(503, retryAfter: nil)])
    let down = try coffer("doctor", "--online")
    #expect(down.code == 1)
    #expect(down.out.contains("it does not answer"), "\(down.out)")
  }
}
