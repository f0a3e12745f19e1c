import Google
import StoreFacts
import Subscriptions
import Testing
import Tiers

/// How long access continues while a store does not answer, and when it does not continue.
struct OutageRuleTests {
  private typealias F = StoreFacts

  private func steps(
    _ key: ObjectKey, _ facts: [Fact], unansweredSince since: Double
  ) -> [String] {
    var subscription = F.subscription(key, facts)
    subscription.unansweredSince = at(since)
    let coverage = subscription.coverage(policy: .standard, catalogue: F.catalogue)
    return Schedule([coverage], catalogue: F.catalogue).boundaries.dropFirst().map { step in
      "\(dayText(step.from)) \(step.planID) \(step.reason.rawValue)"
    }
  }

  private static let carriedOn = [
    "day 0 premium subscribed", "day 30 premium leeway", "day 31 2 h premium store_unreachable",
    "day 37 free lapsed",
  ]

  @Test(arguments: [10, 30, 31] as [Double])
  func `leeway is carried on where reads failed before it was over`(since: Double) {
    #expect(
      steps(F.appleKey, [F.transaction("t0", 0, 30), F.renewal(1)], unansweredSince: since)
        == Self.carriedOn)
    #expect(
      steps(F.googleKey, [F.purchase(.active, 0, 30)], unansweredSince: since) == Self.carriedOn)
  }

  @Test func `what was over when reads began to fail stays over`() {
    #expect(
      steps(F.googleKey, [F.purchase(.active, 0, 30)], unansweredSince: 31.1) == [
        "day 0 premium subscribed", "day 30 premium leeway", "day 31 2 h free lapsed",
      ])
  }

  @Test func `a cancelled subscription ends with its period, whatever the store answers`() {
    #expect(
      steps(
        F.appleKey, [F.transaction("t0", 0, 30), F.renewal(9, renews: false)], unansweredSince: 20)
        == ["day 0 premium subscribed", "day 30 free lapsed"])
    #expect(
      steps(F.googleKey, [F.purchase(.canceled, 0, 30, renews: false)], unansweredSince: 20)
        == ["day 0 premium subscribed", "day 30 free lapsed"])
  }

  @Test func `grace is the store's own and is not carried on`() {
    let facts = [
      F.transaction("t0", 0, 30), F.renewal(30, retry: true, grace: 36), F.status(30, 4),
    ]
    #expect(
      steps(F.appleKey, facts, unansweredSince: 31) == [
        "day 0 premium subscribed", "day 30 premium grace", "day 36 free payment_failed",
      ])
  }

  @Test func `the label stays what it was during leeway, and is told when all is over`() {
    var subscription = F.subscription(F.googleKey, [F.purchase(.active, 0, 30)])
    subscription.unansweredSince = at(30)
    let coverage = subscription.coverage(policy: .standard, catalogue: F.catalogue)
    #expect(subscription.label(coverage, at: at(36)) == .active)
    #expect(subscription.label(coverage, at: at(38)) == .renewalPending)
  }
}
