package import Base
package import Configuration
package import Flows
import JSON
import Jobs
import KnownStores
import Ledger
import ProviderAPI
package import ProviderFakes
import Storage
package import Stores
package import Stripe
package import TestEngines
package import Tiers

/// An account that buys at a fake Stripe, over an unreliable connection, from an installation that can crash.
package final class BuyingShop {
  package struct Wrong: Error, CustomStringConvertible {
    package let description: String
  }

  package let stripe: FakeStripe
  package let way: RoughWay
  package let installation: Installation
  package let account = Identifier(high: 7, low: 9)
  /// Whether Stripe's deliveries reach us. Without them, all knowledge comes from flows.
  package var delivers = false
  /// The client's reaction when a flow asks it to act.
  package var client = Client.confirms
  private var deliveredCount = 0

  package enum Client: Sendable { case confirms, refuses, isAway }

  package static let start = Instant(seconds: 1_790_000_000)

  /// `others`: the stores besides Stripe; `migratable`: those that may be left for Stripe; `deleting`: the
  /// policy for the paid plans of an account that leaves.
  package init(
    _ engine: TestEngine, migratable: Set<String> = [], extras: Set<StripeBuying.Extra> = [],
    deleting: DeletionPolicy = .periodEnd,
    others: @escaping @Sendable (StripeStore, Clock) -> StoreList = { stripe, _ in
      .known(with: stripe)
    }
  ) throws {
    let start = Self.start
    var buying = StripeBuying()
    buying.migratable = migratable
    buying.extras = extras
    let stripe = FakeStripe(FakeClock(start))
    let base = "https://stripe.fake"
    let now = Locked(start)
    let way = RoughWay(
      FakeTransport(base: base) { request in
        let now = now.withLock { $0 }
        if stripe.clock.now < now { stripe.run(until: now) }
        return stripe.answer(request)
      })
    (self.stripe, self.way) = (stripe, way)
    var policies = Installation.Policies()
    policies.deletion = deleting
    installation = try Installation(engine, with: policies) { [buying] clock in
      others(
        StripeStore(
          secrets: WebhookSecrets(stripe.secrets),
          api: StripeAPI(
            base: base, key: stripe.key, environment: .live,
            transport: ClockedWay(way: way, clock: clock, now: now)), buying: buying), clock)
    }
    installation.now = start
    let time = installation.time
    way.whileWaiting { span in time.withLock { $0 = $0 + span } }
  }

  // MARK: what the account asks

  package func ask(_ intention: Intention) throws -> Flow {
    let account = account
    return try installation.ask { flows, transaction, now in
      try flows.begin(intention, of: account, at: now, in: transaction)
    }
  }

  package func giveUp(_ flow: Flow) throws -> Flow {
    let account = account
    return try installation.ask { flows, transaction, now in
      try flows.giveUp(flow.id, of: account, at: now, in: transaction)
    }
  }

  package func flow(_ id: Identifier) throws -> Flow {
    let account = account
    return try installation.ask { flows, transaction, _ in
      try flows.find(id, of: account, reading: transaction)
    }
  }

  package func action(of id: Identifier) throws -> ClientAction? {
    installation.action(of: try flow(id))
  }

  // MARK: what happens

  /// Runs what is due until the flow is over, however long it takes. The client does its part.
  package func finish(_ id: Identifier) throws -> Flow {
    for _ in 0..<400 {
      let flow = try flow(id)
      if !flow.isOpen { return flow }
      try act(on: flow)
      try step()
    }
    throw Wrong(description: "the flow never ends: \(try flow(id)), calls \(way.calls.suffix(8))")
  }

  /// Advances time to the next due job and runs it.
  package func step() throws {
    let due = try installation.nextDue ?? installation.now
    installation.now = max(installation.now + .milliseconds(500), due)
    try runDue()
  }

  /// Runs everything that waits for no client.
  package func settle() throws {
    for _ in 0..<200 {
      guard let due = try installation.nextDue, due < installation.now + .minutes(10) else {
        return
      }
      try step()
    }
  }

  /// Advances time at Stripe and here. Deliveries and due jobs are handled on the way.
  package func pass(_ span: Instant.Span) throws {
    let end = installation.now + span
    let step = Instant.Span.milliseconds(max(600_000, span.milliseconds / 300))
    while installation.now < end {
      installation.now = min(installation.now + step, end)
      catchUp()
      if delivers { try deliver() }
      // Each job separately, and then the jobs that it makes due at once.
      for _ in 0..<8 {
        try runDue()
        guard let due = try installation.nextDue, due <= installation.now else { break }
      }
    }
  }

  /// Runs one job at a time, so that a crash loses only the job that it interrupts.
  package func runDue() throws {
    let readings = try installation.beginReads()
    if way.isCrashed {
      try installation.crash()
      way.comeBack()
      installation.now = installation.now + JobRules.leaseTime
      return
    }
    for reading in readings { try installation.commit(reading) }
    if delivers { try deliver() }
  }

  private func act(on flow: Flow) throws {
    guard flow.status == .requiresAction, let action = installation.action(of: flow) else { return }
    switch (action, client) {
    case (_, .isAway), (.endRenewal, _): break
    case (.confirmSetup(let secret), _), (.confirmPayment(let secret), _):
      catchUp()
      stripe.confirm(secret, succeeds: client == .confirms)
    case (.visit(let url), .confirms):
      catchUp()
      if let session = url.split(separator: "/").last.map(String.init), session.hasPrefix("cs_"),
        stripe.isOpen(checkout: session)
      {
        _ = stripe.complete(checkout: session)
      }
    case (.visit, .refuses): _ = try giveUp(flow)
    }
  }

  private func catchUp() {
    if stripe.clock.now < installation.now { stripe.run(until: installation.now) }
  }

  private func deliver() throws {
    let all = stripe.deliveries
    for delivery in all.dropFirst(deliveredCount) {
      _ = try installation.deliver(stripe.request(for: delivery, at: installation.now))
    }
    deliveredCount = all.count
  }

  // MARK: what is there

  /// The plan that the account may use now.
  package var plan: String {
    get throws {
      let (account, now) = (account, installation.now)
      return try installation.database.read { reader in
        try reader.first(
          """
          SELECT plan FROM billing.entitlements WHERE account_id = $1 AND from_ms <= $2
          ORDER BY from_ms DESC LIMIT 1
          """, .id(account), .instant(now)
        ) { try $0.text(0) }
      } ?? "free"
    }
  }

  /// The actions offered to the account, for its subscriptions or without one.
  package var actions: [String] {
    get throws {
      let overview = try installation.overview(of: account)
      let own = (overview["subscriptions"].array ?? []).flatMap { $0["actions"].array ?? [] }
      return (own + (overview["actions"].array ?? [])).compactMap { $0["action"].string }
    }
  }

  /// The subscriptions at Stripe that have not ended.
  package var current: [String] {
    stripe.subscriptions.filter { id in
      !["canceled", "incomplete_expired"].contains(stripe.status(of: id))
    }
  }
}

/// Passes the time on to the fake.
private struct ClockedWay: ProviderTransport {
  let way: RoughWay
  let clock: Clock
  let now: Locked<Instant>

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    now.withLock { $0 = clock.now() }
    return try way.send(request)
  }
}

extension Intention {
  package static func subscribe(
    _ method: String, plan: String = "premium", _ interval: Plan.Interval = .month
  ) -> Intention {
    var intention = Intention(.subscribe)
    (intention.plan, intention.interval, intention.paymentMethod) = (plan, interval, method)
    return intention
  }

  package static func change(to plan: String, _ interval: Plan.Interval = .month) -> Intention {
    var intention = Intention(.change)
    (intention.plan, intention.interval) = (plan, interval)
    return intention
  }

  package static func migrate(_ method: String, plan: String = "premium") -> Intention {
    var intention = Intention(.migrate)
    (intention.plan, intention.interval, intention.paymentMethod) = (plan, .month, method)
    return intention
  }

  package static func card(_ method: String) -> Intention {
    var intention = Intention(.card)
    intention.paymentMethod = method
    return intention
  }

  package static func checkout(_ plan: String = "premium") -> Intention {
    var intention = Intention(.checkout)
    (intention.plan, intention.interval) = (plan, .month)
    intention.returnURL = "https://app.example/done"
    return intention
  }
}
