import Base
package import Subscriptions
import Tiers

extension BTCPayRecord {
  /// The bill. If siblings disagree, the first of them counts.
  package var bill: Bill {
    let known = invoices.compactMap { id, mirror in
      mirror.contents.first.map { (id: id, content: $0) }
    }
    let newest = known.filter { $0.content.status == .settled }.max {
      ($0.content.created, $0.id) < ($1.content.created, $1.id)
    }
    return Bill(
      items: newest.map { [Bill.Item(product: $0.content.product, price: nil)] } ?? [],
      payments: known.map { id, content in
        Bill.Payment(
          content, id: id, settledAt: settlements[id]?.contents.map { $0.at }.min())
      })
  }
}

extension Bill.Payment {
  fileprivate init(_ invoice: BTCPayInvoice, id: String, settledAt: Instant?) {
    let state: State =
      switch invoice.status {
      case .settled: .paid
      case .new, .processing: .open
      case .expired, .invalid, .other: .void
      }
    let isPaid = state == .paid
    self.init(
      .init(.prepaidInvoice, id), state, word: invoice.status.text.lowercased(),
      at: (isPaid ? settledAt : nil) ?? invoice.created,
      amount: ((isPaid ? invoice.paidAmount : nil) ?? invoice.amount).map(invoice.money),
      irregular: invoice.irregular(isVoid: state == .void), product: invoice.product)
  }
}

extension BTCPayInvoice {
  fileprivate func money(_ amount: BTCPayAmount) -> Money {
    Money(amount: amount.description, currency: currency)
  }

  fileprivate func irregular(isVoid: Bool) -> Bill.Payment.Irregular? {
    guard let amount, let paidAmount, paidAmount > .zero, isVoid || paidAmount != amount else {
      return nil
    }
    return .init(asked: money(amount), came: money(paidAmount))
  }
}
