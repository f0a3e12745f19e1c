internal import Base
package import Subscriptions
internal import Tiers

extension GoogleRecord {
  /// Where siblings disagree, what the first of them says.
  package var bill: Bill {
    let known = orders.compactMap { id, mirror in
      mirror.contents.first.map { (id: id, content: $0) }
    }
    let product = purchase.contents.first?.items.first?.productID
    let start = purchase.contents.compactMap { $0.startTime }.min() ?? .distantPast
    return Bill(
      items: purchase.contents.first?.items.map {
        Bill.Item(product: $0.productID, price: $0.basePlanID, isLeaving: $0.isLeaving)
      } ?? [],
      payments: known.map { id, order in
        Bill.Payment(
          .init(.order, id), order.state == .pending ? .open : .paid,
          word: order.state.rawValue.lowercased(), at: order.created ?? start,
          amount: order.total, product: product)
      },
      reversals: known.compactMap { id, order in
        Bill.Reversal(order, id: id, at: order.created ?? start)
      })
  }
}

extension Bill.Reversal {
  /// The store does not tell when: the time is the order's own.
  fileprivate init?(_ order: GoogleOrder, id: String, at moment: Instant) {
    let state: State
    switch order.state {
    case .pending, .processed, .other: return nil
    case .pendingRefund: state = .open
    case .canceled, .partiallyRefunded, .refunded: state = .done
    }
    self.init(
      .init(.order, id), .refund, state, word: order.state.rawValue.lowercased(), at: moment,
      amount: order.state == .refunded || order.state == .canceled ? order.total : nil)
  }
}
