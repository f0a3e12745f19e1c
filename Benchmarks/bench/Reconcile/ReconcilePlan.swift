internal import Base

/// Which subscriptions there are, of Stripe and Google Play by turns, and which of them were renewed in the
/// days of which every delivery was lost; in the months of a backlog's plan.
struct ReconcilePlan: Sendable {
  /// What Stripe told of a subscription's beginning or renewal, in one of two events.
  struct Event: Sendable {
    let index: Int
    let isRenewal: Bool
    /// 0: the subscription, 1: its invoice that was paid.
    let part: Int

    /// Never the same; in no order of time.
    var order: Int { 4 * index + (isRenewal ? 2 : 0) + part }
  }

  let months: BacklogPlan
  let stores: [Options.Store]

  init(_ options: Options, now: Instant) {
    months = BacklogPlan(options, now: now)
    stores = options.stores
  }

  var count: Int { months.subscriptionCount }

  func store(_ index: Int) -> Options.Store { stores[index % stores.count] }

  func indices(of store: Options.Store) -> [Int] {
    (0..<count).filter { self.store($0) == store }
  }

  func isRenewed(_ index: Int) -> Bool { index < months.renewedCount }

  /// When the month began that was told of, or the one that was lost.
  func begin(_ index: Int, isRenewal: Bool) -> Instant {
    months.monthEnd(index) - (isRenewal ? .seconds(0) : BacklogPlan.month)
  }
}
