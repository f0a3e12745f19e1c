import Base
import Jobs
package import Storage
import Stores
import Subscriptions
import Tiers

extension Ledger {
  /// Stores one delivery or answer and merges what it says. Re-runnable: it acts only through the transaction.
  package func record(
    _ delivery: PreparedDelivery, in transaction: Transaction
  ) throws -> Recorded {
    try record([delivery], in: transaction)[0]
  }

  /// Stores deliveries that came together, in their order, and merges what they say. A subscription
  /// that several are about is derived once.
  package func record(
    _ deliveries: [PreparedDelivery], in transaction: Transaction
  ) throws -> [Recorded] {
    guard let now = deliveries.map(\.received).max() else { return [] }
    let first = try LedgerSequence.take(deliveries.count, in: transaction)
    let stored = readingFacts(transaction)
    var merged: [Merged] = []
    for (index, delivery) in deliveries.enumerated() {
      merged.append(
        try merge(delivery, number: first + Int64(index), stored, in: transaction))
    }
    try noteProofs(of: &merged, in: transaction)
    try deriveChanges(by: &merged, stored, at: now, in: transaction)
    try addOwners(to: &merged, stored)
    return try merged.map { try settle($0, stored, in: transaction) }
  }

  /// A delivery whose facts are joined, before anything is derived from them.
  private struct Merged {
    let delivery: PreparedDelivery
    var recorded: Recorded
    /// The subscriptions that it can change.
    var keys: [ObjectKey] = []
    /// The objects whose reads it requests.
    var asked: [ObjectKey] = []
  }

  private func merge(
    _ delivery: PreparedDelivery, number: Int64, _ stored: LedgerReading,
    in transaction: Transaction
  ) throws -> Merged {
    let row = try DeliveryRow(inserting: delivery, as: number, in: transaction)
    var merged = Merged(delivery: delivery, recorded: Recorded(delivery: delivery, row: row))
    for (request, payload) in zip(delivery.decoded.requests, delivery.requestPayloads) {
      for object in try Affected.read(about: request.object, stored) {
        try requestRead(
          request.about(object), payload: payload, delivery, id: row.id, in: transaction)
        merged.asked.append(object)
      }
    }
    if let question = delivery.decoded.refundQuestion, !row.isRedelivery {
      try requestAnswer(to: question, delivery, in: transaction)
    }
    guard delivery.decoded.disposition == .joined else {
      try keepTerms(of: &merged, row, in: transaction)
      return merged
    }
    var changed: [Fact] = []
    for (fact, content) in zip(delivery.decoded.facts, delivery.contents) {
      let change = try stored.join(fact, content: content, delivery: row.id, in: transaction)
      if change.rankFell { merged.recorded.rankFell = true }
      var isNew = change.isNew
      for link in fact.links where try link.write(delivery: row.id, in: transaction) {
        isNew = true
      }
      if isNew { changed.append(fact) }
    }
    merged.keys = try Affected.subscriptions(by: changed, stored)
    // A read that reported nothing new brings no new search terms.
    if !changed.isEmpty || !delivery.decoded.isAnswer {
      try keepTerms(of: &merged, row, in: transaction)
    }
    return merged
  }

  /// Writes the delivery's search terms if it came for the first time, except those written recently.
  private func keepTerms(
    of merged: inout Merged, _ row: DeliveryRow, in transaction: Transaction
  ) throws {
    guard !row.isRedelivery, merged.delivery.decoded.disposition != .foreign else { return }
    for term in merged.delivery.terms where !knownTerms.contains(term) {
      try term.write(in: transaction)
      merged.recorded.terms.append(term)
    }
  }

  /// Writes what proved the deliveries; of equal proofs, the last.
  private func noteProofs(of merged: inout [Merged], in transaction: Transaction) throws {
    var seen: Set<String> = []
    for index in merged.indices.reversed() {
      let delivery = merged[index].delivery
      guard let proof = delivery.proof,
        let row = notedProofs.due(delivery.decoded.provider, proof, at: delivery.received),
        seen.insert("\(row.provider.rawValue) \(proof)").inserted
      else { continue }
      try row.write(in: transaction)
      merged[index].recorded.proof = row
    }
  }

  /// Call it once the deliveries are durable, so that their search terms and proofs are not written again.
  package func noteDurable(_ recorded: [Recorded]) {
    knownTerms.insert(recorded.flatMap(\.terms))
    for proof in recorded.compactMap(\.proof) { notedProofs.insert(proof) }
  }

  /// Derives what the deliveries changed. Findings are recorded with the last delivery that changed
  /// the subscription; whether storage follows from it, with each.
  private func deriveChanges(
    by merged: inout [Merged], _ stored: LedgerReading, at now: Instant,
    in transaction: Transaction
  ) throws {
    var changes: [ObjectKey: [Int]] = [:]
    for (index, one) in merged.enumerated() {
      for key in one.keys { changes[key, default: []].append(index) }
    }
    var lastOf: [Identifier: Int] = [:]
    var ofTheGone: Set<Int> = []
    let double = try derive(
      changes.keys.sorted(), stored, cause: .fact,
      entry: { key in changes[key]?.last.map { merged[$0].recorded.number } }, at: now,
      in: transaction
    ) { derivation in
      let environment = derivation.key.environment.rawValue
      let grants = derivation.accounts.contains { rules.grants(environment, to: $0) }
      let indices = changes[derivation.key] ?? []
      if derivation.ownership.evidence == .deletedAccount {
        ofTheGone.formUnion(indices)
      }
      for index in indices {
        merged[index].recorded.add(derivation, raisesAlarms: index == indices.last)
        if grants { merged[index].recorded.grants = true }
      }
      for account in derivation.accounts { lastOf[account] = indices.last }
    }
    try closeQuietly(
      ofTheGone.sorted().map { (merged[$0].recorded.number, merged[$0].delivery.terms) },
      in: transaction)
    for index in ofTheGone { merged[index].recorded.terms = [] }
    for account in double {
      if let index = lastOf[account] { merged[index].recorded.add(payingTwice: account) }
    }
  }

  /// Adds the owners of what the deliveries are about that have changed nothing so far, with one
  /// statement for all.
  private func addOwners(to merged: inout [Merged], _ stored: LedgerReading) throws {
    var spokenOf: [Int: [ObjectKey]] = [:]
    for (index, one) in merged.enumerated() where one.keys.isEmpty {
      let facts = one.delivery.decoded.disposition == .joined ? one.delivery.decoded.facts : []
      let keys = try one.asked + Affected.few(of: facts, stored)
      if !keys.isEmpty { spokenOf[index] = keys }
    }
    let owners = try stored.owners(of: Set(spokenOf.values.joined()))
    for (index, keys) in spokenOf {
      for key in keys {
        if let owner = owners[key] { merged[index].recorded.add(concerned: owner) }
      }
    }
  }

  /// Requests reads of what a merged delivery leaves open.
  private func settle(
    _ merged: Merged, _ stored: LedgerReading, in transaction: Transaction
  ) throws -> Recorded {
    let (delivery, decoded) = (merged.delivery, merged.delivery.decoded)
    var recorded = merged.recorded
    if decoded.disposition == .joined {
      let dangling = try decoded.facts.filter { fact in
        try fact.searched != nil && Affected.subscriptions(by: [fact], stored).isEmpty
      }
      for request in decoded.unsettled(
        recorded.dirty, unexplained: recorded.unexplained, unknown: recorded.unknown,
        dangling: dangling)
      {
        try requestRead(request, payload: nil, delivery, id: recorded.number, in: transaction)
      }
    }
    let isGranting = decoded.environment.map { $0 == rules.grantingEnvironment } ?? true
    recorded.isOfOtherEnvironment = !isGranting && !recorded.grants && !decoded.isAnswer
    return recorded
  }

  /// Records that an object must be read again, and requests the read if its provider can be asked.
  private func requestRead(
    _ request: ReadRequest, payload: [UInt8]?, _ delivery: PreparedDelivery, id: Int64,
    in transaction: Transaction
  ) throws {
    let traits = try stores.store(of: request.object).traits
    let wasAsked =
      try request.isOnce
      && transaction.first(
        "SELECT delivery FROM billing.read_requests WHERE object = $1 AND reason = $2 LIMIT 1",
        .text(request.object.description), .text(request.reason)
      ) { row in try row.integer(0) } != nil
    try transaction.execute(
      """
      INSERT INTO billing.read_requests (object, delivery, reason) VALUES ($1, $2, $3)
      ON CONFLICT (object, delivery, reason) DO NOTHING
      """, .text(request.object.description), .integer(id), .text(request.reason))
    guard isReadable(request.object) else { return }
    let object = request.object.description
    if request.isFirstOnly || wasAsked,
      try Jobs.find(Self.readJob, object, reading: transaction) != nil
    {
      return
    }
    try Jobs.request(
      Self.readJob, object, payload: payload, due: delivery.received + request.delay,
      settleAfter: traits.hasClock ? delivery.decoded.settledBy(received: delivery.received) : nil,
      confirmations: traits.confirmationCount, lane: request.isClaim ? 1 : 0,
      trace: delivery.trace, in: transaction)
  }

  /// The kind of the jobs that answer the stores' questions before a refund.
  package static let refundQuestionJob = "refund_question"

  /// Requests an answer to a store's question, as the operator and the customer want it.
  private func requestAnswer(
    to question: RefundQuestion, _ delivery: PreparedDelivery, in transaction: Transaction
  ) throws {
    let payment = question.payment
    guard let span = try stores.store(of: payment).traits.refundAnswerSpan else { return }
    let asked = min(delivery.decoded.created ?? delivery.received, delivery.received)
    try RefundQuestionRow.ask(payment, asked: asked, until: asked + span, in: transaction)
    try Jobs.request(
      Self.refundQuestionJob, payment.description, payload: delivery.questionPayload,
      due: delivery.received, trace: delivery.trace, in: transaction)
  }
}
