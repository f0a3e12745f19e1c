import Base
import JSON
package import Stores
package import Subscriptions

extension BTCPayStore {
  package func delivered(again kept: KeptMessage) throws -> DecodedDelivery {
    // The delivery's disposition shows whether the shop was ours on arrival.
    let own = try kept.isForeign ? "" : JSON.parseForeign(kept.body)["storeId"].string ?? ""
    let delivery = BTCPayDelivery(uncheckedBody: kept.body)
    return DecodedDelivery(try BTCPayEvent(delivery, store: own))
  }

  package func answered(
    again kept: KeptMessage, to key: ObjectKey, readNumber: Int64
  ) throws -> StoreAnswer {
    var facts: [Fact] = []
    let limits = JSONLimits(byteCountMax: 1 << 26, valueCountMax: 1 << 20)
    for part in try JSON.parseForeign(kept.body, limits: limits).requireArray() {
      let date = try part["date"].requireStoredInstant()
      guard date >= Instant(milliseconds: 0) else {
        throw part["date"].failure("must be a time since 1970")
      }
      for item in try part["invoices"].requireArray() {
        let invoice = try BTCPayInvoice(item, store: item["storeId"].requireID())
        facts += BTCPayAnswer.Shown(
          id: try item["id"].requireID(), content: invoice, shownAt: date
        ).facts(of: readNumber)
      }
    }
    return StoreAnswer(facts: facts)
  }
}
