package import Base
package import Subscriptions
package import Tiers

/// Everything that the App Store reported about one subscription: its transactions, renewal info and status.
package struct AppleRecord: StoreRecord {
  /// The original transaction's id.
  package let id: String
  package private(set) var transactions: [String: Mirror<AppleTransaction>] = [:]
  package private(set) var renewal = Mirror<AppleRenewal>()
  package private(set) var status = Mirror<AppleStatus>()

  package init(id: String) { self.id = id }

  /// Joins one object as shown by a delivery.
  package mutating func insert(_ object: AppleObject, id: String, asOf: AsOf, delivery: Int64) {
    switch object {
    case .transaction(let content):
      transactions[id, default: Mirror()].insert(.init(content, asOf: asOf), delivery: delivery)
    case .renewal(let content): renewal.insert(.init(content, asOf: asOf), delivery: delivery)
    case .status(let content): status.insert(.init(content, asOf: asOf), delivery: delivery)
    }
  }

  package var isDirty: Bool {
    renewal.isDirty || status.isDirty || transactions.values.contains { $0.isDirty }
  }

  package func coverage(policy: Policy, catalogue: Catalogue) -> Coverage {
    .union(folds(policy: policy, catalogue: catalogue).map { $0.coverage() })
  }

  package func labelWithoutAccess(hadAccess: Bool) -> Label {
    guard hadAccess else { return transactions.isEmpty || willRenew ? .pending : .expired }
    let states = status.contents.map { $0.state }
    if states.contains(.revoked) { return .revoked }
    if states.contains(.billingRetry) || states.contains(.gracePeriod)
      || renewal.contents.contains(where: { $0.isInBillingRetry })
    {
      return .onHold
    }
    return expectsPayment ? .renewalPending : .expired
  }

  /// Within a commitment, whether another commitment follows: its months are billed in any case.
  package var willRenew: Bool {
    expectsPayment && !renewal.contents.contains { $0.commitmentWillRenew == false }
      && !newest.contains { $0.commitment != nil && $0.revocation != nil }
  }

  package var renewalSince: Instant? {
    renewal.contents.first.flatMap { renewal.firstShown($0) }
  }

  package var end: Instant? { transactions.values.compactMap { $0.contents.first }.end }

  private var expectsPayment: Bool {
    renewal.contents.contains { renewal in
      renewal.isExpectedToRenew
        && (newest.isEmpty || newest.contains { !renewal.isOver(with: $0) })
    } && !status.contents.contains { $0.state == .expired || $0.state == .revoked }
  }

  /// The known values of the newest transaction.
  private var newest: [AppleTransaction] {
    let known = transactions.compactMap { id, mirror in
      mirror.contents.first { $0.ownership.isKnown }.map { (date: $0.purchaseDate, id: id) }
    }
    guard let newest = known.max(by: { ($0.date, $0.id) < ($1.date, $1.id) }) else { return [] }
    return transactions[newest.id]?.contents ?? []
  }

  /// The account of the newest transaction that names one.
  package var token: OwnerToken {
    let named = transactions.flatMap { id, mirror in
      mirror.contents.filter { $0.ownership.isKnown }.compactMap { content in
        content.account.map { (date: content.purchaseDate, id: id, account: $0) }
      }
    }
    guard let newest = named.max(by: { ($0.date, $0.id) < ($1.date, $1.id) }) else { return .none }
    let accounts = Set(named.filter { $0.id == newest.id }.map { $0.account })
    return accounts.count == 1
      ? .account(newest.account, by: "transaction:\(newest.id)") : .contested
  }

  private func folds(policy: Policy, catalogue: Catalogue) -> [AppleFold] {
    let renewals: [Mirror<AppleRenewal>.Observation?] =
      renewal.isEmpty ? [nil] : renewal.entries.map { $0.observation }
    let statuses: [Mirror<AppleStatus>.Observation?] =
      status.isEmpty ? [nil] : status.entries.map { $0.observation }
    let choices = Choices.of(
      transactions, besides: renewals.count * statuses.count
    ) { id, content in AppleFold.Transaction(id: id, content: content) }
    return choices.flatMap { transactions in
      renewals.flatMap { renewal in
        statuses.map { status in
          AppleFold(
            transactions: transactions, renewal: renewal, status: status, policy: policy,
            catalogue: catalogue)
        }
      }
    }
  }
}

extension AppleRenewal {
  /// Whether auto-renewal is on, and nothing but a payment that is being retried prevents it.
  fileprivate var isExpectedToRenew: Bool {
    guard willRenew else { return false }
    guard let expirationIntent else { return true }
    return expirationIntent == Self.billingIntent
      && (isInBillingRetry || gracePeriodExpiresDate != nil)
  }

  static let billingIntent: Int64 = 2
}
