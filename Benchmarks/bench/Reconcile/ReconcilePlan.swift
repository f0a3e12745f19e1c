import Base

/// The subscriptions, of Stripe and Google Play by turns, and which of them were renewed in the days of which
/// every delivery was lost. The months are those of a backlog's plan.
struct ReconcilePlan: Sendable {
  /// One of the two Stripe events about a subscription's beginning or renewal.
  struct Event: Sendable {
    let index: Int
    let isRenewal: Bool
    /// 0: the subscription, 1: its paid invoice.
    let part: Int

    /// Unique, but not in the order of time.
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

  /// The beginning of the month that was reported, or of the one that was lost.
  func begin(_ index: Int, isRenewal: Bool) -> Instant {
    months.monthEnd(index) - (isRenewal ? .seconds(0) : BacklogPlan.month)
  }
}
