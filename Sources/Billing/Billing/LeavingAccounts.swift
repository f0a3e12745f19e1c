import Base
import Configuration
import Flows
import Jobs
import Ledger
import ProviderAPI
import Storage
import Stores
import Subscriptions

/// Stops billing at the stores of accounts that are being deleted. When `coffer-sync` begins to erase them, it
/// erases their personal data here.
///
/// Each step is a job's run. A store that does not answer is asked again for days, and delays the erasure for no
/// longer.
struct LeavingAccounts: Sendable {
  let reads: StoreReads
  let policy: DeletionPolicy

  private static let findingSpan = Instant.Span.minutes(1)
  private static let findingCountMax = 100
  /// The time between checks whether the account stays after all.
  private static let waitingSpan = Instant.Span.days(1)
  /// The time between looks for what came after the erasure, at first; and how long there are such looks.
  private static let (lookSpan, lookedForSpan) = (Instant.Span.days(1), Instant.Span.days(800))
  /// The time until what a store did is read.
  private static let readingSpan = Instant.Span.minutes(2)
  /// How long a store that fails or refuses is asked again, and how long to end what is paid for.
  private static let (patience, endPatience) = (Instant.Span.days(3), Instant.Span.days(1))
  /// How often a store that fails is asked again when the erasure has begun.
  private static let lastAttemptCount = 2
  /// The pause before a store that refuses is asked again: no job of this kind dies.
  private static let refusedSpan = Instant.Span.hours(1)

  private var ledger: Ledger { reads.ledger }
  private var database: Database { reads.database }

  var handler: JobHandler {
    JobHandler(LeavingAccount.job) { lease throws(JobFailure) in
      guard lease.object != LeavingAccount.finder else { return try find() }
      guard let account = Identifier(lease.object) else { throw .refused("is no account's id") }
      return try run(account, lease)
    }
  }

  /// Begins with each account in a write of its own, so that one that fails keeps no other from leaving. It is
  /// found again. However many fail, those behind them are found, too.
  private func find() throws(JobFailure) -> JobResult {
    let now = reads.clock.now()
    var room = Self.findingCountMax
    var last: (account: Identifier, asked: Instant)?
    while room > 0 {
      let unheard = try JobFailure.reading(database) {
        try LeavingAccount.unheard(after: last, limit: Self.findingCountMax, reading: $0)
      }
      for (account, asked) in unheard {
        do {
          try database.write(for: nil) { transaction in
            let known = try LeavingAccount.find(account, reading: transaction)
            guard known?.asked != asked else { return }
            try LeavingAccount.begin(account, asked: asked, at: now, in: transaction)
            try Jobs.request(
              LeavingAccount.job, account.description, due: now, in: transaction)
          }
          room -= 1
        } catch {
          if error.isOfDatabase { throw .transient("\(error)", retryAfter: nil) }
          Log.warning("billing.leaving", ["account": account.description, "reason": "\(error)"])
        }
      }
      guard unheard.count == Self.findingCountMax else { break }
      last = unheard.last
    }
    return again(LeavingAccount.finder, at: now + Self.findingSpan) { _ in }
  }

  private func run(_ account: Identifier, _ lease: Lease) throws(JobFailure) -> JobResult {
    let found: (leaving: LeavingAccount, erasure: (moment: Instant?, hasBegun: Bool)?)? =
      try JobFailure.reading(database) { reader in
        guard let leaving = try LeavingAccount.find(account, reading: reader) else { return nil }
        return (leaving, try leaving.erasure(reading: reader))
      }
    guard let (leaving, erasure) = found else { return .nothing }
    if let erased = leaving.erased { return lookAgain(leaving, since: erased) }
    guard let erasure else { return JobResult { try leaving.remove(in: $0) } }
    let now = reads.clock.now()
    switch leaving.state {
    case .stopping:
      guard now < leaving.begun + Self.patience else {
        return become(.waiting, leaving, again: now)
      }
      // Done here, so that what cannot be read of one account does not keep others from leaving. Nor does it keep
      // this account's stores from stopping.
      let isBuying = Result { () throws(JobFailure) in try stopFlows(of: account, at: now) }
      if let result = try stop(leaving) { return result }
      // What a flow has open at its store can still be paid, and only the flow, which is erased later, undoes it.
      return try isBuying.get()
        ? become(.stopping, leaving, again: now + Self.findingSpan)
        : become(.waiting, leaving, again: now)
    case .waiting:
      let due = min(erasure.moment ?? .distantFuture, now + Self.waitingSpan)
      let soon = now + Self.findingSpan
      do throws(JobFailure) {
        // Subscriptions that the account came to own since, or that renew again.
        let isLate = erasure.moment.map { $0 + Self.endPatience <= now } ?? false
        if !isLate, let result = try stop(leaving) { return result }
      } catch {
        Log.warning(
          "billing.leaving", ["account": account.description, "reason": error.reason])
        guard erasure.hasBegun else {
          return become(.waiting, leaving, again: max(min(due, now + Self.refusedSpan), soon))
        }
        // Nothing is asked of a store once the account is erased.
        if lease.attempts < Self.lastAttemptCount { throw error }
      }
      guard erasure.hasBegun else { return become(.waiting, leaving, again: max(due, soon)) }
      try end(leaving, until: (erasure.moment ?? now) + Self.endPatience)
      return become(.erasing, leaving, again: now)
    case .erasing, .erased:
      return JobResult { transaction in
        let isDone = try !ledger.erase(account, at: now, in: transaction)
        if isDone { try leaving.become(.erased, at: now, in: transaction) }
        try Jobs.request(
          LeavingAccount.job, account.description, due: isDone ? now + Self.lookSpan : now,
          in: transaction)
      }
    }
  }

  /// Erases what came since and has no facts, which lose their bodies at once (`Ledger.record`). Stores send less
  /// and less of it.
  private func lookAgain(_ leaving: LeavingAccount, since erased: Instant) -> JobResult {
    let now = reads.clock.now()
    return JobResult { transaction in
      let hasFound = try ledger.erase(leaving.account, at: now, in: transaction)
      guard hasFound || now < erased + Self.lookedForSpan else { return }
      let age = Instant.Span.milliseconds((now - erased).milliseconds / 8)
      try Jobs.request(
        LeavingAccount.job, leaving.account.description,
        due: hasFound ? now : now + max(Self.lookSpan, age), in: transaction)
    }
  }

  private func become(
    _ state: LeavingAccount.State, _ leaving: LeavingAccount, again due: Instant
  ) -> JobResult {
    let now = reads.clock.now()
    return again(leaving.account.description, at: due) {
      try leaving.become(state, at: now, in: $0)
    }
  }

  /// Writes, and runs the job again at `due`.
  private func again(
    _ object: String, at due: Instant, _ write: @escaping @Sendable (Transaction) throws -> Void
  ) -> JobResult {
    JobResult { transaction in
      try write(transaction)
      try Jobs.request(LeavingAccount.job, object, due: due, in: transaction)
    }
  }

  // MARK: stores

  /// Returns whether a purchase or change is still open.
  private func stopFlows(of account: Identifier, at now: Instant) throws(JobFailure) -> Bool {
    do {
      return try database.write(for: nil) { try Flows.leave(account, at: now, in: $0) }
    } catch {
      let failure: JobFailure =
        error.isOfDatabase
        ? .transient("\(error)", retryAfter: nil) : .refused("its flow: \(error)")
      throw failure.passing(after: Self.refusedSpan)
    }
  }

  /// Stops the renewal of a subscription at its store. Returns nil once none is left that can be
  /// stopped. A store that fails does not keep the others from it.
  private func stop(_ leaving: LeavingAccount) throws(JobFailure) -> JobResult? {
    var failure: JobFailure?
    var stopped: ObjectKey?
    for key in try subscriptions(of: leaving.account, told: .stopRenewal) where stopped == nil {
      do throws(JobFailure) {
        try order(.stopRenewal, key)
        stopped = key
      } catch {
        failure = failure ?? error
      }
    }
    guard let key = stopped else {
      if let failure { throw failure.passing(after: Self.refusedSpan) }
      return nil
    }
    let now = reads.clock.now()
    return again(leaving.account.description, at: now + Self.readingSpan) {
      _ = try ledger.read(key, at: now, in: $0)
    }
  }

  /// Ends what is paid for as well, if the policy says so and the store does not give money back with that.
  private func end(_ leaving: LeavingAccount, until late: Instant) throws(JobFailure) {
    guard policy == .now else { return }
    for key in try subscriptions(of: leaving.account, told: .end, onlyCollecting: false)
    where try !reads.stores.reader(of: key).traits.refundsAtEnd {
      do throws(JobFailure) { try order(.end, key) } catch {
        if case .transient = error, reads.clock.now() < late { throw error }
        Log.warning("billing.leaving", ["subscription": key.description, "reason": error.reason])
      }
    }
  }

  private func subscriptions(
    of account: Identifier, told kind: StoreOrder.Kind, onlyCollecting: Bool = true
  ) throws(JobFailure) -> [ObjectKey] {
    let keys = try JobFailure.reading(database) { reader in
      try onlyCollecting
        ? ledger.collecting(of: account, reading: reader)
        : ledger.living(of: account, reading: reader)
    }
    return keys.filter { key in
      guard let store = reads.stores[key.provider] else { return false }
      return store.isReadable && store.traits.orders.contains(kind)
    }
  }

  private func order(_ order: StoreOrder, _ key: ObjectKey) throws(JobFailure) {
    let store = try reads.stores.reader(of: key)
    let (record, request) = try JobFailure.wrapping {
      (
        try database.read { try ledger.reading($0).subscription(key).record },
        try reads.access.storeRead(of: key)
      )
    }
    do throws(APIFailure) { try store.perform(order, request, record) } catch {
      // Only asking again shows whether an unreadable answer means that it was done.
      if case .malformed(let reason) = error { throw .transient(reason, retryAfter: nil) }
      throw JobFailure(error, reading: key)
    }
    Log.info("billing.leaving", ["subscription": key.description, "order": order.kind.rawValue])
  }
}

extension JobFailure {
  /// A passing failure in place of a refusal. A person, or time, may change what the store refuses now.
  fileprivate func passing(after span: Instant.Span) -> JobFailure {
    guard case .refused(let reason) = self else { return self }
    return .transient(reason, retryAfter: span)
  }
}
