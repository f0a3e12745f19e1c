import Base
import JSON

/// The App Store Server API's answers for one state of the store.
struct AppleReads {
  let world: AppStoreWorld
  let signer: AppleSigner
  let signed: Instant

  private static let pageCount = 20

  /// Get All Subscription Statuses, of the customer who has this transaction.
  func statuses(_ target: GoogleTarget) throws(AppleError) -> JSONValue {
    let wanted = target.values("status").compactMap { Int64($0) }
    let all = try subscriptions(target.segments[3]).filter {
      wanted.isEmpty || wanted.contains($0.status)
    }
    let groups = Set(all.map(\.product.groupID)).sorted()
    return .apple([
      ("environment", .string(world.settings.environment.rawValue)),
      ("bundleId", .string(world.settings.bundleID)),
      ("appAppleId", world.settings.announcedAppID),
      (
        "data",
        .array(
          groups.map { group in
            [
              "subscriptionGroupIdentifier": .string(group),
              "lastTransactions": .array(
                all.filter { $0.product.groupID == group }.map(lastTransaction)),
            ]
          })
      ),
    ])
  }

  private func lastTransaction(_ subscription: AppleSubscription) -> JSONValue {
    [
      "originalTransactionId": .string(subscription.id), "status": .integer(subscription.status),
      "signedTransactionInfo": .string(transaction(of: subscription, subscription.last)),
      "signedRenewalInfo": .string(
        signer.sign(world.renewalPayload(of: subscription, signed: signed))),
    ]
  }

  /// Get Transaction History: all transactions of the customer, paged by their last change.
  func history(_ target: GoogleTarget) throws(AppleError) -> JSONValue {
    let sort = target.values("sort").first ?? "ASCENDING"
    guard ["ASCENDING", "DESCENDING"].contains(sort) else { throw .invalidSort }
    var rows: [(order: Order, subscription: AppleSubscription, sale: AppleSale)] = []
    for subscription in try subscriptions(target.segments[3]) {
      for sale in subscription.sales where matches(sale, subscription, target) {
        rows.append((Order(sale), subscription, sale))
      }
    }
    let isDescending = sort == "DESCENDING"
    rows.sort { isDescending ? $1.order < $0.order : $0.order < $1.order }
    if let text = target.values("revision").first {
      guard let order = Order(text) else { throw .invalidRevision }
      rows = rows.filter { isDescending ? $0.order < order : order < $0.order }
    }
    let page = rows.prefix(Self.pageCount)
    return .apple([
      ("revision", .string(page.last?.order.text ?? target.values("revision").first ?? "0_0")),
      ("hasMore", .bool(page.count < rows.count)),
      ("bundleId", .string(world.settings.bundleID)),
      ("appAppleId", world.settings.announcedAppID),
      ("environment", .string(world.settings.environment.rawValue)),
      (
        "signedTransactions",
        .array(page.map { .string(transaction(of: $0.subscription, $0.sale)) })
      ),
    ])
  }

  /// Look Up Order ID: the purchases of the order with that number.
  func lookup(_ target: GoogleTarget) -> JSONValue {
    let sold = world.ids.map { world[$0] }.flatMap { subscription in
      subscription.sales.filter { AppleReceipt.order(of: $0.id) == target.segments[3] }
        .map { transaction(of: subscription, $0) }
    }
    return [
      "status": .integer(sold.isEmpty ? 1 : 0),
      "signedTransactions": .array(sold.map { .string($0) }),
    ]
  }

  /// The position of a transaction in a history, which a page's token holds.
  private struct Order: Comparable {
    let modified: Int64
    let id: String

    init(_ sale: AppleSale) { (modified, id) = (sale.modified.milliseconds, sale.id) }

    init?(_ text: String) {
      let parts = text.split(separator: "_")
      guard parts.count == 2, let modified = Int64(parts[0]) else { return nil }
      (self.modified, id) = (modified, String(parts[1]))
    }

    var text: String { "\(modified)_\(id)" }

    static func < (a: Order, b: Order) -> Bool {
      (a.modified, a.id.utf8.count, a.id) < (b.modified, b.id.utf8.count, b.id)
    }
  }

  private func matches(
    _ sale: AppleSale, _ subscription: AppleSubscription, _ target: GoogleTarget
  ) -> Bool {
    func allows(_ name: String, _ value: String) -> Bool {
      let wanted = target.values(name)
      return wanted.isEmpty || wanted.contains(value)
    }
    let from = target.values("startDate").first.flatMap { Int64($0) } ?? .min
    let to = target.values("endDate").first.flatMap { Int64($0) } ?? .max
    return allows("productType", "AUTO_RENEWABLE") && allows("productId", sale.product.id)
      && allows("subscriptionGroupIdentifier", sale.product.groupID)
      && allows("inAppOwnershipType", subscription.ownership)
      && allows("revoked", sale.revocation == nil ? "false" : "true")
      && from <= sale.purchased.milliseconds && sale.purchased.milliseconds < to
  }

  private func subscriptions(_ transaction: String) throws(AppleError) -> [AppleSubscription] {
    guard (1...20).contains(transaction.utf8.count),
      transaction.utf8.allSatisfy({ 0x30...0x39 ~= $0 })
    else { throw .invalidTransaction }
    guard let id = world.find(transaction)?.id else { throw .notFound }
    return world.ids.map { world[$0] }.filter { $0.customer == world[id].customer }
  }

  private func transaction(of subscription: AppleSubscription, _ sale: AppleSale) -> String {
    signer.sign(world.transactionPayload(of: subscription, sale, signed: signed))
  }
}
