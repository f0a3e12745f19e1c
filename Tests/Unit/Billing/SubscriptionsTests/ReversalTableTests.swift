import Apple
import Base
import StoreFacts
import Subscriptions
import Testing

/// The effect of money that goes back, by the table alone.
struct ReversalTableTests {
  private typealias F = StoreFacts

  private func policy(
    _ kind: ReversalTable.Kind, past: ReversalTable.Effect = .none,
    current: ReversalTable.Effect = .none
  ) -> Policy {
    var policy = Policy.standard
    policy.reversals = ReversalTable([
      kind: .init(past: past, current: current, unbound: .none)
    ])
    return policy
  }

  @Test(arguments: ReversalTable.Effect.allCases, [true, false])
  func `each effect on the current and on a past period is what the table says`(
    effect: ReversalTable.Effect, isCurrent: Bool
  ) {
    for (revocation, kind, percentage) in [
      (AppleTransaction.Revocation.Kind.full, ReversalTable.Kind.fullRefund, Int64?.none),
      (.prorated, .proratedRefund, 40_000), (.prorated, .fullRefund, 100_000),
      (.family, .familyRevoke, nil), (.assignment, .assignmentRevoke, nil),
      (.unknown, .unknownRevocation, nil),
    ] {
      let facts =
        [F.transaction("t0", 0, 30, revoked: 5, revocation, percentage: percentage, signed: 9)]
        + (isCurrent ? [] : [F.transaction("t1", 30, 60)])
      let policy =
        isCurrent ? policy(kind, current: effect) : policy(kind, past: effect)
      let coverage = F.subscription(F.appleKey, facts)
        .coverage(policy: policy, catalogue: F.catalogue)
      let isCut = effect == .cut || effect == .suspend
      #expect((coverage.entry(at: at(20)) == nil) == isCut, "\(kind) \(effect)")
      #expect((coverage.entry(at: at(4)) != nil), "\(kind) \(effect)")
      #expect(coverage.alarms.isEmpty == (effect != .flag), "\(kind) \(effect)")
    }
  }

  @Test func `the standard table is what was decided, row by row`() {
    let table = ReversalTable.standard
    let rows = ReversalTable.Kind.allCases.map { kind in
      "\(kind.rawValue): "
        + ReversalTable.Scope.allCases.map { table.effect(of: kind, on: $0).rawValue }
        .joined(separator: " ")
    }
    #expect(
      rows == [
        "full_refund: cut cut flag", "partial_refund: flag flag flag",
        "prorated_refund: cut cut flag", "refund_reversed: none none none",
        "refund_failed: none none flag", "dispute_opened: flag flag flag",
        "dispute_won: none none none", "dispute_lost: cut cut flag",
        "family_revoke: cut cut flag", "assignment_revoke: cut cut flag",
        "unknown_revocation: flag flag flag", "voided_order: flag flag flag",
      ])
  }
}
