import Base
import KnownStores
import Ledger
import Stores
import Subscriptions

/// The metrics of billing, and the log lines for what an operator must see.
struct BillingMetrics: Sendable {
  static let shared = BillingMetrics(.shared)

  private let deliveries: [Delivered: Metrics.Counter]
  private let refusals: Refusals
  private let alarms: [AlarmName: Metrics.Counter]
  private let notes: [String: Metrics.Counter]
  private let redeliveries: Metrics.Counter
  private let conflicts: Metrics.Counter
  private let rankFalls: Metrics.Counter
  private let otherEnvironments: Metrics.Counter
  private let reconciled: [Metrics.Counter]

  /// How a delivery arrived.
  enum Way: String, CaseIterable {
    case webhook, claim
    /// Requested by Coffer: an answer, or what a store lists again.
    case read
  }

  private struct Delivered: Hashable {
    let provider: ObjectKey.Provider
    let way: Way
    let disposition: DecodedDelivery.Disposition

    static let all = StoreList.known.flatMap { store in
      Way.allCases.flatMap { way in
        DecodedDelivery.Disposition.allCases.map { disposition in
          Delivered(provider: store.provider, way: way, disposition: disposition)
        }
      }
    }
  }

  /// A count of reconciliations, with its label.
  private struct Outcome: Sendable {
    let label: String
    let count: @Sendable (Reconciliation.Counts) -> Int64
  }

  private static let outcomes = [
    Outcome(label: "agreed") { $0.agreed }, Outcome(label: "repaired") { $0.repaired },
    Outcome(label: "disputed") { $0.disputed },
    Outcome(label: "unreachable") { $0.unreachable },
  ]

  init(_ metrics: Metrics) {
    deliveries = Self.counters(Delivered.all) { delivered in
      metrics.counter(
        "coffer_billing_deliveries_total",
        "Verified deliveries, by store, source and result.",
        label: ("provider", delivered.provider.rawValue), ("by", delivered.way.rawValue),
        ("disposition", delivered.disposition.rawValue))
    }
    refusals = Refusals(metrics)
    alarms = Self.counters(AlarmName.allCases) { name in
      metrics.counter(
        "coffer_billing_alarms_total", "Events that an operator must check, by kind.",
        label: ("alarm", name.rawValue))
    }
    notes = Self.counters(Self.noteNames) { note in
      metrics.counter(
        "coffer_billing_decoder_notes_total", "Irregularities that decoders noticed, by kind.",
        label: ("note", note))
    }
    redeliveries = metrics.counter(
      "coffer_billing_redeliveries_total", "Deliveries that were already recorded.")
    conflicts = metrics.counter(
      "coffer_billing_conflicts_total", "Delivery ids that came again with different content.")
    otherEnvironments = metrics.counter(
      "coffer_billing_other_environment_total",
      "Deliveries of test mode or a sandbox that grant nothing.")
    rankFalls = metrics.counter(
      "coffer_billing_rank_falls_total", "Store objects whose lifecycle state moved backwards.")
    reconciled = Self.outcomes.map { outcome in
      metrics.counter(
        "coffer_billing_reconciled_total",
        "Objects that reconciliations compared with the stores, by result.",
        label: ("outcome", outcome.label))
    }
  }

  /// Counts the progress of a reconciliation from one step to the next.
  func count(_ run: Reconciliation, since before: Reconciliation) {
    for (outcome, counter) in zip(Self.outcomes, reconciled) {
      let difference = outcome.count(run.counts) - outcome.count(before.counts)
      // A run that became a whole one began its counts again.
      if difference > 0 { counter.add(difference) }
    }
  }

  func count(_ refusal: WebhookRefusal, from provider: ObjectKey.Provider) {
    refusals.count(refusal.reason, from: provider)
  }

  private static let noteNames = Set(StoreList.known.flatMap { $0.traits.notes }).sorted()

  /// Reports a purchase that its store will refund unless it is acknowledged.
  func countUnacknowledged(_ key: ObjectKey, hours: Int64) {
    alarms[.unacknowledged]?.add()
    Log.error(
      "billing.unacknowledged_purchase", ["object": key.description, "hours": String(hours)])
  }

  /// Reports a store that answers as if our key, our app or its address were wrong.
  func countMisconfigured(_ key: ObjectKey, _ reason: String) {
    alarms[.misconfigured]?.add()
    Log.error("billing.misconfigured", ["object": key.description, "reason": reason])
  }

  /// Reports a subscription that is due to renew, but will not be read again by itself.
  func countUnreadRenewal(_ object: String) {
    alarms[.renewalUnread]?.add()
    Log.error("billing.renewal_unread", ["object": object])
  }

  func count(_ recorded: Recorded, by way: Way) {
    let delivered = Delivered(
      provider: recorded.provider, way: way, disposition: recorded.disposition)
    deliveries[delivered]?.add()
    if recorded.isOfOtherEnvironment { otherEnvironments.add() }
    // Undecodable deliveries have their own line below.
    if let why = recorded.withoutEffect, recorded.disposition != .undecodable {
      Log.warning(
        "billing.delivery_without_effect",
        [
          "why": why, "delivery": recorded.deliveryID, "type": recorded.type,
          "number": String(recorded.number),
        ])
    }
    if recorded.isRedelivery { redeliveries.add() }
    for note in recorded.notes { notes[note]?.add() }
    for alarm in recorded.alarms {
      alarms[alarm.name]?.add()
      Log.warning(
        "billing.alarm",
        [
          "alarm": alarm.name.rawValue, "object": alarm.object,
          "product": alarm.product ?? "", "payment": alarm.payment ?? "",
          "delivery": recorded.deliveryID,
        ])
    }
    if recorded.isConflicting {
      conflicts.add()
      Log.error(
        "billing.conflicting_delivery",
        ["delivery": recorded.deliveryID, "number": String(recorded.number)])
    }
    if recorded.rankFell {
      rankFalls.add()
      Log.error(
        "billing.rank_fell",
        ["delivery": recorded.deliveryID, "number": String(recorded.number)])
    }
    if recorded.disposition == .undecodable {
      Log.error(
        "billing.undecodable_delivery",
        [
          "delivery": recorded.deliveryID, "number": String(recorded.number),
          "type": recorded.type, "why": recorded.error ?? "-",
        ])
    }
  }

  /// Counts the alarms of a new derivation; `tell` logs them in few lines.
  func count(_ raised: [Coverage.Alarm]) {
    for alarm in raised { alarms[alarm.name]?.add() }
  }

  /// Logs products that left the catalogue while customers still depend on them.
  func tell(_ unmapped: [UnmappedProducts]) {
    for product in unmapped {
      Log.warning(
        "billing.unmapped_product",
        [
          "product": "\(product.provider):\(product.product)",
          "subscriptions": String(product.subscriptionCount),
          "accounts": String(product.accountCount),
          "some": product.some.joined(separator: " "),
        ])
    }
  }

  private static func counters<Key: Hashable>(
    _ keys: [Key], _ make: (Key) -> Metrics.Counter
  ) -> [Key: Metrics.Counter] {
    Dictionary(uniqueKeysWithValues: keys.map { ($0, make($0)) })
  }
}

/// Counters by reason, made when a reason first occurs: there are a few dozen.
private final class Refusals: Sendable {
  private let metrics: Metrics
  private let counters = Locked<[String: Metrics.Counter]>([:])

  init(_ metrics: Metrics) { self.metrics = metrics }

  func count(_ reason: String, from provider: ObjectKey.Provider) {
    let key = "\(provider.rawValue):\(reason)"
    let counter = counters.withLock { counters in
      if let counter = counters[key] { return counter }
      let counter = metrics.counter(
        "coffer_billing_signature_refusals_total",
        "Deliveries without a valid proof of their sender, by store and reason.",
        label: ("provider", provider.rawValue), ("reason", reason))
      counters[key] = counter
      return counter
    }
    counter.add()
  }
}

extension Recorded {
  /// Logs the one line that every delivery has. `request` is the id of the request that brought it, nil for the
  /// answer to a read; `trace` is the request's, or the job's.
  func log(request: String?, trace: TraceContext?) {
    Log.info(
      "billing.delivery",
      [
        "number": String(number), "store": provider.rawValue, "delivery": deliveryID, "type": type,
        "disposition": disposition.rawValue, "status": status,
        "account": accounts.isEmpty
          ? "-" : accounts.sorted().prefix(8).map(\.description).joined(separator: ","),
        "request": request ?? "-", "trace": trace?.id ?? "-",
      ])
  }
}
