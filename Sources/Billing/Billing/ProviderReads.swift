internal import Apple
internal import Base
internal import Crypto
internal import JSON
internal import Jobs
internal import ProviderAPI
package import Storage
internal import Stripe
internal import Subscriptions

/// Reads again what deliveries did not tell, or told in contradictions, and records the answers.
///
/// An answer is a source like a delivery: sealed, kept for ever, and merged by the same door.
struct ProviderReads: Sendable {
  let ledger: Ledger
  let sealing: SealingKeys
  let clock: Clock
  let stores: Stores
  let database: Database
  let google: GoogleReads?

  /// One reader for every store, so that a closure is one job wherever it lies.
  ///
  /// What clients alone say exists is read by one thread at a time, so that whatever they make up
  /// leaves the others to what stores and operators tell.
  var handlers: [JobHandler] {
    let lanes: [(turns: ClosedRange<Int64>, concurrencyMax: Int)] = [
      (0...0, 4), (1...Int64.max, 1),
    ]
    return lanes.map { turns, concurrencyMax in
      JobHandler(
        Ledger.readJob, turns: turns, concurrencyMax: concurrencyMax,
        failed: { lease, now, transaction in
          guard let key = ObjectKey(lease.object) else { return }
          try ledger.noteFailedRead(key, at: now, in: transaction)
        }
      ) { lease throws(JobFailure) in
        guard let key = ObjectKey(lease.object) else { throw .refused("is no object key") }
        let result = try run(key, lease)
        let now = clock.now()
        return result.written { transaction, write in
          try ledger.noteAnswer(key, at: now, in: transaction, write)
        }
      } died: { lease in
        tellDeath(lease)
      }
    }
  }

  private func tellDeath(_ lease: Lease) {
    let database = database
    let isRenewing = try? database.read { reader in
      try !Ledger.renewing([lease.object], reading: reader).isEmpty
    }
    if isRenewing == true { BillingMetrics.shared.countUnreadRenewal(lease.object) }
  }

  private func run(_ key: ObjectKey, _ lease: Lease) throws(JobFailure) -> JobResult {
    if key.provider == .google, let google { return try google.read(key, lease) }
    do throws(APIFailure) {
      switch key.provider {
      case .stripe: return try readStripe(key, lease)
      case .apple: return try readApple(key, lease)
      case .google: throw .misconfigured("there is no service account of Google Play")
      }
    } catch {
      throw JobFailure(error, reading: key)
    }
  }

  private func readStripe(_ key: ObjectKey, _ lease: Lease) throws(APIFailure) -> JobResult {
    guard let stripe = stores.stripeAPI, stripe.partition == key.partition else {
      throw .misconfigured("there is no Stripe key of the \(key.partition.rawValue) mode")
    }
    let answer = try stripe.closures(about: key)
    return result(
      DecodedSource(
        answerTo: lease, about: key, facts: answer.facts, notes: Set(answer.notes.map(\.rawValue))),
      readBegan: answer.began, transcript: answer.transcript)
  }

  private func readApple(_ key: ObjectKey, _ lease: Lease) throws(APIFailure) -> JobResult {
    guard let api = stores.appleAPIs[key.partition] else {
      throw .misconfigured("there is no key of the App Store Server API")
    }
    let answer = try api.closure(of: key.id)
    return result(
      DecodedSource(
        answerTo: lease, about: key, facts: answer.facts, notes: Set(answer.notes.map(\.rawValue))),
      readBegan: answer.began, transcript: answer.transcript)
  }

  private func result(
    _ decoded: DecodedSource, readBegan: Instant?, transcript: [UInt8]
  ) -> JobResult {
    let source = PreparedSource(
      decoded, received: clock.now(), head: [], body: transcript, sealing: sealing)
    return JobResult(
      readBegan: readBegan,
      writes: { transaction in try ledger.record(source, in: transaction) },
      committed: { recorded in BillingMetrics.shared.count(recorded) })
  }
}

extension DecodedSource {
  /// What a read found; its generation tells it from every other read of the object.
  init(
    answerTo lease: Lease, about key: ObjectKey, facts: [Fact], hints: [Hint] = [],
    notes: Set<String>
  ) {
    self.init(
      provider: key.provider, partition: key.partition,
      deliveryID: "read:\(lease.object):\(lease.generation)", type: "read", object: key.id,
      facts: facts, hints: hints, notes: notes, disposition: .joined, isAnswer: true,
      meaning: ["generation": .integer(lease.generation)])
  }
}

extension JobFailure {
  /// Raises the alarm where it is for an operator to repair.
  init(_ failure: APIFailure, reading key: ObjectKey) {
    if case .misconfigured(let reason) = failure {
      BillingMetrics.shared.countMisconfigured(key, reason)
    }
    switch failure {
    case .transient(let reason, let retryAfter):
      self = .transient(reason, retryAfter: retryAfter)
    // An operator's repair ends these, and nothing may be lost until then.
    case .misconfigured, .malformed:
      self = .transient(failure.description, retryAfter: .minutes(5))
    case .refused, .gone, .notFound: self = .refused(failure.description)
    }
  }
}

extension Ledger {
  /// Which of the objects, in their text form, are subscriptions that would renew as far as is known.
  package static func renewing(
    _ objects: [String], reading database: some Queryable
  ) throws -> Set<String> {
    var renewing: Set<String> = []
    for object in objects {
      let willRenew = try database.first(
        "SELECT will_renew FROM billing.subscriptions WHERE object = $1", .text(object)
      ) { row in try row.integer(0) == 1 }
      if willRenew == true { renewing.insert(object) }
    }
    return renewing
  }
}
