import Base
import JSON
package import ProviderAPI
package import Stores
import Subscriptions
import Tiers

/// The lists in which the App Store repeats its notifications of half a year, beginning with those that did
/// not arrive. https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
extension AppleStore {
  package var listings: [StoreListing] {
    StoreEnvironment.allCases.flatMap { environment in
      (apis[environment] ?? []).indices.flatMap { index in
        ["failures", "notifications"].map {
          StoreListing(
            Self.name(environment, $0, index), environment, of: .deliveries, memory: .days(180))
        }
      }
    }
  }

  /// The first app's lists keep the names that they had while it was the only one.
  private static func name(
    _ environment: StoreEnvironment, _ list: String, _ index: Int
  ) -> String {
    "\(environment.rawValue)_\(list)" + (index == 0 ? "" : "_\(index + 1)")
  }

  package func page(_ request: StorePageRequest) throws(APIFailure) -> StorePage {
    let environment = request.listing.environment
    for (index, api) in (apis[environment] ?? []).enumerated() {
      for list in ["failures", "notifications"]
      where request.listing.name == Self.name(environment, list, index) {
        return try api.history(request, onlyFailures: list == "failures")
      }
    }
    throw Self.withoutKey
  }
}

extension AppleAPI {
  private static let limits = JSONLimits(
    byteCountMax: CurlTransport.bodyByteCountMax, valueCountMax: 1 << 16)

  fileprivate func history(
    _ request: StorePageRequest, onlyFailures: Bool
  ) throws(APIFailure) -> StorePage {
    var fields: [JSONValue.Member] = [.init("endDate", .integer(request.until.milliseconds))]
    if let since = request.since {
      fields.append(.init("startDate", .integer(since.milliseconds)))
    }
    if onlyFailures { fields.append(.init("onlyFailures", .bool(true))) }
    let place = request.place.map { "?paginationToken=\(PercentEncoding.encode($0))" } ?? ""
    let reply = try send("POST", "/inApps/v1/notifications/history" + place, .object(fields))
    let json = try reply.object(limits: Self.limits)
    let items = try malformed { () throws(JSONError) in
      try json["notificationHistory"].requireArray().map {
        (item) throws(JSONError) -> StorePage.Item in
        self.item(try item["signedPayload"].requireString(), at: request.until)
      }
    }
    guard json["hasMore"].bool == true else { return StorePage(items: items, next: nil) }
    guard let next = json["paginationToken"].string, next != request.place,
      1...1024 ~= next.utf8.count
    else { throw .malformed("a page that is not the last names no next one") }
    return StorePage(items: items, next: next)
  }

  /// The notification, verified and decoded as if it had been delivered.
  private func item(_ text: String, at now: Instant) -> StorePage.Item {
    guard let verified = try? verifier.verify(signedPayload: text, now: now) else {
      return .unreadable
    }
    let proof = StoreListing.proof(
      by: "Apple", "signed under the certificate \(verified.certificate)")
    return .delivery(Delivery(Delivery.Content(verified), proof: proof), body: verified.body)
  }
}
