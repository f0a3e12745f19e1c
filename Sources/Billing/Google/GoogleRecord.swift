package import Base
package import Subscriptions
package import Tiers

/// Everything that Google Play reported about one purchase: itself, its replacements, and its orders.
package struct GoogleRecord: StoreRecord {
  /// The digest of the purchase's token.
  package let id: String
  package private(set) var purchase = Mirror<GooglePurchase>()
  /// The purchases that are linked to this one, by the digests of their tokens.
  package private(set) var successors: [String: Mirror<GooglePurchase>] = [:]
  package private(set) var orders: [String: Mirror<GoogleOrder>] = [:]

  package init(id: String) { self.id = id }

  /// Joins one object as shown by a delivery.
  package mutating func insert(_ object: GoogleObject, id: String, asOf: AsOf, delivery: Int64) {
    switch object {
    case .purchase(let content) where id == self.id:
      purchase.insert(.init(content, asOf: asOf), delivery: delivery)
    case .purchase(let content):
      successors[id, default: Mirror()].insert(.init(content, asOf: asOf), delivery: delivery)
    case .order(let content):
      orders[id, default: Mirror()].insert(.init(content, asOf: asOf), delivery: delivery)
    }
  }

  /// Only two values of one read can disagree, and Google gives none. This is kept only for the mirrors' law.
  package var isDirty: Bool { purchase.isDirty || orders.values.contains { $0.isDirty } }

  package func coverage(policy: Policy, catalogue: Catalogue) -> Coverage {
    .union(
      purchase.contents.map {
        GoogleFold(
          id: id, purchase: $0, supersededAt: supersededAt,
          orders: orders.mapValues { $0.contents },
          policy: policy, catalogue: catalogue
        ).coverage()
      })
  }

  /// When a purchase that was really granted replaced it; nil: none did.
  private var supersededAt: Instant? {
    successors.values.flatMap { $0.contents }.filter { $0.replaces == id && $0.wasGranted }
      .compactMap { $0.startTime }.min()
  }

  package func labelWithoutAccess(hadAccess: Bool) -> Label {
    if supersededAt != nil { return .superseded }
    let labels = purchase.contents.map { content -> Label in
      switch content.state {
      case .pending: .pending
      case .paused: .paused
      case .onHold, .inGracePeriod: .onHold
      case .active where !hadAccess && content.willRenew: .pending
      case .active: content.willRenew ? .renewalPending : .expired
      case .canceled, .expired, .pendingPurchaseCanceled: .expired
      case .other: hadAccess ? .expired : .pending
      }
    }
    return labels.min { $0.precedence < $1.precedence } ?? .pending
  }

  package var willRenew: Bool {
    supersededAt == nil && purchase.contents.contains { $0.willRenew }
  }

  package var renewalSince: Instant? { purchase.contents.first?.canceled }

  package var token: OwnerToken {
    let accounts = Set(purchase.contents.compactMap { $0.account })
    guard let account = accounts.first else { return .none }
    return accounts.count == 1 ? .account(account, by: "purchase") : .contested
  }

  /// The purchase's own end, because orders only say until when they paid.
  package var end: Instant? { purchase.contents.first?.end }

  package var pause: Pause? {
    purchase.contents.first { $0.state == .paused }.map {
      Pause(since: $0.ended, reason: .requested, until: $0.resumes)
    }
  }

  package var unacknowledgedSince: Instant? {
    purchase.contents.filter { $0.needsAcknowledgement }.compactMap { $0.startTime }.min()
  }

  package var isTest: Bool { purchase.contents.contains { $0.isTest } }
}

extension GooglePurchase {
  /// The latest end of its items; nil while nothing is owned.
  var end: Instant? { items.compactMap { $0.expiryTime }.max() }

  fileprivate var willRenew: Bool {
    switch state {
    case .active, .inGracePeriod, .onHold, .paused: items.contains { $0.autoRenews }
    case .pending, .canceled, .expired, .pendingPurchaseCanceled, .other: false
    }
  }
}
