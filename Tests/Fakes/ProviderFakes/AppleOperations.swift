package import Base
import JSON

/// The operations of customers, banks and the seller. A subscription is named by its original transaction's
/// id.
extension FakeAppStore {
  // MARK: customers

  /// A first purchase in the group, by default naming the account; returns its id.
  ///
  /// `account` is the true owner of the money. `sameCustomerAs` is another subscription of the customer, in
  /// another group.
  package func buy(
    _ product: AppleProduct, for account: Identifier?, namesAccount: Bool = true,
    trialDays: Int64 = 0, sameCustomerAs other: String? = nil
  ) -> String {
    act {
      $0.buy(
        product, for: account, token: namesAccount ? account : nil, trialDays: trialDays,
        by: other.map { [world = $0] id in world[id].customer })
    }
  }

  /// Buys it again after its end. `namesAccount` is false on the store's own page, where no app is involved.
  package func resubscribe(
    _ id: String, _ product: AppleProduct? = nil, namesAccount: Bool = false
  ) {
    act { $0.resubscribe(id, product, token: namesAccount ? $0[id].owner : nil) }
  }

  /// Upgrades or crossgrades at once, or changes with the next renewal. Changing to the present product
  /// cancels a planned change.
  package func change(_ id: String, to product: AppleProduct) { act { $0.change(id, to: product) } }
  package func turnOffRenewal(_ id: String) { act { $0.setRenewal(id, false) } }
  package func turnOnRenewal(_ id: String) { act { $0.setRenewal(id, true) } }
  package func acceptPrice(_ id: String) { act { $0.acceptPrice(id) } }

  /// Shares it with a member of the family; returns the id of the member's own subscription.
  package func share(_ id: String, with account: Identifier?) -> String {
    act { $0.share(id, with: account) }
  }

  /// Gives another customer a seat that this subscription pays for; returns the id of the seat's
  /// subscription.
  package func assign(_ id: String, to account: Identifier?, namesAccount: Bool = true) -> String {
    act { $0.assign(id, to: account, token: namesAccount ? account : nil) }
  }

  package func takeBack(seat: String) { act { $0.stopSharing(seat) } }

  package func stopSharing(_ member: String) { act { $0.stopSharing(member) } }

  // MARK: banks

  /// Makes the next renewal fail.
  package func breakCard(_ id: String) { act { $0.breakCard(id) } }

  /// Makes the card work again; a failed payment is made at once.
  package func repairCard(_ id: String) { act { $0.repairCard(id) } }

  // MARK: the store and the seller

  /// Refunds the whole price, or `percentage` thousandths of a percent of it.
  package func refund(_ transaction: String, percentage: Int64? = nil) {
    act { $0.refund(transaction, percentage: percentage) }
  }

  package func reverseRefund(_ transaction: String) { act { $0.reverseRefund(transaction) } }
  package func extend(_ id: String, days: Int64) { act { $0.extend(id, days: days) } }
  package func raisePrice(_ id: String, needsConsent: Bool = true) {
    act { $0.raisePrice(id, needsConsent: needsConsent) }
  }

  /// Withdraws a product, so that no subscription of it renews.
  package func withdraw(_ product: AppleProduct) { act { $0.withdraw(product) } }

  // MARK: other notifications

  /// Sends any type of notification about a subscription as it is: one that changes nothing, or an unknown
  /// one.
  package func notify(_ id: String, _ type: String, _ subtype: String? = nil) {
    act { $0.tell(type, subtype, of: id) }
  }

  /// A customer asks for a refund of the latest transaction.
  package func askOfRefund(_ id: String) { act { $0.tell("CONSUMPTION_REQUEST", nil, of: id) } }

  package func sendTest() { act { $0.publish("TEST", nil, .app) } }

  /// Sells a product that is not a subscription.
  package func sellOnce(_ product: String) {
    act { world in
      let id = world.newTransactionID()
      let settings = world.settings
      let payload = JSONValue.apple([
        ("transactionId", .string(id)), ("originalTransactionId", .string(id)),
        ("bundleId", .string(settings.bundleID)), ("productId", .string(product)),
        ("purchaseDate", .apple(world.now)), ("originalPurchaseDate", .apple(world.now)),
        ("quantity", 1), ("type", "Consumable"), ("inAppOwnershipType", "PURCHASED"),
        ("signedDate", .apple(world.stamp())),
        ("environment", .string(settings.environment.rawValue)),
        ("transactionReason", "PURCHASE"), ("storefront", "USA"), ("storefrontId", "143441"),
        ("price", 990), ("currency", "USD"), ("appTransactionId", .string(world.newCustomer())),
      ])
      world.publish("ONE_TIME_CHARGE", nil, .data(transaction: payload))
    }
  }

  /// Reports the end of an extension of all customers' subscriptions.
  package func finishMassExtension(of product: AppleProduct, succeeded: Int64, failed: Int64) {
    act { world in
      let settings = world.settings
      let summary = JSONValue.apple([
        ("requestIdentifier", .string(world.newUUID().description)),
        ("environment", .string(settings.environment.rawValue)),
        ("appAppleId", settings.announcedAppID), ("bundleId", .string(settings.bundleID)),
        ("productId", .string(product.id)), ("storefrontCountryCodes", ["USA"]),
        ("failedCount", .integer(failed)), ("succeededCount", .integer(succeeded)),
      ])
      world.publish("RENEWAL_EXTENSION", "SUMMARY", .other("summary", summary))
    }
  }

  package func createExternalPurchaseToken() {
    act { world in
      let settings = world.settings
      let prefix = settings.environment == .sandbox ? "SANDBOX_" : ""
      let token = JSONValue.apple([
        ("externalPurchaseId", .string(prefix + world.newUUID().description)),
        ("tokenCreationDate", .apple(world.now)), ("appAppleId", settings.announcedAppID),
        ("bundleId", .string(settings.bundleID)),
      ])
      world.publish("EXTERNAL_PURCHASE_TOKEN", "UNREPORTED", .other("externalPurchaseToken", token))
    }
  }

  /// A guardian withdraws consent to the app.
  package func rescindConsent() {
    act { world in
      let settings = world.settings
      let transaction = JSONValue.apple([
        ("receiptType", .string(settings.environment.rawValue)),
        ("appAppleId", settings.announcedAppID), ("bundleId", .string(settings.bundleID)),
        ("applicationVersion", .string(settings.bundleVersion)),
        ("receiptCreationDate", .apple(world.now)), ("signedDate", .apple(world.stamp())),
        ("appTransactionId", .string(world.newCustomer())), ("originalPlatform", "iOS"),
      ])
      world.publish("RESCIND_CONSENT", nil, .consent(transaction))
    }
  }

  // MARK: asking

  /// All transactions of a subscription, oldest first.
  package func transactions(of id: String) -> [String] { act { $0[id].sales.map(\.id) } }

  package func latestTransaction(of id: String) -> String { act { $0[id].last.id } }

  /// `expiresDate` of the latest transaction.
  package func expiry(of id: String) -> Instant { act { $0[id].last.expires } }

  /// `data.status`: 1 active, 2 expired, 3 billing retry, 4 grace, 5 revoked.
  package func status(of id: String) -> Int64 { act { $0[id].status } }

  /// The latest transaction as StoreKit gives it to the app, which may post it as a claim.
  package func signedTransaction(for id: String) -> String {
    signer.sign(
      act { world in
        world.transactionPayload(of: world[id], world[id].last, signed: world.stamp())
      })
  }

  // MARK: the truth

  /// The truth of every subscription, in the order of their first purchase.
  package var truths: [AppleTruth] { act { $0.truths } }

  /// What the oracle knew at a past moment.
  package func truths(asOf moment: Instant) -> [AppleTruth] { world(asOf: moment).truths }

  package func truth(of id: String) -> AppleTruth {
    act { $0.oracle.truth(of: id, $0[id].owner) }
  }

  package func paidPeriods(of id: String) -> [PaidPeriod] { truth(of: id).periods }

  /// When the store ends access to a subscription whose renewal failed; nil if it has no grace.
  package func graceUntil(_ id: String) -> Instant? {
    let now = clock.now
    return truth(of: id).graces.first { $0.from <= now && now < $0.to }?.to
  }
}

extension AppStoreWorld {
  var truths: [AppleTruth] { ids.map { oracle.truth(of: $0, self[$0].owner) } }
}

extension AppleTruth {
  package var periods: [PaidPeriod] {
    paid.map { PaidPeriod(account: account, productID: $0.productID, from: $0.from, to: $0.to) }
  }
}
