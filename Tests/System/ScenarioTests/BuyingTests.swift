import Base
import Configuration
import Crypto
import Glibc
import HTTPClient
import HTTPServer
import JSON
import LocalServer
import ProviderFakes
import RecordedStories
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Buying through the real programs, over sockets.
struct BuyingTests {
  private static let wish: JSONValue = [
    "plan": "premium", "interval": "month", "payment_method": "pm_card_visa",
  ]

  @Test(arguments: TestEngine.available)
  func `fifty requests at once buy one subscription, which the account then has`(
    engine: TestEngine
  ) throws {
    let scene = try BuyingScene(engine)
    let answers = Locked<[(status: Int, flow: String)]>([])
    let threads = (0..<50).map { _ in
      Thread {
        guard let answer = try? scene.buyer().post("/v1/stripe/subscription", Self.wish) else {
          return
        }
        let flow = (try? answer.json["flow"].string) ?? ""
        answers.withLock { $0.append((answer.status, flow)) }
      }
    }
    for thread in threads { thread.join() }
    let all = answers.withLock { $0 }
    #expect(all.count == 50)
    #expect(all.allSatisfy { $0.status == 202 || $0.status == 200 }, "\(all.map(\.status))")
    let flows = Set(all.map(\.flow))
    try #require(flows.count == 1)
    let flow = try scene.finished(try #require(flows.first))
    #expect(flow["status"].string == "done")
    #expect(scene.stripe.subscriptions.count == 1)
    #expect(scene.stripe.customerCount == 1)
    #expect(scene.stripe.chargeCount == 1)
    let cap = try scene.account.get("/v1/account").json["cap"].integer
    #expect(cap == 30_000_000_000)
    let told = try scene.buyer().get("/v1/subscription").json["subscriptions"][0]
    #expect(told["state"].string == "active")
    #expect(
      told["actions"].array?.compactMap { $0["path"].string }
        == ["change", "cancel", "card", "portal"].map { "/v1/stripe/\($0)" })
  }

  @Test func `a flow that its program died over is gone on with by the next`() throws {
    let scene = try BuyingScene(.sqlite)
    scene.stripe.faults.fail(next: Array(repeating: .status(503), count: 3))
    let answer = try scene.buyer().post("/v1/stripe/subscription", Self.wish)
    let flow = try #require(try answer.json["flow"].string)
    scene.billing.kill()
    let next = try scene.installation.start(.billing, port: scene.billing.port)
    try scene.pass(.minutes(3))
    #expect(try scene.finished(flow)["status"].string == "done")
    #expect(scene.stripe.subscriptions.count == 1)
    next.stop()
  }

  static let refused: [(path: String, body: JSONValue, problem: String)] = [
    (
      "subscription", ["plan": "premium", "interval": "month", "payment_method": "tok_visa"],
      "body_invalid"
    ),
    (
      "subscription",
      ["plan": "premium", "interval": "month", "payment_method": "4242 4242 4242 4242"],
      "body_invalid"
    ),
    (
      "subscription", ["plan": "premium", "interval": "week", "payment_method": "pm_1"],
      "body_invalid"
    ),
    (
      "subscription",
      ["plan": "premium", "interval": "month", "payment_method": "pm_1", "coupon": "x"],
      "body_invalid"
    ),
    (
      "subscription", ["plan": "gold", "interval": "month", "payment_method": "pm_1"],
      "plan_unknown"
    ),
    (
      "checkout",
      ["plan": "premium", "interval": "month", "success_url": "https://app.example.evil/x"],
      "body_invalid"
    ),
    ("portal", ["return_url": "https://app.example/x"], "no_customer"),
    ("cancel", .object([]), "nothing_to_cancel"), ("uncancel", .object([]), "no_subscription"),
    ("change", ["plan": "plus", "interval": "month"], "no_subscription"),
    (
      "migrate", ["plan": "premium", "interval": "month", "payment_method": "pm_1"],
      "nothing_to_migrate"
    ),
  ]

  @Test func `what cannot be is refused with a problem of its own, and nothing is begun`() throws {
    let scene = try BuyingScene(.sqlite)
    for (path, body, problem) in Self.refused {
      let answer = try scene.buyer().post("/v1/stripe/\(path)", body)
      #expect(try answer.problem == problem, "\(path): \(answer.status)")
    }
    let unknown = Random.identifier()
    #expect(try scene.buyer().get("/v1/flows/\(unknown)").problem == "flow_unknown")
    #expect(try scene.buyer().get("/v1/flows/x").problem == "flow_unknown")
    #expect(scene.stripe.faults.requestCount == 0)
    #expect(!scene.billing.words.contains("4242 4242"))
    #expect(try scene.installation.command("flow", "list").output.contains("FLOW"))
  }

  @Test func `what a request sets going goes on in its trace, and the log says so`() throws {
    let scene = try BuyingScene(.sqlite)
    let traces = [
      "0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736",
    ]
    let fields = traces.map { [("traceparent", "00-\($0)-b7ad6b7169203331-01")] }
    let buyer = scene.buyer()
    let answer = try buyer.send(
      buyer.sign(
        "POST", "/v1/stripe/subscription", body: Self.wish.encoded(), headers: fields[0]))
    _ = try scene.finished(try #require(try answer.json["flow"].string))
    let subscription = try #require(scene.stripe.subscriptions.first)
    let event: JSONValue = [
      "id": "evt_thin", "object": "v2.core.event", "type": "v1.customer.subscription.updated",
      "livemode": true, "created": "2026-09-21T14:13:20.000Z",
      "related_object": ["id": .string(subscription), "type": "subscription"],
    ]
    let body = event.encoded()
    let signature = StripeSignature.header(body: body, at: scene.installation.clock.now())
    let reply = try HTTPClient().send(
      "POST", "http://127.0.0.1:\(scene.billing.port)/webhooks/stripe",
      headers: fields[1] + [("Stripe-Signature", signature)], body: body, timeout: .seconds(30))
    #expect(reply.status == 200)
    for (trace, kind) in zip(traces, ["flow", "read"]) {
      #expect(try scene.tells("job.done", "kind=\(kind)", "trace=\(trace)"), "\(kind)")
    }
  }

  /// The free days belong to the account, not to each purchase.
  @Test(arguments: TestEngine.available, ["subscription", "checkout"])
  func `a first purchase has the free days of the catalogue, and a second has none`(
    engine: TestEngine, path: String
  ) throws {
    let scene = try BuyingScene(engine, trialDays: 14)
    let sold = try scene.buyer().get("/v1/plans").json["plans"].array?.flatMap {
      $0["products"].array ?? []
    }
    #expect(sold?.contains { $0["trial_days"].integer == 14 } == true)
    #expect(try scene.overview["first_purchase"].bool == true)
    func buy() throws -> String {
      let known = Set(scene.stripe.subscriptions)
      var wish = Self.wish
      if path == "checkout" {
        wish = ["plan": "premium", "interval": "month", "success_url": "https://app.example/x"]
      }
      let answer = try scene.buyer().post("/v1/stripe/\(path)", wish)
      let flow = try #require(try answer.json["flow"].string, "\(answer.status)")
      if path == "checkout" {
        let page = try scene.page(of: flow)
        _ = scene.stripe.complete(checkout: page)
      }
      #expect(try scene.finished(flow)["status"].string == "done")
      return try #require(scene.stripe.subscriptions.first { !known.contains($0) })
    }
    let first = try buy()
    #expect(scene.stripe.status(of: first) == "trialing")
    #expect(scene.stripe.chargeCount == 0)
    #expect(try scene.overview["reason"].string == "trial")
    #expect(try scene.overview["first_purchase"].bool == false)
    let ended = try scene.installation.command(
      "subscription", "cancel", first, "--now", "--reason", "ticket 1", "--yes")
    #expect(ended.end == .exited(0), "\(ended.output)")
    // The same request within a quarter of an hour is the same purchase.
    try scene.pass(.minutes(16))
    for _ in 0..<100 where try scene.overview["state"].string == "trialing" {
      try scene.pass(.seconds(5))
      usleep(100_000)
    }
    let second = try buy()
    #expect(scene.stripe.status(of: second) == "active")
    #expect(scene.stripe.chargeCount == 1)
  }

  @Test func `another account's flow is nobody's`() throws {
    let scene = try BuyingScene(.sqlite)
    let answer = try scene.buyer().post("/v1/stripe/subscription", Self.wish)
    let flow = try #require(try answer.json["flow"].string)
    let other = try scene.installation.device(of: scene.sync)
    let stranger = scene.installation.device(of: scene.billing, key: other.key)
    #expect(try stranger.get("/v1/flows/\(flow)").problem == "flow_unknown")
    #expect(try stranger.post("/v1/flows/\(flow)/continue", .object([])).status >= 400)
  }
}

/// Both programs, an account with a device, and a fake Stripe.
private struct BuyingScene {
  let installation: Installation
  let stripe: FakeStripe
  let api: HTTPServer
  let billing: Server
  let sync: Server
  let key: Ed25519PrivateKey
  let account: TestDevice
  private let scratch: ScratchDirectory

  /// `trialDays` are the free days of each Stripe price.
  init(_ engine: TestEngine, trialDays: Int64? = nil) throws {
    let start = Instant(seconds: 1_790_000_000)
    scratch = try ScratchDirectory()
    stripe = FakeStripe(FakeClock(start))
    api = try startServer(stripe.routes())
    installation = try Installation(
      engine, startingAt: start,
      settings: [
        "COFFER_PLANS": try Self.plans(trialDays, in: scratch.path),
        "COFFER_BILLING_AUTHORITIES": Installation.authority,
        "COFFER_STRIPE_API_KEY": String(decoding: stripe.key.exposed, as: UTF8.self),
        "COFFER_STRIPE_API_URL": "http://127.0.0.1:\(api.port)",
        "COFFER_STRIPE_RETURN_URLS": "https://app.example",
      ])
    billing = try installation.start(.billing)
    sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    (key, account) = (device.key, device)
  }

  private static func plans(_ trialDays: Int64?, in folder: String) throws -> String {
    guard let trialDays else { return RecordedStory.cataloguePath }
    let text = try #require(Files.text(RecordedStory.cataloguePath))
    let path = folder + "/plans.json"
    try Files.write(
      text.replacing(#""price": "price_"#, with: #""trial_days": \#(trialDays), "price": "price_"#),
      to: path)
    return path
  }

  var overview: JSON { get throws { try buyer().get("/v1/subscription").json } }

  /// The Stripe page that a flow waits for.
  func page(of flow: String) throws -> String {
    for _ in 0..<100 {
      let action = try buyer().get("/v1/flows/\(flow)").json["action"]
      if let url = action["url"].string,
        let page = url.split(separator: "/").last?.prefix(while: { $0 != "#" })
      {
        return String(page)
      }
      try pass(.milliseconds(500))
      usleep(20_000)
    }
    throw ScenarioError("the flow has no page")
  }

  /// The same device, with the port of the other program.
  func buyer() -> TestDevice { installation.device(of: billing, key: key) }

  /// Advances virtual time, which otherwise stands still.
  func pass(_ span: Instant.Span) throws {
    try installation.clock.set(installation.clock.now() + span)
    stripe.run(until: installation.clock.now())
  }

  /// Whether a line of billing's log contains all these parts within half a minute.
  func tells(_ parts: String...) throws -> Bool {
    for _ in 0..<600 {
      let lines = billing.words.split(separator: "\n")
      if lines.contains(where: { line in parts.allSatisfy { line.contains($0) } }) { return true }
      try pass(.milliseconds(500))
      usleep(50_000)
    }
    return false
  }

  func finished(_ flow: String) throws -> JSON {
    for _ in 0..<600 {
      let answer = try buyer().get("/v1/flows/\(flow)")
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
      let json = try answer.json
      if json["status"].string == "done" || json["status"].string == "failed" { return json }
      try pass(.milliseconds(500))
      usleep(20_000)
    }
    throw ScenarioError("the flow never ends")
  }
}
