package import Base
package import Jobs
package import Storage
import Subscriptions

/// Checks for renewals that no one reported. At the end of a paid period, while the renewal is expected, the
/// subscription is read. Each subscription has one job, which moves on from period to period.
extension Ledger {
  private static let renewalJob = "renewal"

  package func renewalHandler(_ clock: Clock) -> JobHandler {
    JobHandler(Self.renewalJob) { lease throws(JobFailure) in
      guard let key = ObjectKey(lease.object) else { throw .refused("is no object key") }
      let now = clock.now()
      return JobResult(
        writes: { transaction in try checkRenewal(of: key, at: now, in: transaction) })
    }
  }

  /// Requests a read of a subscription whose renewal is due and was not seen, and checks again later.
  private func checkRenewal(
    of key: ObjectKey, at now: Instant, in transaction: Transaction
  ) throws {
    try LedgerSequence.lock(in: transaction)
    guard isReadable(key), let row = try SubscriptionRow(key, reading: transaction) else {
      return
    }
    let coverage = try Coverage(text: row.coverage)
    // A check that comes after the leeway, because no program was running, still requests one read.
    if coverage.awaitsRenewal(at: now) || row.willRenew && coverage.lacksRenewal(at: now) {
      try Jobs.request(Self.readJob, key.description, due: now, in: transaction)
    }
    guard let next = coverage.nextRenewalCheck(after: now) else { return }
    try Jobs.request(Self.renewalJob, key.description, due: next, in: transaction)
  }

  /// Schedules a check for the end of a subscription's paid time. An earlier check that already
  /// waits is as good: it finds out when the next one is due.
  func expectRenewal(
    of key: ObjectKey, _ coverage: Coverage, at now: Instant, in transaction: Transaction
  ) throws {
    guard isReadable(key), let next = coverage.nextRenewalCheck(after: now) else { return }
    let waiting = try Jobs.find(Self.renewalJob, key.description, reading: transaction)?.due
    if let waiting, waiting <= next { return }
    try Jobs.request(Self.renewalJob, key.description, due: next, in: transaction)
  }

  /// The objects, in their text form, that are subscriptions and would renew as far as is known.
  package static func renewing(
    _ objects: [String], reading database: some Queryable
  ) throws -> Set<String> {
    Set(
      try objects.filter { object in
        try database.first(
          "SELECT will_renew FROM billing.subscriptions WHERE object = $1", .text(object)
        ) { row in try row.integer(0) == 1 } ?? false
      })
  }
}
