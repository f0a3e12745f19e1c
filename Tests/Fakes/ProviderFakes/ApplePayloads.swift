import Base
import JSON

/// The payloads that are signed, with members in the store's order.
extension AppStoreWorld {
  /// `JWSTransactionDecodedPayload`.
  func transactionPayload(
    of subscription: AppleSubscription, _ sale: AppleSale, signed: Instant
  ) -> JSONValue {
    return .apple([
      ("transactionId", .string(sale.id)),
      ("originalTransactionId", .string(subscription.id)),
      ("webOrderLineItemId", .string(sale.lineID)), ("bundleId", .string(settings.bundleID)),
      ("productId", .string(sale.product.id)),
      ("subscriptionGroupIdentifier", .string(sale.product.groupID)),
      ("purchaseDate", .apple(sale.purchased)),
      ("originalPurchaseDate", .apple(subscription.sales[0].purchased)),
      ("expiresDate", .apple(sale.expires)), ("quantity", 1),
      ("type", "Auto-Renewable Subscription"),
      ("appAccountToken", sale.token.map { .string($0.description) }),
      ("inAppOwnershipType", .string(subscription.ownership)),
      ("signedDate", .apple(signed)), ("revocationReason", sale.revocation?.reasonValue),
      ("revocationDate", sale.revocation.map { .apple($0.date) }),
      ("revocationType", sale.revocation.map { .string($0.kind.rawValue) }),
      ("revocationPercentage", sale.revocation?.percentage.map { .integer($0) }),
      ("isUpgraded", sale.isUpgraded ? true : nil), ("offerType", sale.isTrial ? 1 : nil),
      ("environment", .string(settings.environment.rawValue)),
      ("transactionReason", .string(sale.reason.rawValue)), ("storefront", "USA"),
      ("storefrontId", "143441"), ("price", .integer(sale.isTrial ? 0 : sale.product.price)),
      ("currency", "USD"), ("offerDiscountType", sale.isTrial ? "FREE_TRIAL" : nil),
      ("offerPeriod", sale.isTrial ? .string(Self.days(sale)) : nil),
      ("appTransactionId", .string(subscription.customer)),
      ("billingPlanType", sale.month == nil ? nil : "MONTHLY"),
      ("commitmentInfo", Self.commitment(sale)),
    ])
  }

  private static func commitment(_ sale: AppleSale) -> JSONValue? {
    guard let month = sale.month, let end = sale.commitmentEnd,
      let count = sale.product.commitment
    else { return nil }
    return .apple([
      ("billingPeriodNumber", .integer(month)), ("totalBillingPeriods", .integer(count)),
      ("commitmentPrice", .integer(sale.product.price * count)),
      ("commitmentExpiresDate", .apple(end)),
    ])
  }

  /// The length of a trial, in ISO 8601.
  private static func days(_ sale: AppleSale) -> String {
    let days = (sale.expires - sale.purchased).milliseconds / Instant.Span.days(1).milliseconds
    return days > 0 && days % 7 == 0 ? "P\(days / 7)W" : "P\(max(1, days))D"
  }

  /// `JWSRenewalInfoDecodedPayload`.
  func renewalPayload(of subscription: AppleSubscription, signed: Instant) -> JSONValue {
    let (intent, isRetrying, grace) = subscription.trouble
    let next = subscription.renewing
    return .apple([
      ("expirationIntent", intent.map { .integer($0) }),
      ("originalTransactionId", .string(subscription.id)),
      ("autoRenewProductId", .string(next.id)),
      ("productId", .string(subscription.product.id)),
      ("autoRenewStatus", subscription.willRenew ? 1 : 0),
      ("renewalPrice", subscription.willRenew ? .integer(next.price) : nil),
      ("currency", subscription.willRenew ? "USD" : nil),
      ("isInBillingRetryPeriod", isRetrying.map { .bool($0) }),
      ("priceIncreaseStatus", subscription.priceIncrease.map { .integer($0.rawValue) }),
      ("gracePeriodExpiresDate", grace.map { .apple($0) }), ("signedDate", .apple(signed)),
      ("environment", .string(settings.environment.rawValue)),
      ("recentSubscriptionStartDate", .apple(subscription.runStart)),
      ("renewalDate", .apple(subscription.last.expires)),
      ("appTransactionId", .string(subscription.customer)),
      ("appAccountToken", subscription.last.token.map { .string($0.description) }),
      ("renewalBillingPlanType", next.commitment == nil ? nil : "MONTHLY"),
      ("commitmentInfo", subscription.commitmentRenewal),
    ])
  }
}

extension AppleSubscription {
  /// `inAppOwnershipType`.
  var ownership: String {
    sharedFrom == nil ? "PURCHASED" : isSeat ? "ASSIGNED" : "FAMILY_SHARED"
  }

  fileprivate var commitmentRenewal: JSONValue? {
    guard let end = last.commitmentEnd, let count = product.commitment else { return nil }
    return .apple([
      ("commitmentAutoRenewProductId", .string(renewing.id)),
      ("commitmentAutoRenewStatus", commitmentRenews ? 1 : 0),
      ("commitmentRenewalBillingPlanType", "MONTHLY"), ("commitmentRenewalDate", .apple(end)),
      ("commitmentRenewalPrice", .integer(product.price * count)),
    ])
  }

  /// The state of billing: why it ended or will end, whether it is being retried, and the end of grace.
  fileprivate var trouble: (intent: Int64?, isRetrying: Bool?, grace: Instant?) {
    switch phase {
    case .running, .revoked: (nil, nil, nil)
    case .grace(let until): (ExpirationIntent.billing.rawValue, true, until)
    case .retry: (ExpirationIntent.billing.rawValue, true, nil)
    case .ended(let intent): (intent.rawValue, false, nil)
    }
  }
}

extension AppleSale.Revocation {
  /// A family member's transaction has no reason of its own.
  fileprivate var reasonValue: JSONValue? {
    kind == .family || kind == .assignment ? nil : .integer(reason)
  }
}
