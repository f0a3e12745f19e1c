import JSON
import Stores

/// Decodes `InvoiceData` of the Greenfield API into what is stored of it.
extension BTCPayInvoice {
  /// `store` is the configured store's id. Invoices of other stores are refused.
  init(_ json: JSON, store: String) throws(JSONError) {
    guard try json["storeId"].requireID() == store else {
      throw json["storeId"].failure("must be the store that was asked")
    }
    // A top-up settles with whatever is paid, so no amount was asked for.
    let isTopUp = json["type"].string == "TopUp"
    let amount = try json["amount"].optionalAmount()
    // What came does not affect access, so an unreadable amount counts as none. Fees can make it negative.
    let paidAmount = try? json["paidAmount"].optionalAmount()
    let additional = json["additionalStatus"].string.map {
      AdditionalStatus(rawValue: $0) ?? .other
    }
    self.init(
      account: json["metadata"].account,
      product: try? json["metadata"]["itemCode"].requireID(), amount: isTopUp ? nil : amount,
      currency: try json["currency"].requireID(),
      paidAmount: paidAmount,
      status: Status(try json["status"].requireID()), additional: additional ?? .nothing,
      created: try json["createdTime"].requireInstant())
  }

  /// The members that may ever be read, as received. The rest may be about the payer.
  static func kept(of json: JSON) -> JSONValue {
    func members(_ names: [String], of json: JSON) -> [JSONValue.Member] {
      names.compactMap { name in JSONValue(json[name]).map { .init(name, $0) } }
    }
    let own = [
      "id", "storeId", "type", "amount", "paidAmount", "currency", "status", "additionalStatus",
      "createdTime", "expirationTime", "monitoringExpiration", "archived",
    ]
    let metadata = members(["orderId", "itemCode"], of: json["metadata"])
    return .object(members(own, of: json) + [.init("metadata", .object(metadata))])
  }
}
