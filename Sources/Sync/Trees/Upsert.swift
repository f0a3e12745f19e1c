internal import Base
internal import Storage
internal import Tiers

/// Carries out a batch: has it judged, locks the accounts it concerns, and writes all of it.
struct Upsert: Sendable {
  enum Decision {
    /// The same request had its effect before.
    case recorded(Outcome)
    case judged(Judgement)
  }

  private let credentials: Credentials
  private let batch: Batch
  private let catalogue: Catalogue
  private let limits: SyncLimits

  init(_ credentials: Credentials, _ batch: Batch, catalogue: Catalogue, limits: SyncLimits) {
    self.credentials = credentials
    self.batch = batch
    self.catalogue = catalogue
    self.limits = limits
  }

  /// Judges the batch by a snapshot; whatever refuses it has locked nobody.
  func decide(_ reader: Reader, now: Instant) throws -> Decision {
    let caller = try self.caller(reader, now: now)
    if let recorded = try Nonces.recorded(reader, credentials) { return .recorded(recorded) }
    return .judged(try judge(reader, caller, WorkBudget(WorkBudget.judged, of: reader), now: now))
  }

  /// Writes a judged batch; it is judged again where the accounts that it concerns have gone on since.
  func perform(
    _ transaction: Transaction, _ judgement: Judgement, now: Instant
  ) throws -> Outcome {
    var judgement = judgement
    var isOfOneMoment = true
    if try !judgement.isCurrent(transaction) {
      let before = try self.caller(transaction, now: now)
      let numbers = try judgement.currentNumbers(transaction)
      do { judgement = try judgeAgain(transaction, before, now: now) } catch let refusal as Refusal
      {
        // What it was refused for may be its own effect.
        if let recorded = try Nonces.recorded(transaction, credentials) { return recorded }
        throw refusal
      }
      // On PostgreSQL each statement sees a moment of its own: all the same one, if nobody went on.
      isOfOneMoment = judgement.numbers.allSatisfy { numbers[$0.key] == $0.value }
    }
    let owners = try LockedOwners(transaction, judgement.accounts)
    let caller = try self.caller(transaction, now: now)
    return try Nonces.once(transaction, credentials) {
      if !isOfOneMoment || owners.numbers != judgement.numbers {
        judgement = try judgeAgain(transaction, caller, now: now)
        // Whom else it concerns could not be locked in order now.
        guard judgement.accounts.isSubset(of: owners.accounts) else { throw OutdatedDecision() }
      }
      try Invitations.count(
        judgement.invitations, of: caller.account, transaction, limits, now: now)
      var writing = BatchWriting(
        transaction, batch, judgement, by: caller.account, owners, now: now)
      return try writing.write(catalogue: catalogue, limits: limits)
    }
  }

  private func caller(_ queryable: some Queryable, now: Instant) throws -> Caller {
    let caller = try Caller(queryable, credentials, now: now)
    guard caller.publicKey == batch.author else {
      throw Refusal.bodyInvalid(path: "$.author", rule: "must be the key that makes the request")
    }
    return caller
  }

  private func judge(
    _ queryable: any Queryable, _ caller: Caller, _ budget: WorkBudget, now: Instant
  ) throws -> Judgement {
    var judge = try Judge(batch, by: caller.account, queryable, budget)
    return try judge.judgement(limits, catalogue: catalogue, now: now)
  }

  /// What a snapshot has room for and the locks do not may succeed in quieter times.
  private func judgeAgain(
    _ transaction: Transaction, _ caller: Caller, now: Instant
  ) throws -> Judgement {
    let budget = WorkBudget(WorkBudget.judgedAgain, of: transaction)
    do { return try judge(transaction, caller, budget, now: now) } catch Refusal.batchTooCostly {
      throw DatabaseError.busy(retryAfterSeconds: 1)
    }
  }
}
