import Base
import Jobs
import Ledger
import ProviderAPI
import Storage
import Stores
import Subscriptions

/// Reports delivered purchases to their stores, and unreported ones to operators.
struct Acknowledgements: Sendable {
  let reads: StoreReads

  private var ledger: Ledger { reads.ledger }
  private var database: Database { reads.database }

  var handlers: [JobHandler] {
    [
      JobHandler(Ledger.acknowledgeJob) { lease throws(JobFailure) in try acknowledge(lease) },
      JobHandler(Ledger.deadlineJob) { lease throws(JobFailure) in try checkDeadline(lease) },
    ]
  }

  private func acknowledge(_ lease: Lease) throws(JobFailure) -> JobResult {
    let key = try lease.key
    let found: (subscription: Subscription, owner: Identifier)? = try JobFailure.reading(database) {
      try ledger.unacknowledged(key, reading: $0)
    }
    guard let found else { return .nothing }
    let store = try reads.stores.reader(of: key)
    let request = try reads.request(for: key, lease)
    do throws(APIFailure) {
      try store.acknowledge(request, found.subscription.record, for: found.owner)
    } catch {
      throw JobFailure(error, reading: key)
    }
    Log.info("billing.acknowledged", ["object": key.description])
    // A replica that does not know of it yet must not make it acknowledged again and again.
    let due = reads.clock.now() + JobRules.confirmationDelay
    return JobResult { try Jobs.request(Ledger.readJob, key.description, due: due, in: $0) }
  }

  private func checkDeadline(_ lease: Lease) throws(JobFailure) -> JobResult {
    let key = try lease.key
    let (start, isDone): (Instant?, Bool) = try JobFailure.reading(database) { reader in
      let purchase = try ledger.reading(reader).subscription(key)
      return (purchase.unacknowledgedSince, try Ledger.isAcknowledged(key, reading: reader))
    }
    guard let start, !isDone else { return .nothing }
    let age = reads.clock.now() - start
    let alarmHours = try reads.stores.reader(of: key).traits.acknowledgementAlarmHours
    let next = alarmHours.first { Instant.Span.hours($0) > age }
    let hours = age.milliseconds / Instant.Span.hours(1).milliseconds
    return JobResult(
      writes: { transaction in
        guard let next else { return }
        try Jobs.request(
          Ledger.deadlineJob, key.description, due: start + .hours(next), in: transaction)
      },
      committed: { BillingMetrics.shared.countUnacknowledged(key, hours: hours) })
  }
}
