import Base
import JSON
package import ProviderAPI
package import Stores
import Subscriptions
import Tiers

/// The list in which a BTCPay server shows every invoice as it is now.
extension BTCPayStore {
  package var listings: [StoreListing] {
    api == nil ? [] : [StoreListing("invoices", .live, of: .objects)]
  }

  package func page(_ request: StorePageRequest) throws(APIFailure) -> StorePage {
    guard let api else { throw .misconfigured("there is no key of a BTCPay server") }
    return try api.page(request)
  }
}

extension BTCPayAPI {
  /// An operator may mark an invoice, and a late payment settle it, long after its creation.
  private static let changingSpan = Instant.Span.days(60)

  /// Newest first, so an invoice that is created in the meantime repeats one and hides none.
  fileprivate func page(_ request: StorePageRequest) throws(APIFailure) -> StorePage {
    guard let start = Int(request.place ?? "0"), start >= 0 else {
      throw .malformed("no such page")
    }
    let since = request.since.map { "&startDate=\(($0 - Self.changingSpan).seconds)" } ?? ""
    let (json, date) = try get(
      "?includeArchived=true&skip=\(start)&take=\(Self.pageLength)" + since)
    let list = try malformed { () throws(JSONError) in try json.requireArray() }
    let items = list.compactMap { json -> StorePage.Item? in
      guard let id = json["id"].string, isID(id),
        let invoice = try? BTCPayInvoice(json, store: store)
      else { return .unreadable }
      // An order that names no account of ours belongs to no one.
      guard let account = invoice.account else { return nil }
      let shown = BTCPayAnswer.Shown(id: id, content: invoice, shownAt: date).facts(of: 0)
      return .object(
        ObjectKey(.prepaid, account.description),
        shown: shown.filter { $0.key.kind == .prepaidInvoice })
    }
    let isLast = list.count < Self.pageLength
    return StorePage(items: items, next: isLast ? nil : String(start + list.count))
  }
}
