import Base
package import Subscriptions

extension GoogleRecord {
  /// The bill. If siblings disagree, the first of them counts.
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
      next: purchase.contents.first?.deferred.map {
        Bill.Item(product: $0.productID, price: $0.basePlanID)
      },
      payments: known.map { id, order in
        Bill.Payment(
          .init(.order, id), Bill.Payment.State(order.state),
          word: order.state.rawValue.lowercased(), at: order.created ?? start,
          amount: order.total, product: order.line?.productID ?? product,
          price: order.line?.price, from: order.line?.from, to: order.line?.to)
      },
      reversals: known.flatMap { id, order in
        order.refunds.isEmpty
          ? Bill.Reversal(order, id: id, at: order.created ?? start).map { [$0] } ?? []
          : order.refunds.map { Bill.Reversal($0, of: order, id: id) }
      })
  }
}

extension Bill.Payment.State {
  /// A cancelled order was cancelled before anything was paid.
  fileprivate init(_ state: GoogleOrder.State) {
    switch state {
    case .pending: self = .open
    case .canceled: self = .void
    case .processed, .pendingRefund, .partiallyRefunded, .refunded, .other: self = .paid
    }
  }
}

extension GoogleOrder.Line {
  /// The price as listed in a catalogue: `premium:monthly`.
  fileprivate var price: String? { basePlanID.map { "\(productID):\($0)" } }
}

extension Bill.Reversal {
  fileprivate init(_ refund: GoogleOrder.Refund, of order: GoogleOrder, id: String) {
    self.init(
      .init(.order, id), .refund, .done, word: order.state.rawValue.lowercased(), at: refund.at,
      amount: refund.total, of: .init(.order, id))
  }

  /// For a refund that the order's history does not show. Its time is the order's own.
  fileprivate init?(_ order: GoogleOrder, id: String, at moment: Instant) {
    let state: State
    switch order.state {
    case .pending, .processed, .canceled, .other: return nil
    case .pendingRefund: state = .open
    case .partiallyRefunded, .refunded: state = .done
    }
    self.init(
      .init(.order, id), .refund, state, word: order.state.rawValue.lowercased(), at: moment,
      amount: order.state == .refunded ? order.total : nil,
      of: .init(.order, id))
  }
}
