package import Base
package import Storage
package import Tiers

extension Retention {
  /// The most changes of an account's plan that are looked at. More within the days that count are taken for none.
  private static let stepCountMax: Int64 = 100

  /// Reads the plans that an account has and had, from the schedule that coffer-billing writes and its history.
  package init(
    _ queryable: some Queryable, _ account: Identifier, catalogue: Catalogue, now: Instant
  ) throws {
    let span = Instant.Span.days(min(catalogue.formerPlanDays, Plan.Limits.daysMax))
    let start = now - span
    var steps: [Step] = []
    for held in try Self.plans(queryable, account, now: now) where held.to > start {
      steps += catalogue.limits(of: held.plan, from: held.from, to: held.to)
    }
    self.init(steps, formerSpan: span)
  }

  /// A plan up to but not including `to`; the free plan if it is nil.
  private struct Held {
    let plan: String?
    let from: Instant
    let to: Instant
  }

  /// The plan of now and those before, latest first. The schedule may have been written anew, so the history counts.
  private static func plans(
    _ queryable: some Queryable, _ account: Identifier, now: Instant
  ) throws -> [Held] {
    let history = try queryable.rows(
      """
      SELECT plan, from_ms, to_ms FROM billing.held WHERE account_id = $1
      ORDER BY from_ms DESC LIMIT $2
      """, .id(account), .integer(stepCountMax)
    ) { row in Held(plan: try row.text(0), from: try row.instant(1), to: try row.instant(2)) }
    let schedule = try queryable.rows(
      """
      SELECT plan, from_ms FROM billing.entitlements WHERE account_id = $1 AND from_ms <= $2
      ORDER BY from_ms DESC LIMIT $3
      """, .id(account), .instant(now), .integer(stepCountMax)
    ) { row in (plan: try row.text(0), from: try row.instant(1)) }
    let start = history.first?.to ?? .distantPast
    guard !schedule.isEmpty else {
      return [Held(plan: nil, from: start, to: .distantFuture)] + history
    }
    var (plans, to) = ([Held](), Instant.distantFuture)
    for step in schedule where to > start {
      plans.append(Held(plan: step.plan, from: max(step.from, start), to: to))
      to = step.from
    }
    return plans + history
  }
}
