import Answers
import Base
import Configuration
import Jobs
import Ledger
import ProviderAPI
import Storage
import Stores
import Subscriptions
import Tiers

/// Answers stores' questions before a refund: for customers who agreed, how much they use, and nothing else.
struct RefundQuestions: Sendable {
  let reads: StoreReads
  let policy: RefundAnswers

  /// The pause before the next look for the payment's owner.
  private static let retrySpan = Instant.Span.minutes(10)

  var handler: JobHandler {
    JobHandler(Ledger.refundQuestionJob) { lease throws(JobFailure) in try run(lease) }
  }

  private enum Decided: Sendable {
    case silent(String)
    case told(RefundEvidence, of: Identifier)
    /// The payment's owner is not known yet.
    case unknown
  }

  private func run(_ lease: Lease) throws(JobFailure) -> JobResult {
    let payment = try lease.key
    let now = reads.clock.now()
    let found: (row: RefundQuestionRow, decided: Decided)? =
      try JobFailure.reading(reads.database) { reader in
        guard let row = try RefundQuestionRow.find(payment, reading: reader), row.answered == nil
        else { return nil }
        return (row, try decide(row, at: now, reading: reader))
      }
    guard let (row, decided) = found else { return .nothing }
    switch decided {
    case .silent(let why): return settle(row, "nothing: \(why)", of: nil)
    case .unknown:
      throw .transient("the payment's owner is not known yet", retryAfter: Self.retrySpan)
    case .told(let evidence, let account):
      return settle(row, try tell(evidence, of: payment, lease), of: account)
    }
  }

  private func decide(
    _ row: RefundQuestionRow, at now: Instant, reading reader: Reader
  ) throws -> Decided {
    guard policy != .off else { return .silent("COFFER_REFUND_ANSWERS is off") }
    guard now < row.until else { return .silent("too late") }
    let ledger = reads.ledger
    guard let key = try ledger.subscriptions(of: row.payment, reading: reader).first,
      let account = try ledger.reading(reader).subscription(key).ownership.account
    else { return .unknown }
    guard try RefundConsent.since(of: account, reading: reader) != nil else {
      return .silent("the customer did not agree")
    }
    let evidence = try evidence(of: account, at: now, reading: reader)
    return .told(evidence, of: account)
  }

  /// The usage above the free plan, as a part of the space bought above it.
  private func evidence(
    of account: Identifier, at now: Instant, reading reader: Reader
  ) throws -> RefundEvidence {
    let used = try reader.first(
      "SELECT usage_bytes FROM sync.accounts WHERE id = $1", .id(account)
    ) { row in try row.integer(0) }
    let ledger = reads.ledger
    let cap = try ledger.overview(of: account, at: now, reading: reader).current.capByteCount
    let free = try Schedule.free(ledger.catalogue(reading: reader)).entry(at: now).capByteCount
    let share = Double(max(0, (used ?? 0) - free)) / Double(max(1, cap - free))
    return RefundEvidence(
      usedMilliunits: Int64(min(1, share) * 100_000), hasFreePlan: free > 0, preference: policy)
  }

  /// Answers the store. Returns the answer as text for people.
  private func tell(
    _ evidence: RefundEvidence, of payment: ObjectKey, _ lease: Lease
  ) throws(JobFailure) -> String {
    let store = try reads.stores.reader(of: payment)
    let secret = try reads.request(for: payment, lease).secret
    let told = "\(evidence.usedMilliunits / 1000) % in use, preference \(policy.rawValue)"
    do throws(APIFailure) {
      try store.answer(RefundQuestion(payment, secret: secret), with: evidence)
    } catch {
      switch error {
      case .refused, .gone, .notFound: return "refused: \(error)"
      case .transient, .misconfigured, .malformed: throw JobFailure(error, reading: payment)
      }
    }
    return told
  }

  private func settle(
    _ row: RefundQuestionRow, _ answer: String, of account: Identifier?
  ) -> JobResult {
    let now = reads.clock.now()
    return JobResult(
      writes: { transaction in try row.settle(answer, of: account, at: now, in: transaction) },
      committed: {
        Log.info(
          "billing.refund_question",
          [
            "payment": row.payment.description, "account": account?.description ?? "-",
            "answer": answer,
          ])
      })
  }
}
