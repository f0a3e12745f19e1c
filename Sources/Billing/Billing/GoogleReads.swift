internal import Base
internal import Crypto
internal import Google
internal import JSON
internal import Jobs
internal import ProviderAPI
internal import Storage
internal import Subscriptions

/// Reads purchases from Google Play and acknowledges them, each by a job of its own.
///
/// A purchase that is not acknowledged three days after it was made is refunded and revoked. The
/// order is: proven by the read, owner known, kept, acknowledged. Who reads is told 24, 48 and 60
/// hours after the purchase that it still is not.
struct GoogleReads: Sendable {
  let ledger: Ledger
  let sealing: SealingKeys
  let clock: Clock
  let database: Database
  let api: GoogleAPI

  static let deadlineJob = "acknowledgement_deadline"
  /// Hours after the purchase at which somebody is told.
  private static let alarmHours: [Int64] = [24, 48, 60]
  /// The current order and those before it, of which one may have been charged back.
  private static let knownOrderCountMax: Int64 = 3

  var handlers: [JobHandler] {
    [
      JobHandler(Ledger.acknowledgeJob) { lease throws(JobFailure) in try acknowledge(lease) },
      JobHandler(Self.deadlineJob) { lease throws(JobFailure) in try checkDeadline(lease) },
    ]
  }

  // MARK: read

  func read(_ key: ObjectKey, _ lease: Lease) throws(JobFailure) -> JobResult {
    let token = try token(of: key, lease)
    let orders: [String] = try Self.stored { try self.orders(of: key) }
    let answer: GoogleAnswer
    do throws(APIFailure) {
      answer = try api.read(token: token, generation: lease.generation, orders: orders)
    } catch {
      return try result(of: error, key, lease)
    }
    let now = clock.now()
    let linked = answer.linked.map { linked in
      DecodedSource.Hint(
        linked.objectKey, reason: "linked", secret: linked.secret, isFirstOnly: true)
    }
    let source = PreparedSource(
      DecodedSource(
        answerTo: lease, about: key, facts: answer.facts, hints: linked,
        notes: Set(answer.notes.map(\.rawValue))),
      received: now, head: [], body: answer.transcript, sealing: sealing)
    return JobResult(
      readBegan: nil,
      writes: { transaction in
        let recorded = try ledger.record(source, in: transaction)
        try ledger.acceptClaims(key, at: now, in: transaction)
        try watchAcknowledgement(of: key, at: now, in: transaction)
        return recorded
      }, committed: { recorded in BillingMetrics.shared.count(recorded) })
  }

  /// What follows from a failure that is Google's word on the purchase.
  private func result(
    of failure: APIFailure, _ key: ObjectKey, _ lease: Lease
  ) throws(JobFailure) -> JobResult {
    switch failure {
    case .notFound, .gone, .refused:
      // What a client made up, or what ended before we heard of it: one answer is enough.
      if lease.turn > 0 { return forgetting(key, lease, failure) }
      if failure == .gone {
        // Sixty days after its end: what was read last still holds.
        let now = clock.now()
        return JobResult(
          readBegan: nil,
          writes: { transaction in
            try PendingClaims.settleUnknown(key, at: now, in: transaction)
          })
      }
    case .transient, .misconfigured, .malformed: break
    }
    throw JobFailure(failure, reading: key)
  }

  private func forgetting(_ key: ObjectKey, _ lease: Lease, _ failure: APIFailure) -> JobResult {
    let now = clock.now()
    return JobResult(
      readBegan: nil,
      writes: { transaction in
        try PendingClaims.settleUnknown(key, at: now, in: transaction)
        // Something may be known of it after all; what is gone stays as it was read last.
        guard try lease.forget(in: transaction) || failure == .gone else {
          throw JobFailure.refused(failure.description)
        }
      })
  }

  private func token(of key: ObjectKey, _ lease: Lease) throws(JobFailure) -> PurchaseToken {
    guard let payload = lease.payload else { throw .refused("the purchase's token was never told") }
    do {
      let bytes = try sealing.open(payload, context: PreparedSource.payloadContext(key))
      guard let token = PurchaseToken(String(decoding: bytes, as: UTF8.self)) else {
        throw JobFailure.refused("the purchase's token is malformed")
      }
      return token
    } catch let failure as JobFailure {
      throw failure
    } catch {
      throw .transient("the purchase's token cannot be opened with these keys", retryAfter: nil)
    }
  }

  /// The orders that voided-purchase notifications named, and the last that were read before.
  private func orders(of key: ObjectKey) throws -> [String] {
    let prefix = DecodedSource.Hint.orderPrefix
    return try database.read { reader in
      let named = try reader.rows(
        "SELECT DISTINCT reason FROM billing.hints WHERE object = $1 ORDER BY reason",
        .text(key.description)
      ) { row in try row.text(0) }.filter { $0.hasPrefix(prefix) }
      let known = try reader.rows(
        """
        SELECT origin FROM billing.links WHERE target = $1 AND kind = 'part'
        ORDER BY source_id DESC, origin LIMIT $2
        """, .text(key.description), .integer(Self.knownOrderCountMax)
      ) { row in try row.text(0) }
      return named.map { String($0.dropFirst(prefix.count)) }
        + known.compactMap { ObjectKey($0) }.filter { $0.kind == .order }.map { $0.id }
    }
  }

  // MARK: acknowledge

  /// After a read: also for a store that forgot, of which nothing is derived anew.
  private func watchAcknowledgement(
    of key: ObjectKey, at now: Instant, in transaction: Transaction
  ) throws {
    guard let purchase = try purchase(key, reading: transaction), let start = purchase.startTime,
      purchase.needsAcknowledgement
    else { return }
    if try SubscriptionRow(key, reading: transaction)?.owner != nil {
      try ledger.requireAcknowledgement(of: key, at: now, in: transaction)
    }
    guard try Jobs.find(Self.deadlineJob, key.description, reading: transaction) == nil else {
      return
    }
    try Jobs.need(
      Self.deadlineJob, key.description, due: start + .hours(Self.alarmHours[0]), in: transaction)
  }

  private func acknowledge(_ lease: Lease) throws(JobFailure) -> JobResult {
    guard let key = ObjectKey(lease.object) else { throw .refused("is no object key") }
    let (purchase, owner): (GooglePurchase?, Identifier?) = try Self.stored {
      try database.read { reader in
        (try self.purchase(key, reading: reader), try SubscriptionRow(key, reading: reader)?.owner)
      }
    }
    guard let purchase, let owner, purchase.needsAcknowledgement,
      let product = purchase.items.first?.productID
    else { return JobResult(readBegan: nil, writes: { _ in }) }
    let token = try token(of: key, lease)
    do throws(APIFailure) {
      try api.acknowledge(token: token, productID: product, account: owner)
    } catch {
      throw JobFailure(error, reading: key)
    }
    Log.info("billing.acknowledged", ["object": key.description])
    // A replica that has not heard of it yet must not have it acknowledged over and over.
    let due = clock.now() + JobRules.confirmationDelay
    return JobResult(
      readBegan: nil,
      writes: { transaction in
        try Jobs.need(Ledger.readJob, key.description, due: due, in: transaction)
      })
  }

  private func checkDeadline(_ lease: Lease) throws(JobFailure) -> JobResult {
    guard let key = ObjectKey(lease.object) else { throw .refused("is no object key") }
    let (purchase, isDone): (GooglePurchase?, Bool) = try Self.stored {
      try database.read { reader in
        let job = try Jobs.find(Ledger.acknowledgeJob, lease.object, reading: reader)
        return (try self.purchase(key, reading: reader), (job?.committed ?? 0) > 0)
      }
    }
    // What Google confirmed to us is done, though the purchase was not read since.
    guard let purchase, let start = purchase.startTime, purchase.needsAcknowledgement, !isDone
    else {
      return JobResult(readBegan: nil, writes: { _ in })
    }
    let age = clock.now() - start
    let next = Self.alarmHours.first { Instant.Span.hours($0) > age }
    let hours = age.milliseconds / Instant.Span.hours(1).milliseconds
    return JobResult(
      readBegan: nil,
      writes: { transaction in
        guard let next else { return }
        try Jobs.need(
          Self.deadlineJob, key.description, due: start + .hours(next), in: transaction)
      },
      committed: { BillingMetrics.shared.countUnacknowledged(key, hours: hours) })
  }

  private func purchase(
    _ key: ObjectKey, reading database: some Queryable
  ) throws -> GooglePurchase? {
    for row in try MirrorRow.all(of: key, reading: database) {
      if case .google(.purchase(let content)) = row.fact.object { return content }
    }
    return nil
  }

  private static func stored<Value>(_ body: () throws -> Value) throws(JobFailure) -> Value {
    do { return try body() } catch { throw .transient("\(error)", retryAfter: nil) }
  }
}
