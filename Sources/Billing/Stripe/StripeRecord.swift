package import Base
package import Subscriptions
package import Tiers

/// Everything known about one Stripe subscription: its mirrors and those of the objects linked to it.
///
/// It is the product of its mirrors' semilattices, so it joins as they do.
package struct StripeRecord: StoreRecord {
  /// The subscription's id; its mirror may still be empty.
  package let id: String
  package private(set) var subscription = Mirror<StripeSubscription>()
  package private(set) var customer = Mirror<StripeCustomer>()
  package private(set) var invoices: [String: Mirror<StripeInvoice>] = [:]
  package private(set) var invoicePayments: [String: Mirror<StripeInvoicePayment>] = [:]
  package private(set) var charges: [String: Mirror<StripeCharge>] = [:]
  package private(set) var refunds: [String: Mirror<StripeRefund>] = [:]
  package private(set) var disputes: [String: Mirror<StripeDispute>] = [:]
  package private(set) var sessions: [String: Mirror<StripeCheckoutSession>] = [:]

  package init(id: String) { self.id = id }

  /// Joins one object as shown by a delivery.
  package mutating func insert(_ object: StripeObject, id: String, asOf: AsOf, delivery: Int64) {
    func join<Content: Mirrored>(_ content: Content, to mirror: inout Mirror<Content>) {
      mirror.insert(.init(content, asOf: asOf), delivery: delivery)
    }
    switch object {
    case .subscription(let content): join(content, to: &subscription)
    case .customer(let content): join(content, to: &customer)
    case .invoice(let content): join(content, to: &invoices[id, default: Mirror()])
    case .invoicePayment(let content): join(content, to: &invoicePayments[id, default: Mirror()])
    case .charge(let content): join(content, to: &charges[id, default: Mirror()])
    case .refund(let content): join(content, to: &refunds[id, default: Mirror()])
    case .dispute(let content): join(content, to: &disputes[id, default: Mirror()])
    case .checkoutSession(let content): join(content, to: &sessions[id, default: Mirror()])
    }
  }

  /// Whether some object's maximal values disagree, so that the provider must be read again.
  package var isDirty: Bool {
    subscription.isDirty || customer.isDirty || invoices.values.contains { $0.isDirty }
      || invoicePayments.values.contains { $0.isDirty } || charges.values.contains { $0.isDirty }
      || refunds.values.contains { $0.isDirty } || disputes.values.contains { $0.isDirty }
      || sessions.values.contains { $0.isDirty }
  }

  /// Invoices that the subscription names as its newest and that no delivery has reported. They may be paid or not.
  package func unknown(of key: ObjectKey) -> [ObjectKey] {
    let newest = subscription.contents.filter { $0.isInForce }.compactMap { $0.latestInvoice }
    return Set(newest.filter { invoices[$0] == nil }).sorted().map { key.sibling(.invoice, $0) }
  }

  package var customers: [String] {
    Set(subscription.contents.compactMap { $0.customer }).sorted()
  }

  /// Its customers, because a deleted customer has no subscriptions.
  package func companions(of key: ObjectKey) -> [ObjectKey] {
    customers.map { key.sibling(.customer, $0) }
  }

  /// The coverage; if siblings disagree, the union of what each of them gives.
  package func coverage(policy: Policy, catalogue: Catalogue) -> Coverage {
    .union(folds(policy: policy, catalogue: catalogue).map { $0.coverage() })
  }

  /// The state of the subscription while it gives no access.
  package func labelWithoutAccess(hadAccess: Bool) -> Label {
    subscriptionStates.map { Label(withoutAccess: $0.status, $0.willRenew, hadAccess) }
      .min { $0.precedence < $1.precedence } ?? (hadAccess ? .expired : .pending)
  }

  /// Whether the provider will bill again if no one does anything.
  package var willRenew: Bool {
    customer.isEmpty && subscription.contents.contains { renews($0) }
  }

  /// When cancelling was requested.
  package var renewalSince: Instant? {
    subscription.contents.first { !renews($0) }?.canceledAt
  }

  /// Whether another period begins. The date of a cancellation can lie months after the end of this period.
  private func renews(_ content: StripeSubscription) -> Bool {
    guard content.isInForce, !content.cancelAtPeriodEnd, let end = content.cancelAt else {
      return content.willRenew
    }
    let newest = content.latestInvoice.flatMap { invoices[$0] }.map { [$0] }
    let billed = (newest ?? Array(invoices.values)).flatMap { $0.contents }.flatMap { $0.lines }
      .filter { !$0.isCredit }.map { $0.to }
    // The end of a past trial stays in the object, and says nothing about the period.
    let trialEnd = content.status == .trialing ? content.trialEnd : nil
    guard let known = ([trialEnd].compactMap { $0 } + billed).max() else { return false }
    return known < end
  }

  /// If siblings disagree, the latest date, or none.
  package var endDate: Instant? {
    let dates = subscription.contents.map { $0.cancelAt }
    return dates.contains(nil) ? nil : dates.compactMap { $0 }.max()
  }

  /// The account in the subscription's own metadata, otherwise in that of the checkout session that created it.
  package var token: OwnerToken {
    let own = Set(subscription.contents.compactMap { $0.account })
    if let account = own.first {
      return own.count == 1 ? .account(account, by: "subscription") : .contested
    }
    let named = sessions.flatMap { id, mirror in
      mirror.contents.compactMap { content in content.account.map { (id: id, account: $0) } }
    }
    guard let first = named.min(by: { $0.id < $1.id }) else { return .none }
    return named.allSatisfy { $0.account == first.account }
      ? .account(first.account, by: "checkout.session:\(first.id)") : .contested
  }

  package var pause: Pause? {
    guard customer.isEmpty, let content = subscription.contents.first else { return nil }
    if content.status == .paused {
      return Pause(
        since: content.pause?.at, reason: content.pause.map { .init($0.reason) } ?? .unknown)
    }
    return content.collectionIsPaused && content.isInForce
      ? Pause(since: nil, reason: .collection, until: content.collectionResumes) : nil
  }

  private var subscriptionStates: [(status: StripeSubscription.Status, willRenew: Bool)] {
    subscription.contents.map { content in
      let isDeleted = !customer.isEmpty
      return (isDeleted ? .canceled : content.status, !isDeleted && content.willRenew)
    }
  }

  /// One fold for each way to choose one value of every mirror.
  private func folds(policy: Policy, catalogue: Catalogue) -> [StripeFold] {
    let snapshots: [Mirror<StripeSubscription>.Observation?] =
      subscription.isEmpty ? [nil] : subscription.entries.map { $0.observation }
    let choices = Choices.of(invoices, besides: snapshots.count) {
      StripeFold.Invoice(id: $0, content: $1, of: id, catalogue: catalogue)
    }
    let reversals = reversals(besides: snapshots.count * choices.count)
    let deletedAt = customer.entries.map { $0.observation.asOf.from }.min()
    return snapshots.flatMap { snapshot in
      choices.flatMap { invoices in
        reversals.map { objects in
          StripeFold(
            id: id, snapshot: snapshot, invoices: invoices, reversedBy: objects,
            customerDeletedAt: deletedAt, policy: policy, catalogue: catalogue)
        }
      }
    }
  }

  private func reversals(besides factor: Int) -> [StripeReversals.Objects] {
    if charges.isEmpty, refunds.isEmpty, disputes.isEmpty { return [StripeReversals.Objects()] }
    var ways = [StripeReversals.Objects()]
    func choose<Content: Mirrored>(
      _ mirrors: [String: Mirror<Content>],
      _ put: (inout StripeReversals.Objects, [(id: String, content: Content)]) -> Void
    ) {
      let choices = Choices.of(mirrors, besides: factor * ways.count) { (id: $0, content: $1) }
      ways = ways.flatMap { way in
        choices.map { choice in
          var way = way
          put(&way, choice)
          return way
        }
      }
    }
    choose(charges) { way, choice in
      way.charges = choice.map { id, content in
        (id, content, charges[id]?.firstShown(content) ?? .distantPast)
      }
    }
    choose(refunds) { $0.refunds = $1 }
    choose(disputes) { $0.disputes = $1 }
    if ways.allSatisfy({ $0.isEmpty }) { return ways }
    choose(invoicePayments) { $0.invoicePayments = $1.map { $0.content } }
    return ways
  }
}

extension StripeSubscription {
  /// Whether nothing will end it. Access ends on the date of a cancellation without a further event.
  var willRenew: Bool { isInForce && !cancelAtPeriodEnd && cancelAt == nil }
}

extension Pause.Reason {
  fileprivate init(_ reason: StripeSubscription.Pause.Reason) {
    switch reason {
    case .requested: self = .requested
    case .firstPaymentFailure, .finalPaymentFailure: self = .paymentFailed
    case .trialEnd: self = .noPaymentMethod
    case .other: self = .unknown
    }
  }
}

extension Label {
  fileprivate init(
    withoutAccess status: StripeSubscription.Status, _ willRenew: Bool, _ hadAccess: Bool
  ) {
    switch status {
    case .incomplete: self = .pending
    case .incompleteExpired, .canceled: self = .expired
    case .paused: self = .paused
    case .pastDue, .unpaid: self = .onHold
    case .trialing, .active:
      if hadAccess { self = willRenew ? .renewalPending : .expired } else { self = .pending }
    case .other: self = hadAccess ? .expired : .pending
    }
  }
}
