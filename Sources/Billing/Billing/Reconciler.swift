import Base
import Flows
import Jobs
import Ledger
import ProviderAPI
import Storage
import Stores
import Subscriptions

/// Keeps what is known equal to what the stores report, even if deliveries were lost. Each store has a job that
/// goes through its lists page by page, and requests reads of what no list shows.
///
/// A page and the run's progress are one transaction, so that a crash repeats a page and loses none.
struct Reconciler: Sendable {
  let reads: StoreReads
  /// The time from one run to the next; nil: only when an operator begins one.
  let interval: Instant.Span?

  /// The pause between pages, so that no store's limit is near.
  private static let pause = Instant.Span.milliseconds(500)
  /// The pause while requested reads run.
  private static let readingPause = Instant.Span.seconds(2)
  /// The pause before a list is begun again, which may fail at the same page.
  private static let restartPause = Instant.Span.minutes(5)
  /// The steps after the lists.
  private static let sweep = "subscriptions one by one"
  private static let reading = "reads"

  private var ledger: Ledger { reads.ledger }
  private var database: Database { reads.database }

  var handler: JobHandler {
    JobHandler(Reconciliation.job, concurrencyMax: 2) { lease throws(JobFailure) in
      try run(lease)
    }
  }

  private func run(_ lease: Lease) throws(JobFailure) -> JobResult {
    guard let provider = ObjectKey.Provider(rawValue: lease.object),
      let store = reads.stores[provider], store.isReadable
    else { return .nothing }
    let (open, ended, waiting) = try JobFailure.reading(database) { reader in
      let run = try Reconciliation.open(of: provider, reading: reader)
      return (
        run, try Reconciliation.ended(of: provider, reading: reader),
        try run?.waitingCount(reading: reader) ?? 0
      )
    }
    guard let run = open else { return begin(provider, after: ended) }
    guard waiting < Reconciliation.readCountMax else {
      return advance(run) { _, _, _ in false }
    }
    return try step(run, store, lease)
  }

  /// Begins the next run when it is due; none is under way.
  private func begin(
    _ provider: ObjectKey.Provider, after ended: Reconciliation?
  ) -> JobResult {
    let now = reads.clock.now()
    let due = interval.map { interval in ended.map { $0.began + interval } ?? now }
    return JobResult { transaction in
      guard let due else { return }
      if due <= now {
        try Reconciliation.begin(of: provider, isWhole: false, at: now, in: transaction)
      }
      try Reconciliation.request(of: provider, at: max(due, now), in: transaction)
    }
  }

  private func step(
    _ run: Reconciliation, _ store: any Store, _ lease: Lease
  ) throws(JobFailure) -> JobResult {
    let steps = steps(of: run, store)
    let name = run.step.isEmpty ? steps[0] : run.step
    if let listing = store.listings.first(where: { $0.name == name }) {
      return try read(listing, run, store, isCareful: lease.attempts > 0)
    }
    if name == Self.sweep { return try sweep(run, store) }
    return advance(run) { run, _, transaction in try run.waitingCount(reading: transaction) == 0 }
  }

  /// The steps of a run, in order. A whole run lists objects first, so that an unknown object is read together
  /// with what is attached to it. Other runs list them last: what deliveries report need not be read.
  private func steps(of run: Reconciliation, _ store: any Store) -> [String] {
    let objects = store.listings.filter { $0.content == .objects }
    let deliveries = store.listings.filter { $0.content == .deliveries }
    let lists = run.isWhole ? objects + deliveries : deliveries + objects
    return lists.map(\.name) + (store.traits.isReadOneByOne ? [Self.sweep] : [])
      + [Self.reading]
  }

  // MARK: a list

  /// Reads a page. One that failed before is read with care: what cannot be recorded is stored as unreadable.
  private func read(
    _ listing: StoreListing, _ run: Reconciliation, _ store: any Store, isCareful: Bool
  ) throws(JobFailure) -> JobResult {
    let request = StorePageRequest(
      listing, since: run.since, until: run.began, place: run.place)
    let page: StorePage
    do throws(APIFailure) {
      page = try store.page(request)
    } catch {
      if case .refused = error {
        // The run stood still for so long that it asks for what its store no longer has.
        let now = reads.clock.now()
        if request.isForgotten(at: now) { return restart(run) { $0.beginAnew(at: now) } }
        // The store may have forgotten the place in the list. The list is then read once more.
        if run.place != nil { return restart(run) { $0.place = nil } }
      }
      throw .transient("\(listing.name): \(error)", retryAfter: error.wait)
    }
    let now = reads.clock.now()
    var deliveries: [PreparedDelivery] = []
    for case .delivery(let delivery, let body) in page.items {
      func prepared(_ delivery: Delivery) -> PreparedDelivery {
        PreparedDelivery(
          delivery, of: store, received: now, body: body, sealing: reads.access.sealing,
          search: reads.search)
      }
      let first = prepared(delivery)
      let reason = isCareful ? try why(cannotRecord: first) : nil
      deliveries.append(reason.map { prepared(delivery.unread(because: $0)) } ?? first)
    }
    let taken = deliveries
    return advance(run) { run, recorded, transaction in
      run.pageCount += 1
      recorded = try take(taken, &run, at: now, in: transaction)
      for item in page.items {
        switch item {
        case .delivery: break
        case .unreadable:
          run.counts.examined += 1
          run.counts.disputed += 1
        case .object(let key, let shown):
          if try Reconciliation.agrees(with: shown, ledger, reading: transaction) {
            run.counts.examined += 1
            run.counts.agreed += 1
          } else {
            try run.ask(key, ledger, at: now, in: transaction)
          }
        }
      }
      run.place = page.next
      return page.next == nil
    }
  }

  /// Thrown so that nothing of a trial is stored.
  private struct Tried: Error {}

  /// Why a delivery cannot be recorded on its own; nil if it can.
  private func why(cannotRecord delivery: PreparedDelivery) throws(JobFailure) -> String? {
    do {
      try database.write(for: nil) { transaction in
        if try !delivery.isKnown(reading: transaction) {
          _ = try ledger.record(delivery, in: transaction)
        }
        throw Tried()
      }
      return nil
    } catch is Tried {
      return nil
    } catch {
      if error.isOfDatabase { throw .transient("\(error)", retryAfter: nil) }
      return "\(error)"
    }
  }

  /// Records the deliveries that never arrived, and returns the results.
  private func take(
    _ deliveries: [PreparedDelivery], _ run: inout Reconciliation, at now: Instant,
    in transaction: Transaction
  ) throws -> [Recorded] {
    let lost = try deliveries.filter { try !$0.isKnown(reading: transaction) }
    run.counts.examined += Int64(deliveries.count)
    run.counts.agreed += Int64(deliveries.count - lost.count)
    let recorded = try ledger.record(lost, in: transaction)
    try Flows(ledger: ledger, stores: reads.stores)
      .repeatChanges(after: recorded, at: now, in: transaction)
    for one in recorded {
      switch one.disposition {
      case .undecodable: run.counts.disputed += 1
      case .joined, .recorded, .foreign, .premature:
        try run.noteRepair(.delivery(one.number), since: now, at: now, in: transaction)
      }
    }
    return recorded
  }

  /// Restarts the run from where `change` sets it.
  private func restart(
    _ run: Reconciliation, _ change: @escaping @Sendable (inout Reconciliation) -> Void
  ) -> JobResult {
    advance(run, pause: Self.restartPause) { run, _, _ in
      change(&run)
      return false
    }
  }

  // MARK: what no list shows

  /// Requests reads of subscriptions one by one, without the parts that the store shows at once.
  private func sweep(_ run: Reconciliation, _ store: any Store) throws(JobFailure) -> JobResult {
    let now = reads.clock.now()
    let slice = try JobFailure.reading(database) { reader in
      try run.slice(ledger, store, within: interval ?? .days(1), at: now, reading: reader)
    }
    let shown = try parts(slice.parts, store)
    return advance(run) { run, _, transaction in
      try !run.read(slice, shown: shown, ledger, at: now, in: transaction)
    }
  }

  private func parts(_ keys: [ObjectKey], _ store: any Store) throws(JobFailure) -> [Fact] {
    guard !keys.isEmpty else { return [] }
    do throws(APIFailure) { return try store.parts(named: keys) } catch {
      throw .transient("\(Self.sweep): \(error)", retryAfter: error.wait)
    }
  }

  // MARK: how far it has come

  /// Does the next part of a run. `body` returns whether its step is over, and passes out what it recorded.
  private func advance(
    _ seen: Reconciliation, pause: Instant.Span = Self.pause,
    _ body:
      @escaping @Sendable (inout Reconciliation, inout [Recorded], Transaction) throws -> Bool
  ) -> JobResult {
    let now = reads.clock.now()
    return JobResult(
      writes: { transaction in
        try LedgerSequence.lock(in: transaction)
        // Another runner, whose lease ran out, may have been faster, or an operator have asked for a whole run.
        guard var run = try Reconciliation.open(of: seen.provider, reading: transaction),
          (run.number, run.isWhole, run.began, run.step, run.place)
            == (seen.number, seen.isWhole, seen.began, seen.step, seen.place),
          let store = reads.stores[seen.provider]
        else { return (seen, []) }
        var recorded: [Recorded] = []
        try run.judge(ledger, at: now, in: transaction)
        let steps = steps(of: run, store)
        if run.step.isEmpty { run.step = steps[0] }
        let isReading = run.step == Self.reading
        if try body(&run, &recorded, transaction) {
          let next = (steps.firstIndex(of: run.step) ?? steps.count) + 1
          run.place = nil
          if next < steps.count { run.step = steps[next] } else { run.ended = now }
        }
        run.updated = now
        try run.store(in: transaction)
        if run.ended == nil {
          try Reconciliation.request(
            of: run.provider, at: now + (isReading ? Self.readingPause : pause),
            in: transaction)
        } else if let interval {
          try Reconciliation.request(
            of: run.provider, at: max(now, run.began + interval), in: transaction)
        }
        return (run, recorded)
      },
      committed: { (run: Reconciliation, recorded: [Recorded]) in
        reads.tell(recorded)
        BillingMetrics.shared.count(run, since: seen)
        if run.ended != nil { Self.log(run) }
      })
  }

  private static func log(_ run: Reconciliation) {
    let counts = run.counts
    Log.info(
      "billing.reconciled",
      [
        "provider": run.provider.rawValue, "whole": String(run.isWhole),
        "examined": String(counts.examined), "agreed": String(counts.agreed),
        "repaired": String(counts.repaired), "disputed": String(counts.disputed),
        "unreachable": String(counts.unreachable),
      ])
  }
}

extension APIFailure {
  /// The pause before the next attempt. What does not pass by itself ends with an operator's repair.
  fileprivate var wait: Instant.Span? {
    if case .transient(_, let retryAfter) = self { return retryAfter }
    return .minutes(5)
  }
}
