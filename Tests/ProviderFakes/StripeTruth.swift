package import Base

/// Something that a customer was sold, or given: the ground truth, written down at the till.
package struct StripeSale: Hashable, Sendable {
  package let subscription: String
  package let account: Identifier?
  package let product: String
  package let price: String
  package let from: Instant
  package let to: Instant
  package let soldAt: Instant
  package let basis: Basis

  package enum Basis: Hashable, Sendable {
    case invoice(String)
    case trial
    /// A change of price that the next invoice bills.
    case onAccount
  }
}

extension StripeWorld {
  /// The lines of an invoice just paid. Credits are no sale, nor is the announcement of a trial.
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
        from: trial.lowerBound, to: trial.upperBound, soldAt: now, basis: .trial))
  }

  private mutating func sell(_ line: Line, _ subscription: String, _ basis: StripeSale.Basis) {
    sales.append(
      StripeSale(
        subscription: subscription, account: subscriptions[subscription].account,
        product: line.price.product, price: line.price.id, from: line.period.lowerBound,
        to: line.period.upperBound, soldAt: now, basis: basis))
  }

  /// What of its sales stands now: not taken back, not exchanged, not ended early.
  func standingSales(of subscription: String) -> [StripeSale] {
    let sub = subscriptions[subscription]
    let all = sales.filter { $0.subscription == subscription }
    let standing = all.filter { !isReversed($0) }
    return standing.compactMap { sale in
      var end = sale.to
      for later in standing where isExchanged(sale, for: later) { end = min(end, later.from) }
      if let endedAt = sub.endedAt, sale.soldAt <= endedAt { end = min(end, endedAt) }
      guard sale.from < end else { return nil }
      return StripeSale(
        subscription: subscription, account: sale.account, product: sale.product,
        price: sale.price, from: sale.from, to: end, soldAt: sale.soldAt, basis: sale.basis)
    }
  }

  /// All the money of its invoice went back, or the bank took it back.
  private func isReversed(_ sale: StripeSale) -> Bool {
    guard case .invoice(let id) = sale.basis, let payment = invoices[id].payment else {
      return false
    }
    let isLost = disputes.rows.contains { $0.payment == payment && $0.status == "lost" }
    let returned = refunds.rows.filter { $0.payment == payment && $0.status == .succeeded }
      .reduce(0) { $0 + $1.amount }
    return isLost || returned >= payments[payment].amount
  }

  /// The later one gave the unused time of the earlier one back.
  private func isExchanged(_ sale: StripeSale, for later: StripeSale) -> Bool {
    sale.from < later.from && later.from < sale.to && sale.soldAt <= later.soldAt
  }
}
