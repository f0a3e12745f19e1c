import Base
import Crypto
import Flows
import Jobs
import Ledger
import ProviderAPI
import Storage
import Stores
import Subscriptions

/// Reads again what deliveries did not report, or reported in contradictions, and records the answers.
///
/// An answer is a delivery like a webhook's: sealed, kept for ever, and merged in the same way.
struct StoreReads: Sendable {
  let access: StoreAccess
  let search: SearchKey?
  let logsDeliveries: Bool

  var ledger: Ledger { access.ledger }
  var database: Database { access.database }
  var stores: StoreList { access.stores }
  var clock: Clock { access.clock }

  /// Objects that only clients report are read by one thread at a time, so that invented ones leave the other
  /// threads free for what stores and operators report.
  var handlers: [JobHandler] {
    let readers: [(lanes: ClosedRange<Int64>, concurrencyMax: Int)] = [
      (0...0, 4), (1...Int64.max, 1),
    ]
    return readers.map { lanes, concurrencyMax in
      JobHandler(
        Ledger.readJob, lanes: lanes, concurrencyMax: concurrencyMax,
        failed: { lease, now, transaction in
          guard let key = ObjectKey(lease.object) else { return }
          try ledger.noteFailedRead(key, at: now, in: transaction)
        }
      ) { lease throws(JobFailure) in
        let key = try lease.key
        let result = try run(key, lease)
        let now = clock.now()
        return result.written { transaction, write in
          try ledger.noteAnswer(key, at: now, in: transaction, write)
        }
      } died: { lease in
        let isRenewing = try? database.read { reader in
          try !Ledger.renewing([lease.object], reading: reader).isEmpty
        }
        if isRenewing == true { BillingMetrics.shared.countUnreadRenewal(lease.object) }
      }
    }
  }

  private func run(_ key: ObjectKey, _ lease: Lease) throws(JobFailure) -> JobResult {
    let store = try stores.reader(of: key)
    let answer: StoreAnswer
    let request = try request(for: key, lease)
    do throws(APIFailure) { answer = try store.read(request) } catch {
      return try result(of: error, key, store.traits, lease)
    }
    let now = clock.now()
    let delivery = PreparedDelivery(
      DecodedDelivery(answer, to: lease.readNumber, of: key), of: store, received: now, head: [],
      body: answer.transcript, sealing: access.sealing, search: search)
    return JobResult(
      readBegan: answer.began,
      writes: { transaction in
        let recorded = try ledger.record(delivery, in: transaction)
        try Flows(ledger: ledger, stores: stores)
          .repeatChanges(after: [recorded], at: now, in: transaction)
        try ledger.acceptClaims(key, at: now, in: transaction)
        try ledger.watchAcknowledgement(of: key, at: now, in: transaction)
        try ledger.confirmAnnounced(key, at: now, in: transaction)
        return recorded
      },
      committed: { recorded in tell([recorded]) })
  }

  /// Counts and logs what Coffer requested from stores, once it is durable.
  func tell(_ recorded: [Recorded]) {
    ledger.noteDurable(recorded)
    for one in recorded {
      BillingMetrics.shared.count(one, by: .read)
      if logsDeliveries { one.log(request: nil, trace: TraceContext.current) }
    }
  }

  /// The read's parameters, with the secret that deliveries brought.
  func request(for key: ObjectKey, _ lease: Lease) throws(JobFailure) -> StoreRead {
    try JobFailure.wrapping {
      try access.storeRead(
        of: key, readNumber: lease.readNumber, payload: lease.payload, isShallow: lease.isShallow)
    }
  }

  /// The result of a failure that is the store's answer about the object.
  private func result(
    of failure: APIFailure, _ key: ObjectKey, _ traits: StoreTraits, _ lease: Lease
  ) throws(JobFailure) -> JobResult {
    // A client made it up, or it ended before we heard of it: one answer is enough.
    let isClaimed = lease.lane > 0 && failure.isAboutObject
    // The last read still applies.
    let isForgotten = failure == .gone && traits.forgets
    guard isClaimed || isForgotten else { throw JobFailure(failure, reading: key) }
    let now = clock.now()
    return JobResult { transaction in
      try PendingClaims.settleUnknown(key, at: now, in: transaction)
      guard isClaimed else { return }
      // Something may be known of it after all. An object that is gone stays as it was last read.
      guard try lease.forget(in: transaction) || failure == .gone else {
        throw JobFailure.refused(failure.description)
      }
    }
  }
}

extension Lease {
  var key: ObjectKey {
    get throws(JobFailure) {
      guard let key = ObjectKey(object) else { throw .refused("is no object key") }
      return key
    }
  }
}

extension StoreList {
  func reader(of key: ObjectKey) throws(JobFailure) -> any Store {
    do { return try store(of: key) } catch { throw .refused("\(error)") }
  }
}

extension JobFailure {
  /// Raises an alarm if an operator must repair it.
  init(_ failure: APIFailure, reading key: ObjectKey) {
    if case .misconfigured(let reason) = failure {
      BillingMetrics.shared.countMisconfigured(key, reason)
    }
    switch failure {
    case .transient(let reason, let retryAfter):
      self = .transient(reason, retryAfter: retryAfter)
    // These end with an operator's repair, and nothing may be lost before that.
    case .misconfigured, .malformed:
      self = .transient(failure.description, retryAfter: .minutes(5))
    case .refused, .gone, .notFound: self = .refused(failure.description)
    }
  }
}
