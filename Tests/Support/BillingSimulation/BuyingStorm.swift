import Base
import Flows
import ProviderFakes
import SeededRandom
package import Simulation
import TestEngines

/// An account that buys, changes its mind, loses its card, comes back and leaves. Every call to Stripe can
/// fail, and the process can die. In every case it pays for one subscription at a time and has what it pays
/// for.
package final class BuyingStorm {
  private let shop: BuyingShop
  private let log: SimulationLog
  private var random: SeededGenerator
  /// The number of charges when it cancelled, while it requests nothing else.
  private var chargedUntilCancelled: Int?

  /// Runs the storm of a seed. Throws if a rule is broken.
  package static func run(seed: UInt64, _ log: SimulationLog) throws {
    let storm = try BuyingStorm(seed, log)
    for _ in 0..<Int.random(in: 3...8, using: &storm.random) { try storm.turn() }
    try storm.judge()
    try storm.leave()
  }

  private init(_ seed: UInt64, _ log: SimulationLog) throws {
    random = SeededGenerator(seed: seed)
    shop = try BuyingShop(.sqlite)
    shop.delivers = Bool.random(using: &random)
    self.log = log
  }

  /// Makes one request, and follows it to its end.
  private func turn() throws {
    if Int.random(in: 0..<3, using: &random) == 0 { changeCard() }
    if Int.random(in: 0..<3, using: &random) == 0 { try pass() }
    if let charged = chargedUntilCancelled, charged != shop.stripe.chargeCount {
      throw wrong("charged after cancelling")
    }
    let wish = wish()
    chargedUntilCancelled = nil
    shop.client = [.confirms, .confirms, .confirms, .refuses, .isAway].randomElement(
      using: &random)!
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let mishap = RoughWay.Mishap.allCases.randomElement(using: &random)!
      shop.way.plan(mishap, atCall: shop.way.callCount + Int.random(in: 0...14, using: &random))
    }
    let before = shop.current.count
    do {
      let flow = try shop.ask(wish)
      let end = try shop.finish(flow.id)
      log.write(
        shop.installation.now,
        "\(wish.kind) \(wish.plan ?? "") ends \(end.problem?.code.rawValue ?? end.status.rawValue)")
      try check(end, before)
    } catch let problem as FlowProblem {
      log.write(shop.installation.now, "\(wish.kind) is refused: \(problem.code.rawValue)")
    }
    shop.way.clear()
  }

  private func wish() -> Intention {
    let cards = [
      "pm_card_visa", "pm_card_visa", "pm_card_visa", "pm_card_chargeCustomerFail",
      "pm_card_visa_chargeDeclinedInsufficientFunds", "pm_card_authenticationRequiredOnSetup",
      "pm_card_authenticationRequired",
    ]
    let card = cards.randomElement(using: &random)!
    let plan = Bool.random(using: &random) ? "premium" : "plus"
    if shop.current.isEmpty, Int.random(in: 0..<4, using: &random) > 0 {
      return Bool.random(using: &random) ? .subscribe(card, plan: plan) : .checkout(plan)
    }
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1, 2: return .subscribe(card, plan: plan)
    case 3: return .checkout(plan)
    case 4, 5: return .change(to: plan)
    case 6: return Intention(.cancel)
    case 7: return Intention(.uncancel)
    case 8: return .card(card)
    default: return Intention(.pay)
    }
  }

  private func changeCard() {
    guard let subscription = shop.current.first else { return }
    let card = [StripeCard.works, .declines, .lacksFunds, .needsConfirmation].randomElement(
      using: &random)!
    shop.stripe.setCard(of: subscription, card)
    log.write(shop.installation.now, "the card now \(card)")
  }

  /// Advances time by up to a month and a half; due jobs run on the way.
  private func pass() throws {
    let end = shop.installation.now + .hours(Int64.random(in: 1...1000, using: &random))
    while shop.installation.now < end {
      shop.installation.now = min(end, shop.installation.now + .hours(12))
      shop.stripe.run(until: max(shop.stripe.clock.now, shop.installation.now))
      try shop.runDue()
    }
    log.write(shop.installation.now, "time has passed")
  }

  // MARK: what must hold

  private func check(_ flow: Flow, _ before: Int) throws {
    guard shop.stripe.customerCount <= 1 else {
      throw wrong("\(shop.stripe.customerCount) customers")
    }
    guard shop.current.count <= 1 else { throw wrong("two subscriptions at once") }
    guard flow.status == .done else { return }
    if flow.intention.kind == .cancel { chargedUntilCancelled = shop.stripe.chargeCount }
    guard flow.intention.kind.isPurchase else { return }
    guard shop.current.count == 1 else { throw wrong("bought, and nothing is there") }
    guard try shop.plan == flow.intention.plan else {
      throw wrong("bought \(flow.intention.plan ?? ""), has \(try shop.plan)")
    }
  }

  /// At the end everything is read: the account must have what was sold.
  private func judge() throws {
    shop.way.clear()
    let keys = try shop.installation.keys
    try shop.installation.reread(keys)
    for _ in 0..<20 { try shop.step() }
    let drift = try shop.installation.drift()
    guard drift.isEmpty else { throw wrong("\(drift)") }
    let now = shop.installation.now
    let sold = shop.stripe.sales(asOf: shop.stripe.clock.now).filter {
      $0.from <= now && now < $0.to
    }
    let plan = try shop.plan
    log.write(now, "has \(plan), sold \(sold.count), charged \(shop.stripe.chargeCount) times")
    guard sold.isEmpty || plan != "free" else { throw wrong("paid for, and not there") }
  }

  /// The account requests its deletion over the same unreliable connection, and may stay after all.
  private func leave() throws {
    try shop.installation.beginRounds()
    shop.delivers = true
    for _ in 0..<Int.random(in: 0...4, using: &random) {
      let mishap = RoughWay.Mishap.allCases.randomElement(using: &random)!
      shop.way.plan(mishap, atCall: shop.way.callCount + Int.random(in: 0...8, using: &random))
    }
    let plan = try shop.plan
    try shop.askForEnd()
    try shop.pass(.days(1))
    if Int.random(in: 0..<4, using: &random) == 0 {
      shop.way.clear()
      try shop.stay()
      try shop.pass(.hours(12))
      log.write(shop.installation.now, "stays, with \(try shop.plan)")
      guard try shop.installation.count("SELECT count(*) FROM billing.account_deletions") == 0
      else { throw wrong("stays, and is still leaving") }
      return
    }
    let charged = shop.stripe.chargeCount
    try shop.pass(.days(6))
    shop.way.clear()
    try shop.beginErasing()
    try shop.pass(.days(2))
    guard try shop.isErased else { throw wrong("is not erased") }
    let kept = try shop.keptBodies
    guard kept.isEmpty else { throw wrong("bodies are left: \(kept)") }
    try shop.pass(.days(90))
    log.write(
      shop.installation.now,
      "left \(plan), charged \(shop.stripe.chargeCount - charged) times since")
    guard shop.stripe.chargeCount == charged else { throw wrong("charged after leaving") }
    let later = try shop.keptBodies
    guard later.isEmpty else { throw wrong("bodies that came later are left: \(later)") }
  }

  private func wrong(_ text: String) -> BuyingShop.Wrong {
    BuyingShop.Wrong(
      description: "\(text) at \(shop.installation.now); calls: \(shop.way.calls.suffix(12))")
  }
}
