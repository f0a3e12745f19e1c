import Base
import JSON
package import ProviderAPI
package import Stores
import Subscriptions
import Tiers

/// The only list that Google keeps: the refunded purchases of the last thirty days.
/// https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.voidedpurchases/list
extension GoogleStore {
  package var listings: [StoreListing] {
    apis.indices.map {
      StoreListing(Self.listName($0), .live, of: .deliveries, memory: .days(30))
    }
  }

  /// The oldest app's list keeps the name that it had while it was the only one.
  private static func listName(_ index: Int) -> String {
    "voided_purchases" + (index == 0 ? "" : "_\(index + 1)")
  }

  package func page(_ request: StorePageRequest) throws(APIFailure) -> StorePage {
    let index = apis.indices.first { Self.listName($0) == request.listing.name }
    guard let index else { throw Self.withoutAccount }
    return try apis[index].voided(request)
  }
}

extension GoogleAPI {
  private static let listLimits = JSONLimits(
    byteCountMax: CurlTransport.bodyByteCountMax, valueCountMax: 1 << 16)

  fileprivate func voided(_ request: StorePageRequest) throws(APIFailure) -> StorePage {
    let since = request.since.map { "&startTime=\($0.milliseconds)" } ?? ""
    let place = request.place.map { "&token=\(PercentEncoding.encode($0))" } ?? ""
    let reply = try accepted(
      authorized(
        "GET",
        root + "/purchases/voidedpurchases?type=1&maxResults=1000\(since)"
          + "&endTime=\(request.until.milliseconds)" + place, body: nil))
    let json = try reply.object(limits: Self.listLimits)
    let items = (json["voidedPurchases"].array ?? []).map { item -> StorePage.Item in
      guard var voided = try? GoogleVoidedPurchase(item) else { return .unreadable }
      voided.token.package = qualifier
      return .delivery(
        Delivery(.decoded(DecodedDelivery(voided)), proof: StoreListing.proof(by: "Google")),
        body: voided.json.encoded())
    }
    let next = json["tokenPagination"]["nextPageToken"].string
    guard next == nil || next != request.place, (next ?? "").utf8.count <= 2048 else {
      throw .malformed("a page names itself as the next one")
    }
    return StorePage(items: items, next: next)
  }
}

/// A purchase with a refunded order, as shown by the list.
struct GoogleVoidedPurchase {
  var token: PurchaseToken
  let order: String
  let voided: Instant

  init(_ json: JSON) throws(JSONError) {
    token = try json["purchaseToken"].requireToken()
    order = try json["orderId"].requireID()
    voided = Instant(milliseconds: try json["voidedTimeMillis"].requireLong())
  }

  /// The part that is stored.
  var json: JSONValue {
    [
      "purchaseToken": .string(token.text), "orderId": .string(order),
      "voidedTimeMillis": .string(String(voided.milliseconds)),
    ]
  }

  /// The prefix of such a delivery's id.
  static let prefix = "voided:"
}

extension DecodedDelivery {
  /// A reason to read the purchase and that order once, like the notification that may have been lost.
  init(_ purchase: GoogleVoidedPurchase) {
    let key = purchase.token.objectKey
    self.init(
      provider: .google, environment: .live,
      deliveryID: GoogleVoidedPurchase.prefix + purchase.order, type: "voided purchase",
      object: key.id, created: purchase.voided,
      requests: [
        ReadRequest(
          key, reason: ReadRequest.orderPrefix + purchase.order, secret: purchase.token.secret,
          isOnce: true)
      ], disposition: .recorded,
      meaning: ["object": .string(key.id), "order": .string(purchase.order)])
  }
}
