package import Base

/// A period that was sold or given to a customer: the ground truth, recorded at the sale.
package struct StripeSale: Hashable, Sendable {
  package let subscription: String
  package let account: Identifier?
  package let product: String
  package let price: String
  package let from: Instant
  package let to: Instant
  package let soldAt: Instant
  package let basis: Basis
  /// The subscription's item that bills it.
  package let item: String

  package enum Basis: Hashable, Sendable {
    case invoice(String)
    case trial
    /// A change of price that the next invoice bills.
    case onAccount
  }
}

extension StripeWorld {
  /// Records the lines of an invoice just paid. Credits are not sales, nor is the announcement of a trial.
  mutating func sell(invoice id: String) {
    let invoice = invoices[id]
    for line in invoice.lines where line.amount > 0 && !line.isSold {
      sell(line, invoice.subscription, .invoice(id))
    }
  }

  mutating func sell(onAccount line: Line, subscription: String) {
    sell(line, subscription, .onAccount)
  }

  mutating func sell(trialOf id: String) {
    let sub = subscriptions[id]
    guard let trial = sub.trial else { return }
    sales.append(
      StripeSale(
        subscription: id, account: sub.account, product: sub.price.product, price: sub.price.id,
        from: trial.lowerBound, to: trial.upperBound, soldAt: now, basis: .trial, item: sub.item))
  }

  private mutating func sell(_ line: Line, _ subscription: String, _ basis: StripeSale.Basis) {
    sales.append(
      StripeSale(
        subscription: subscription, account: subscriptions[subscription].account,
        product: line.price.product, price: line.price.id, from: line.period.lowerBound,
        to: line.period.upperBound, soldAt: now, basis: basis,
        item: line.item ?? subscriptions[subscription].item))
  }

  /// The part of a subscription's sales that is valid now: until a refund, an exchange, or an early end.
  func activeSales(of subscription: String) -> [StripeSale] {
    let endedAt = subscriptions[subscription].endedAt
    let all = sales.filter { $0.subscription == subscription }
    return all.flatMap { sale -> [StripeSale] in
      let exchanges = all.filter { isExchanged(sale, for: $0) }
      var end = min(sale.to, reversedAt(sale) ?? .distantFuture)
      if let removedAt = removals[sale.item], sale.soldAt <= removedAt {
        end = min(end, removedAt)
      }
      if let endedAt, sale.soldAt <= endedAt { end = min(end, endedAt) }
      var from = sale.from
      var pieces: [Range<Instant>] = []
      for later in exchanges.sorted(by: { $0.from < $1.from }) {
        if from < min(later.from, end) { pieces.append(from..<min(later.from, end)) }
        // After the later sale was refunded, the rest of the earlier one is owed again.
        from = max(from, reversedAt(later) ?? .distantFuture)
      }
      if from < end { pieces.append(from..<end) }
      return pieces.map { sale.during($0) }
    }
  }

  /// When the last of its invoice's money left us, by refunds or by a lost dispute.
  private func reversedAt(_ sale: StripeSale) -> Instant? {
    guard case .invoice(let id) = sale.basis, let payment = invoices[id].payment else { return nil }
    let lost = disputes.rows.first { $0.payment == payment && $0.isLost }?.created
    var rest = payments[payment].amount
    for refund in refunds.rows where refund.payment == payment && refund.status == .succeeded {
      rest -= refund.amount
      if rest <= 0 { return min(refund.created, lost ?? refund.created) }
    }
    return lost
  }

  /// Whether the later sale credited the unused time of the earlier one.
  private func isExchanged(_ sale: StripeSale, for later: StripeSale) -> Bool {
    sale.item == later.item && sale.from < later.from && later.from < sale.to
      && sale.soldAt <= later.soldAt
  }
}

extension StripeWorld.Dispute {
  /// An appeal changes nothing until it is decided.
  fileprivate var isLost: Bool { status == "lost" || status.hasPrefix("appeal") }
}

extension StripeSale {
  fileprivate func during(_ period: Range<Instant>) -> StripeSale {
    StripeSale(
      subscription: subscription, account: account, product: product, price: price,
      from: period.lowerBound, to: period.upperBound, soldAt: soldAt, basis: basis, item: item)
  }
}
