import Apple
import Base
import JSON
import Stores
import Subscriptions
import TestCertificates
import Testing
import Tiers

/// Notifications become facts by their contents, never by their type.
struct NotificationTests {
  private func read(
    _ changes: Sample.Changes = [:], data: Sample.Changes = [:]
  ) throws -> AppleNotification {
    let body = Sample.body(changes, data: data)
    let verified = try Sample.verifier().verify(body: body, now: Sample.now)
    return try AppleNotification(verified)
  }

  private func error(
    _ changes: Sample.Changes = [:], data: Sample.Changes = [:]
  ) throws -> UndecodableDelivery? {
    do {
      _ = try read(changes, data: data)
      return nil
    } catch let error as UndecodableDelivery { return error }
  }

  private func transaction(_ changes: Sample.Changes) throws -> AppleTransaction? {
    let facts = try read(data: ["signedTransactionInfo": Sample.transaction(changes)]).facts
    return facts.lazy.compactMap {
      if case .transaction(let content)? = $0.object.base as? AppleObject { content } else { nil }
    }.first
  }

  private func renewal(_ changes: Sample.Changes) throws -> AppleRenewal? {
    let facts = try read(data: ["signedRenewalInfo": Sample.renewal(changes)]).facts
    return facts.lazy.compactMap {
      if case .renewal(let content)? = $0.object.base as? AppleObject { content } else { nil }
    }.first
  }

  private static func key(_ kind: ObjectKey.Kind, _ id: String = Sample.original) -> ObjectKey {
    ObjectKey(provider: .apple, environment: .live, kind: kind, id: id)
  }

  @Test func `a renewal tells of a transaction, what follows it and a status`() throws {
    let notification = try read()
    #expect(notification.id == "6a3c0c1e-7d0b-4c6e-9b3e-2f1d0a9b8c7d")
    #expect(notification.type == "DID_RENEW")
    #expect(notification.created == Sample.now)
    #expect(notification.incompleteObjects.isEmpty)
    #expect(notification.notes.isEmpty)
    let transaction = AppleTransaction(
      originalTransactionID: Sample.original, productID: "notes.pro.monthly",
      purchaseDate: Sample.now - .days(1), expiresDate: Sample.now + .days(29),
      account: Sample.account, price: .init(milliunits: 4990, currency: "EUR"))
    let renewal = AppleRenewal(productID: "notes.pro.monthly", willRenew: true)
    #expect(
      notification.facts == [
        Fact(
          key: Self.key(.transaction, "2000000123456790"),
          object: AppleObject.transaction(transaction), asOf: .moment(Sample.now - .seconds(2))),
        Fact(
          key: Self.key(.renewal), object: AppleObject.renewal(renewal),
          asOf: .moment(Sample.now - .seconds(1))),
        Fact(
          key: Self.key(.status), object: AppleObject.status(AppleStatus(.active)),
          asOf: .moment(Sample.now)),
      ])
  }

  @Test func `every object is linked to its subscription`() throws {
    let links = try read().facts.flatMap { $0.links }
    #expect(links.map { $0.target } == Array(repeating: Self.key(.subscription), count: 3))
  }

  @Test func `a subscription continues the one of before an account change`() throws {
    let changes: Sample.Changes = ["previousOriginalTransactionId": "1000000000000001"]
    let facts = try read(data: ["signedTransactionInfo": Sample.transaction(changes)]).facts
    let link = Link(
      Self.key(.subscription), .successor, of: Self.key(.subscription, "1000000000000001"))
    #expect(facts.flatMap { $0.links }.contains(link))
  }

  @Test(
    arguments: [
      "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/RESUBSCRIBE", "DID_RENEW", "DID_RENEW/BILLING_RECOVERY",
      "DID_CHANGE_RENEWAL_PREF/UPGRADE", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE",
      "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED",
      "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "DID_FAIL_TO_RENEW/GRACE_PERIOD",
      "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED/VOLUNTARY", "EXPIRED/BILLING_RETRY",
      "EXPIRED/PRICE_INCREASE", "EXPIRED/PRODUCT_NOT_FOR_SALE", "EXPIRED", "OFFER_REDEEMED",
      "OFFER_REDEEMED/UPGRADE", "OFFER_REDEEMED/DOWNGRADE", "PRICE_INCREASE/PENDING",
      "PRICE_INCREASE/ACCEPTED", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED", "REVOKE",
      "CONSUMPTION_REQUEST", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION/FAILURE", "ONE_TIME_CHARGE",
      "METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE",
    ])
  func `every documented type is known and changes no fact`(type: String) throws {
    let parts = type.split(separator: "/").map(String.init)
    let subtype: JSONValue? = parts.count > 1 ? .string(parts[1]) : nil
    let notification = try read(["notificationType": .string(parts[0]), "subtype": subtype])
    #expect(notification.type == type)
    #expect(notification.notes.isEmpty)
    #expect(try notification.facts == read().facts)
  }

  @Test func `an unknown type is noted and its facts count`() throws {
    let notification = try read(["notificationType": "SOMETHING_NEW", "subtype": "ODD"])
    #expect(notification.type == "SOMETHING_NEW/ODD")
    #expect(notification.notes == [.unknownType])
    #expect(notification.facts.count == 3)
  }

  @Test func `an unknown subtype is noted and its facts count`() throws {
    let notification = try read(["subtype": "ODD"])
    #expect(notification.notes == [.unknownSubtype])
    #expect(notification.facts.count == 3)
  }

  @Test func `a test notification has no facts`() throws {
    let notification = try read(
      ["notificationType": "TEST"],
      data: ["signedTransactionInfo": nil, "signedRenewalInfo": nil, "status": nil])
    #expect(notification.facts.isEmpty)
    #expect(notification.incompleteObjects.isEmpty)
    #expect(notification.notes.isEmpty)
  }

  @Test(
    arguments: [
      ("RENEWAL_EXTENSION", "SUMMARY", "summary"), ("RESCIND_CONSENT", nil, "appData"),
      ("EXTERNAL_PURCHASE_TOKEN", "CREATED", "externalPurchaseToken"),
    ] as [(String, String?, String)])
  func `what speaks of no subscription has no facts`(
    type: String, subtype: String?, member: String
  ) throws {
    let about: JSONValue = [
      "bundleId": .string(Sample.bundleID), "appAppleId": .integer(Sample.appID),
      "environment": "Production", "externalPurchaseId": "1",
    ]
    let notification = try read([
      "notificationType": .string(type), "subtype": subtype.map { .string($0) }, "data": nil,
      member: about,
    ])
    #expect(notification.facts.isEmpty)
    #expect(notification.notes.isEmpty)
  }

  @Test func `a renewal without its transaction asks for a read`() throws {
    let notification = try read(data: ["signedTransactionInfo": .null])
    #expect(notification.facts.count == 2)
    #expect(notification.incompleteObjects == [Self.key(.subscription)])
  }

  @Test func `a status that is nobody's is noted`() throws {
    let notification = try read(data: ["signedTransactionInfo": .null, "signedRenewalInfo": nil])
    #expect(notification.facts.isEmpty)
    #expect(notification.notes == [.noSubscription])
  }

  @Test func `a one-time purchase is recorded without facts`() throws {
    let notification = try read(
      ["notificationType": "ONE_TIME_CHARGE"],
      data: [
        "signedTransactionInfo": Sample.transaction(["type": "Consumable", "expiresDate": nil]),
        "signedRenewalInfo": nil, "status": nil,
      ])
    #expect(notification.facts.isEmpty)
    #expect(notification.notes == [.otherProduct])
  }

  @Test func `an unknown status is a fact that says so`() throws {
    let notification = try read(data: ["status": 9])
    #expect(notification.notes == [.unknownValue])
    #expect(notification.facts.last?.object.base as? AppleObject == .status(AppleStatus(.other(9))))
  }

  @Test(
    arguments: [
      (nil, .full), ("REFUND_FULL", .full), ("REFUND_PRORATED", .prorated),
      ("FAMILY_REVOKE", .family), ("ASSIGNMENT_REVOKE", .assignment), ("NEW_KIND", .unknown),
    ] as [(String?, AppleTransaction.Revocation.Kind)])
  func `a revocation has a kind`(type: String?, kind: AppleTransaction.Revocation.Kind) throws {
    let transaction = try transaction([
      "revocationDate": Sample.date(.hours(-1)), "revocationReason": 0,
      "revocationType": type.map { .string($0) }, "revocationPercentage": 40_000,
    ])
    #expect(
      transaction?.revocation
        == .init(date: Sample.now - .hours(1), kind: kind, percentageMilliunits: 40_000))
  }

  @Test func `a revoked type without a date revokes nothing`() throws {
    #expect(try transaction(["revocationType": "REFUND_FULL"])?.revocation == nil)
  }

  @Test func `a free introductory offer is a trial`() throws {
    let trial: Sample.Changes = ["offerType": 1, "offerDiscountType": "FREE_TRIAL"]
    #expect(try transaction(trial)?.isFreeTrial == true)
    #expect(
      try transaction(["offerType": 1, "offerDiscountType": "PAY_UP_FRONT"])?.isFreeTrial == false)
    #expect(
      try transaction(["offerType": 3, "offerDiscountType": "FREE_TRIAL"])?.isFreeTrial == false)
  }

  @Test func `a family member's upgraded transaction says both`() throws {
    let transaction = try transaction([
      "inAppOwnershipType": "FAMILY_SHARED", "isUpgraded": true, "appAccountToken": nil,
    ])
    #expect(transaction?.ownership == .familyShared)
    #expect(transaction?.isUpgraded == true)
    #expect(transaction?.account == nil)
  }

  @Test(
    arguments: [(nil, .purchased), ("PURCHASED", .purchased), ("ASSIGNED", .assigned)]
      as [(String?, AppleTransaction.Ownership)])
  func `a transaction says how it is held`(
    text: String?, ownership: AppleTransaction.Ownership
  ) throws {
    let changes: Sample.Changes = ["inAppOwnershipType": text.map { .string($0) }]
    #expect(try transaction(changes)?.ownership == ownership)
  }

  @Test func `an unknown way to hold it is noted`() throws {
    let notification = try read(
      data: ["signedTransactionInfo": Sample.transaction(["inAppOwnershipType": "LENT"])])
    #expect(notification.notes == [.unknownValue])
    #expect(notification.facts.count == 3)
  }

  @Test func `a month of a commitment tells its end, and its renewal whether another follows`()
    throws
  {
    let end = Sample.date(.days(300))
    let month = try transaction([
      "billingPlanType": "MONTHLY",
      "commitmentInfo": [
        "billingPeriodNumber": 2, "totalBillingPeriods": 12, "commitmentExpiresDate": end,
      ],
    ])
    #expect(month?.commitment == .init(end: Sample.now + .days(300)))
    #expect(try transaction(["billingPlanType": "BILLED_UPFRONT"])?.commitment == nil)
    for (status, renews) in [(0, false), (1, true)] as [(JSONValue, Bool)] {
      let renewal = try renewal(["commitmentInfo": ["commitmentAutoRenewStatus": status]])
      #expect(renewal?.commitmentWillRenew == renews)
      #expect(renewal?.willRenew == true)
    }
    #expect(try renewal([:])?.commitmentWillRenew == nil)
  }

  @Test func `an account token that is no UUID is noted and ignored`() throws {
    let notification = try read(
      data: ["signedTransactionInfo": Sample.transaction(["appAccountToken": "me"])])
    #expect(notification.notes == [.malformedAccount])
    #expect(notification.facts.count == 3)
  }

  @Test func `a pending change names the next product, an unchanged one does not`() throws {
    #expect(try renewal(["autoRenewProductId": "notes.basic"])?.nextProductID == "notes.basic")
    #expect(try renewal([:])?.nextProductID == nil)
    #expect(try renewal(["autoRenewProductId": nil])?.nextProductID == nil)
  }

  @Test func `a failed renewal tells its retry and its grace`() throws {
    let renewal = try renewal([
      "autoRenewStatus": 1, "isInBillingRetryPeriod": true, "expirationIntent": 2,
      "gracePeriodExpiresDate": Sample.date(.days(6)),
    ])
    #expect(
      renewal
        == AppleRenewal(
          productID: "notes.pro.monthly", willRenew: true, expirationIntent: 2,
          isInBillingRetry: true, gracePeriodExpiresDate: Sample.now + .days(6)))
  }

  @Test(
    arguments: [
      "transactionId", "originalTransactionId", "productId", "purchaseDate", "expiresDate", "type",
    ])
  func `a transaction without a needed member is undecodable`(member: String) throws {
    for value in [nil, JSONValue.null] {
      let broken = Sample.transaction([member: .some(value)])
      let error = try #require(
        try error(data: ["signedTransactionInfo": broken]), "\(member) is not needed")
      #expect(error.id == "6a3c0c1e-7d0b-4c6e-9b3e-2f1d0a9b8c7d")
      #expect(error.error.path == "$.\(member)")
    }
  }

  @Test(arguments: ["", "two words", "é", String(repeating: "9", count: 10_000)])
  func `an id that is none is undecodable`(id: String) throws {
    let broken = Sample.transaction(["transactionId": .string(id)])
    #expect(try error(data: ["signedTransactionInfo": broken]) != nil)
    #expect(try error(["notificationUUID": .string(id)]) != nil)
    #expect(try error(["notificationType": .string(id)]) != nil)
  }

  @Test(arguments: Sample.unreadable)
  func `what the App Store signed and cannot be read is undecodable, also inside another`(
    payload: String
  ) throws {
    let signed = Sample.chain.sign(Array(payload.utf8))
    let verified = try Sample.verifier().verify(
      body: Sample.body(signed: signed), now: Sample.now)
    #expect(throws: UndecodableDelivery.self) { try AppleNotification(verified) }
    #expect(try error(data: ["signedTransactionInfo": .string(signed)]) != nil)
    #expect(try error(data: ["signedRenewalInfo": .string(signed)]) != nil)
  }

  /// Nothing has shown that it is about our app.
  @Test func `what exceeds the limits on arrival exceeds them when it is read again`() throws {
    let deep = (0..<20).reduce(JSONValue.integer(1)) { inner, _ in .array([inner]) }
    let body = Sample.body(["deep": deep])
    let verified = try Sample.verifier().verify(body: body, now: Sample.now)
    #expect(throws: UndecodableDelivery.self) { try AppleNotification(verified) }
    let kept = KeptMessage(
      deliveryID: "sha256:00", environment: nil, received: Sample.now, isForeign: false,
      body: body)
    #expect(throws: JSONError.self) { try AppleStore().decoded(again: kept) }
  }

  @Test func `a period that ends before it begins is undecodable`() throws {
    let broken = Sample.transaction(["expiresDate": Sample.date(.days(-2))])
    #expect(try error(data: ["signedTransactionInfo": broken]) != nil)
  }

  @Test(arguments: [-1, 253_402_300_800_000, Int64.max])
  func `a time beyond the calendar is undecodable`(time: Int64) throws {
    let broken = Sample.transaction(["expiresDate": .integer(time)])
    #expect(try error(data: ["signedTransactionInfo": broken]) != nil)
  }

  @Test func `a retry has the same id and facts of its own time`() throws {
    let retry = try read(["signedDate": Sample.date(.hours(-1))])
    #expect(try retry.id == read().id)
    #expect(retry.created == Sample.now - .hours(1))
  }

  @Test func `a client's transaction is read like a notification's`() throws {
    let text = Sample.chain.sign(Sample.transactionPayload())
    let verified = try Sample.verifier().verify(transaction: text, now: Sample.now)
    let reading = try AppleTransactionReading(verified)
    #expect(reading.subscription == Self.key(.subscription))
    #expect(try reading.fact == read().facts.first)
  }
}
