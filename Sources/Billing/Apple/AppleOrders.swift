import Base
import Configuration
import Crypto
import JSON
import ProviderAPI
import Stores
import Subscriptions

/// What is sent to the App Store: extensions by some days, and answers to its questions before a refund.
extension AppleAPI {
  /// Extends the subscription, unless it ends at a moment other than `knownEnd`: a repeated order takes effect once.
  ///
  /// https://developer.apple.com/documentation/appstoreserverapi/extend-a-subscription-renewal-date
  func extend(
    _ subscription: String, days: Int64, because cause: ExtensionCause, knownEnd: Instant?
  ) throws(APIFailure) {
    var reading = AppleReading(self)
    try reading.readStatuses(subscription)
    let now = reading.answer.facts.compactMap { $0.transaction(of: subscription) }
    guard let end = knownEnd, now.end == end else {
      throw .refused(
        status: 0, "it ends at another time than was known; look again, it is read next")
    }
    let id = Hex.encode(SHA256.hash(Array("\(subscription)|\(end)|\(days)".utf8)))
    let code: Int64 =
      switch cause {
      case .satisfaction: 1
      case .other: 2
      case .outage: 3
      }
    let body: JSONValue = [
      "extendByDays": .integer(days), "extendReasonCode": .integer(code),
      "requestIdentifier": .string(id),
    ]
    let target = "/inApps/v1/subscriptions/extend/\(PercentEncoding.encode(subscription))"
    let reply = try send("PUT", target, body)
    guard try reply.object()["success"].bool == true else {
      throw .refused(status: reply.status, "the App Store did not extend it")
    }
  }

  /// https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information
  func tellConsumption(
    of transaction: String, _ evidence: RefundEvidence
  ) throws(APIFailure) {
    var members: [JSONValue.Member] = [
      .init("customerConsented", true), .init("deliveryStatus", "DELIVERED"),
      .init("sampleContentProvided", .bool(evidence.hasFreePlan)),
    ]
    let preference: String? =
      switch evidence.preference {
      case .off, .usage: nil
      case .decline: "DECLINE"
      case .grant: "GRANT_FULL"
      case .prorate: "GRANT_PRORATED"
      }
    if let preference { members.append(.init("refundPreference", .string(preference))) }
    // For a refund of the remaining time, Apple calculates the used part itself.
    if evidence.preference != .prorate {
      members.append(.init("consumptionPercentage", .integer(evidence.usedMilliunits)))
    }
    let target = "/inApps/v2/transactions/consumption/\(PercentEncoding.encode(transaction))"
    _ = try send("PUT", target, .object(members))
  }
}

extension [AppleTransaction] {
  /// The end of the newest transaction's period.
  var end: Instant? {
    self.max { ($0.purchaseDate, $0.expiresDate) < ($1.purchaseDate, $1.expiresDate) }?.expiresDate
  }
}

extension Fact {
  /// The store's answer covers everything that its customer has.
  fileprivate func transaction(of subscription: String) -> AppleTransaction? {
    guard case .transaction(let content)? = object.base as? AppleObject,
      content.originalTransactionID == subscription
    else { return nil }
    return content
  }
}
