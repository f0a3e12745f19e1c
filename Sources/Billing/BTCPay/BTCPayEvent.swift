package import Base
import JSON
package import Stores
import Subscriptions

/// A decoded webhook delivery: something happened to an invoice of an account.
///
/// It is only a reason to read the account's invoices. The only fact in it is when an invoice settled.
package struct BTCPayEvent: Hashable, Sendable {
  /// The ids of the webhook and of the first delivery: the same at every redelivery.
  package let id: String
  package let type: String
  /// When the first delivery was made, in whole seconds.
  package let created: Instant
  /// Whether it is about a store other than the configured one.
  package let isForeign: Bool
  /// Nil if it concerns no invoice, or a test invoice that does not exist.
  package let invoice: String?
  /// `metadata.orderId`: the account whose invoices must be read; nil if it is not an account of ours.
  package let account: Identifier?
  package let notes: Set<BTCPayNote>
  /// Terms by which the invoice can be found, in addition to its id.
  package let terms: [SearchTerm]

  /// When the invoice settled, if the event says so.
  package var settlement: BTCPaySettlement? {
    type == "InvoiceSettled" ? account.map { BTCPaySettlement($0, at: created) } : nil
  }
}

/// Something that a decoder noticed and an operator may want to know.
package enum BTCPayNote: String, Hashable, Sendable, CaseIterable {
  /// An event that this decoder does not know. It causes a read all the same.
  case unknownType = "unknown_type"
  /// An operator created a claim link for a refund. Nothing has been paid back yet.
  case refundOffered = "refund_offered"
  /// The order's name is not an account of ours, so no one gets the purchase.
  case malformedAccount = "malformed_account"
  /// An account has more invoices than one read takes.
  case listCutShort = "list_cut_short"
}

extension BTCPayEvent {
  /// Accepts unknown members and types, but requires valid names of delivery, store and invoice.
  package init(_ delivery: BTCPayDelivery, store: String) throws(UndecodableDelivery) {
    let json: JSON
    do { json = try JSON.parseForeign(delivery.body) } catch {
      throw UndecodableDelivery(id: nil, error)
    }
    do { try self.init(json, store: store) } catch {
      throw UndecodableDelivery(id: try? Self.id(json), error)
    }
  }

  private init(_ json: JSON, store: String) throws(JSONError) {
    id = try Self.id(json)
    let type = try json["type"].requireID()
    self.type = type
    created = try json["timestamp"].requireInstant()
    isForeign = try json["storeId"].requireID() != store
    invoice = try json["invoiceId"].optionalID().flatMap { Self.isTest($0) ? nil : $0 }
    account = invoice == nil ? nil : json["metadata"].account
    var notes: Set<BTCPayNote> = []
    if invoice != nil, account == nil { notes.insert(.malformedAccount) }
    if !Self.types.contains(type) { notes.insert(.unknownType) }
    if type == "InvoiceRefund" { notes.insert(.refundOffered) }
    self.notes = notes
    let key = invoice.map { ObjectKey(.prepaidInvoice, $0) }
    terms =
      key.map { key in
        ["buyerEmail", "buyerName"].compactMap {
          SearchTerm(json["metadata"][$0].string, of: key, isPersonal: true)
        }
      } ?? []
  }

  /// A request to read what the account prepaid, for an event that names the account but cannot be decoded.
  static func requests(naming json: JSON, store: String) -> [ReadRequest] {
    guard json["storeId"].string == store, let account = json["metadata"].account else { return [] }
    return [.undecodable(ObjectKey(.prepaid, account.description))]
  }

  /// Two webhooks with the same address send an event each, from the same server.
  private static func id(_ json: JSON) throws(JSONError) -> String {
    let webhook = try json["webhookId"].optionalID() ?? ""
    if let original = try json["originalDeliveryId"].optionalID() {
      return "\(webhook):\(original)"
    }
    return "\(webhook):\(try json["deliveryId"].requireID())"
  }

  /// "Send test event" of servers before 2.3 makes up an invoice.
  private static func isTest(_ invoice: String) -> Bool {
    invoice.hasPrefix("__test__") && invoice.hasSuffix("__test__")
  }

  /// The types of server 2.4, including those that concern no invoice.
  private static let types: Set = [
    "InvoiceCreated", "InvoiceReceivedPayment", "InvoicePaymentSettled", "InvoiceProcessing",
    "InvoiceSettled", "InvoiceExpired", "InvoiceExpiredPaidPartial", "InvoicePaidAfterExpiration",
    "InvoiceInvalid", "InvoiceRefund", "PayoutCreated", "PayoutApproved", "PayoutUpdated",
    "PaymentRequestCreated", "PaymentRequestUpdated", "PaymentRequestArchived",
    "PaymentRequestStatusChanged", "PaymentRequestCompleted",
  ]
}
