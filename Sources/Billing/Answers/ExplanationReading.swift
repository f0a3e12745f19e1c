import Base
import Jobs
import Ledger
import Storage
import Stores
import Subscriptions
import Tiers

/// Reads the explanation of one subscription.
extension EntitlementExplanation.Subscription {
  /// Nil if nothing was ever derived for it.
  init?(
    _ key: ObjectKey, at now: Instant, about moment: Instant, _ catalogue: Catalogue,
    _ reading: LedgerReading
  ) throws {
    guard let row = try reading.stored(key).row else { return nil }
    let traits = try reading.stores.store(of: key).traits
    let known = try reading.subscription(key)
    let coverage = try Coverage(text: row.coverage)
    self.key = key
    store = traits.title
    tellsPeriods = traits.tellsPeriods
    environment = row.environment
    label = Label(coverage, withoutAccess: row.labelWithoutAccess, at: now)
    labelThen = Label(coverage, withoutAccess: row.labelWithoutAccess, at: moment)
    willRenew = row.willRenew
    isDirty = row.isDirty
    ownerEvidence = row.ownerEvidence
    transitions = try reading.transitions(of: key)
    bill = known.record.bill.adding(undoneIn: transitions)
    next = bill.next.map { (item: $0, plan: catalogue.plan(of: $0, key.provider)) }
    pause = known.record.pause
    let isAcknowledged = try Ledger.isAcknowledged(key, reading: reading.database)
    let waiting = isAcknowledged ? nil : known.unacknowledgedSince
    acknowledgedBy = waiting.flatMap { since in traits.acknowledgementSpan.map { since + $0 } }
    intervals = try coverage.intervals.map { interval in
      let evidence = key.sibling(interval.evidence.kind, interval.evidence.id)
      return EntitlementExplanation.Interval(
        planID: interval.planID, from: interval.from, to: interval.to, why: interval.why,
        evidence: evidence, deliveries: try reading.deliveries(of: evidence))
    }
    deliveries = Set(
      try traits.shownBy.flatMap { kind in try reading.deliveries(of: key.sibling(kind, key.id)) }
    ).sorted { $0.id < $1.id }
    openReads = try reading.openReads(
      of: key,
      carriedOnUntil: coverage.intervals.filter { $0.why == .storeUnreachable }.map { $0.to }.max())
    unmappedProducts = coverage.unmappedProducts
    unknownProducts = coverage.unknownProducts
    ignoredItems = Set(bill.items.filter { catalogue.ignores($0, of: key.provider) })
    attention = try reading.attention(to: key, at: now)
  }
}

extension Bill {
  /// Adds revocations that were undone, which the store's objects do not show.
  fileprivate func adding(undoneIn transitions: [EntitlementExplanation.Transition]) -> Bill {
    let revoked = Label.revoked.rawValue
    let ends = transitions.filter { $0.before == revoked }.compactMap { end in
      transitions.first { $0.after == revoked && $0.at <= end.at }?.at
    }
    let undone = Set(ends).compactMap { end -> Reversal? in
      guard let payment = payments.first(where: { $0.covers(end) }),
        reversals.allSatisfy({ ![nil, payment.object].contains($0.payment) })
      else { return nil }
      return Reversal(
        payment.object, .revocation, .void, word: "reversed", at: end, amount: nil,
        of: payment.object)
    }
    return Bill(
      items: items, next: next, isScheduled: isScheduled, payments: payments,
      reversals: reversals + undone)
  }
}

extension Bill.Item {
  /// The ids by which a catalogue may list it.
  fileprivate var ids: [String] {
    let both = [product, price].compactMap { $0 }.joined(separator: ":")
    return [price, both, product].compactMap { $0 }
  }
}

extension Catalogue {
  /// Decides by the first id that the catalogue lists: the price's, both together if a price is
  /// named within its product, or the product's.
  fileprivate func ignores(_ item: Bill.Item, of provider: ObjectKey.Provider) -> Bool {
    let listed = item.ids.first { lists(provider: provider.rawValue, id: $0) }
    return listed.map {
      mapping(provider: provider.rawValue, price: $0, product: nil) == .ignored
    } ?? false
  }

  /// The plan of the same ids, even if an earlier catalogue listed them.
  fileprivate func plan(of item: Bill.Item, _ provider: ObjectKey.Provider) -> Plan? {
    let mappings = item.ids.map { mapping(provider: provider.rawValue, price: $0, product: nil) }
    return plan(for: mappings.first { $0 != .unknown } ?? .unknown)
  }
}

extension LedgerReading {
  fileprivate func attention(to key: ObjectKey, at now: Instant) throws -> [Attention] {
    try database.rows(
      """
      SELECT kind, about, since_ms FROM billing.attention
      WHERE object = $1 AND until_ms > $2 AND kind <> $3 ORDER BY since_ms, kind, about
      """, .text(key.description), .instant(now), .text(Attention.Kind.unacknowledged.rawValue)
    ) { row -> Attention? in
      guard let kind = Attention.Kind(rawValue: try row.text(0)) else { return nil }
      return Attention(
        kind: kind, subject: key.description, detail: try row.text(1), since: try row.instant(2))
    }.compactMap { $0 }
  }

  func unread(namedBy account: Identifier) throws -> [EntitlementExplanation.Unread] {
    try stores.filter { $0.traits.isNamedByAccount }.flatMap { store in
      try StoreEnvironment.allCases.compactMap { environment in
        let key = ObjectKey(
          provider: store.provider, environment: environment,
          kind: store.traits.subscriptionKind, id: account.description)
        // A failed read leaves a row without an owner.
        guard try stored(key).row?.owner == nil,
          let read = try openReads(of: key, carriedOnUntil: nil).first
        else { return nil }
        return EntitlementExplanation.Unread(key: key, store: store.traits.title, read: read)
      }
    }
  }

  fileprivate func openReads(
    of key: ObjectKey, carriedOnUntil: Instant?
  ) throws -> [EntitlementExplanation.OpenRead] {
    guard let job = try Jobs.find(Ledger.readJob, key.description, reading: database),
      job.state != .settled
    else { return [] }
    let reason = try database.first(
      """
      SELECT reason FROM billing.read_requests WHERE object = $1
      ORDER BY delivery DESC, reason LIMIT 1
      """, .text(key.description)
    ) { row in try row.text(0) }
    return [
      EntitlementExplanation.OpenRead(
        reason: reason,
        unansweredSince: try stored(key).unansweredSince ?? job.failingSince,
        carriedOnUntil: carriedOnUntil, due: job.due, attempts: job.attempts,
        lastError: job.lastError)
    ]
  }

  fileprivate func deliveries(
    of key: ObjectKey
  ) throws -> [EntitlementExplanation.Delivery] {
    try database.rows(
      """
      SELECT d.id, d.delivery_id, d.type, d.created_ms, d.received_ms
      FROM billing.mirrors m JOIN billing.deliveries d ON d.id = m.delivery
      WHERE m.object = $1 ORDER BY d.id
      """, .text(key.description)
    ) { row in
      EntitlementExplanation.Delivery(
        id: try row.integer(0), deliveryID: try row.text(1), type: try row.text(2),
        created: try row.optionalInstant(3), received: try row.instant(4))
    }
  }

  /// The most transitions of a subscription that are listed.
  private static let transitionCountMax: Int64 = 50

  /// Newest first.
  fileprivate func transitions(
    of key: ObjectKey
  ) throws -> [EntitlementExplanation.Transition] {
    try database.rows(
      """
      SELECT \(EntitlementExplanation.Transition.columns) FROM billing.transitions
      WHERE object = $1 AND state_before <> state_after ORDER BY number DESC LIMIT $2
      """, .text(key.description), .integer(Self.transitionCountMax)
    ) { row in try EntitlementExplanation.Transition(row) }
  }
}
