import Base
import JSON
package import Stores
package import Subscriptions

extension GoogleStore {
  package func delivered(again kept: KeptMessage) throws -> DecodedDelivery {
    let json = try JSON.parseForeign(kept.body)
    if kept.deliveryID.hasPrefix("client:") {
      return DecodedDelivery(claimed: try json["token"].requireToken(), at: kept.received)
    }
    if kept.deliveryID.hasPrefix(GoogleVoidedPurchase.prefix) {
      return DecodedDelivery(try GoogleVoidedPurchase(json))
    }
    let data = try json["message"]["data"].requireString()
    let named = Base64.standard.decode(data).flatMap {
      try? JSON.parseForeign($0)["packageName"].string
    }
    // The delivery's disposition shows whether the app was ours on arrival.
    let own = kept.isForeign ? [] : [named].compactMap { $0 }
    return DecodedDelivery(
      try GoogleNotification(VerifiedPush(uncheckedBody: kept.body, packages: own)))
  }

  package func answered(
    again kept: KeptMessage, to key: ObjectKey, readNumber: Int64
  ) throws -> StoreAnswer {
    var decoder = PurchaseDecoder(readNumber: readNumber, now: kept.received)
    let token = PurchaseToken(of: key)
    let limits = JSONLimits(byteCountMax: 1 << 26, valueCountMax: 1 << 18)
    for part in try JSON.parseForeign(kept.body, limits: limits).requireArray() {
      decoder.package = part["package"].string
      if try part["path"].requireString().hasPrefix("/orders/") {
        do { try decoder.readOrder(part["answer"], of: token) } catch {
          decoder.note(.orderMissing)
        }
      } else {
        try decoder.readPurchase(part["answer"], of: token)
      }
    }
    return StoreAnswer(facts: decoder.facts, notes: Set(decoder.notes.map(\.rawValue)))
  }
}
