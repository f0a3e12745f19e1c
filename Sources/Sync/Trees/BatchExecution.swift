import Accounts
import Base
import Endpoints
import Requests
import Storage
import Tiers

/// Carries out a batch: judges it in a snapshot, locks the accounts involved, and writes everything.
struct BatchExecution: Sendable {
  let credentials: Credentials
  let batch: Batch
  let catalogue: Catalogue
  let limits: SyncLimits

  /// Judges the batch in a snapshot. A request that was already carried out gets the same response.
  func plan(_ reader: Reader, now: Instant) throws -> AnswerOrPlan<Outcome, BatchPlan> {
    let caller = try self.caller(reader, now: now)
    if let recorded = try Nonces.recorded(reader, credentials) { return .answer(recorded) }
    return .plan(try judge(reader, caller, WorkBudget(WorkBudget.judged, of: reader), now: now))
  }

  /// Writes a batch. It is judged again if one of the accounts involved has changed since.
  func perform(_ transaction: Transaction, _ plan: BatchPlan, now: Instant) throws -> Outcome {
    var plan = plan
    var isOfOneMoment = true
    if try !plan.isCurrent(transaction) {
      let before = try self.caller(transaction, now: now)
      let numbers = try BatchPlan.numbers(of: plan.accounts, transaction)
      do { plan = try judgeAgain(transaction, before, now: now) } catch let refusal as Refusal {
        // The refusal may be caused by the request's own effect.
        if let recorded = try Nonces.recorded(transaction, credentials) { return recorded }
        throw refusal
      }
      // On PostgreSQL each statement sees its own moment. They all are the same moment if no account changed.
      isOfOneMoment = plan.numbers.allSatisfy { numbers[$0.key] == $0.value }
    }
    let owners = try LockedOwners(transaction, plan.accounts)
    let caller = try self.caller(transaction, now: now)
    return try Nonces.once(transaction, credentials) {
      if !isOfOneMoment || owners.numbers != plan.numbers {
        plan = try judgeAgain(transaction, caller, now: now)
        // Further accounts cannot be locked in order any more.
        guard plan.accounts.isSubset(of: owners.accounts) else { throw OutdatedDecision() }
      }
      if !batch.onlyTakesAway {
        try owners.requireWritable(plan.owners, by: caller, transaction)
      }
      try Invitations.count(plan.invitations, of: caller.account, transaction, limits, now: now)
      var writer = BatchWriter(transaction, batch, plan, by: caller.account, owners, now: now)
      return try writer.write(catalogue: catalogue, limits: limits)
    }
  }

  private func caller(_ queryable: some Queryable, now: Instant) throws -> Caller {
    let caller = try Caller(queryable, credentials, now: now)
    guard caller.publicKey == batch.author else {
      throw RequestRefusal.bodyInvalid(
        path: "$.author", rule: "must be the key that makes the request")
    }
    return caller
  }

  private func judge(
    _ queryable: any Queryable, _ caller: Caller, _ budget: WorkBudget, now: Instant
  ) throws -> BatchPlan {
    let snapshot = try BatchLoader.load(
      batch, by: caller.account, queryable, budget, limits, catalogue: catalogue, now: now)
    return try BatchRules.judge(batch, snapshot)
  }

  /// A batch that the snapshot allowed and the budget under locks does not may succeed at a quieter time.
  private func judgeAgain(
    _ transaction: Transaction, _ caller: Caller, now: Instant
  ) throws -> BatchPlan {
    let budget = WorkBudget(WorkBudget.judgedAgain, of: transaction)
    do { return try judge(transaction, caller, budget, now: now) } catch Refusal.batchTooCostly {
      throw DatabaseError.busy(retryAfterSeconds: 1)
    }
  }
}

extension BatchPlan {
  /// Whether it still holds, as far as can be seen without a lock.
  fileprivate func isCurrent(_ queryable: some Queryable) throws -> Bool {
    let current = try Self.numbers(of: owners, queryable)
    return owners.allSatisfy { current[$0] == numbers[$0] }
  }

  /// The accounts' current numbers. Accounts that do not exist have none.
  static func numbers(
    of accounts: Set<Identifier>, _ queryable: some Queryable
  ) throws -> [Identifier: Int64] {
    let found = try queryable.rows(in: accounts.sorted().map { .id($0) }) { list in
      "SELECT id, seq FROM sync.accounts WHERE id IN (\(list))"
    } row: { row in
      (try row.id(0), try row.integer(1))
    }
    return Dictionary(uniqueKeysWithValues: found)
  }
}
