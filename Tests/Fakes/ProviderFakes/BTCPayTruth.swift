package import Base

/// What one invoice really sold to one account: the oracle that a reader's conclusions are compared with.
package struct BTCPayTruth: Hashable, Sendable {
  package let invoice: String
  package let product: BTCPayProduct
  package let from: Instant
  package let to: Instant
}

extension FakeBTCPay {
  /// The sales of an account by the invoices that were settled at `moment`, and no later ones.
  ///
  /// The oracle's method: it starts from the beginning and adds up the sales that have not been taken back,
  /// in the order in which they were settled.
  package func truths(of account: Identifier, asOf moment: Instant? = nil) -> [BTCPayTruth] {
    let moment = moment ?? clock.now
    return sales(account, asOf: moment) { invoice, _ in
      invoice.settlements.first { $0.isSettled && $0.at <= moment }?.at
    }
  }

  /// The same as far as our server could know, from the deliveries that it accepted and the answers that it
  /// got. If a delivery was lost, an answer reports the settlement late.
  package func truthsAsHeard(of account: Identifier) -> [BTCPayTruth] {
    sales(account, asOf: clock.now) { invoice, heard in heard[invoice.id] }
  }

  private func sales(
    _ account: Identifier, asOf moment: Instant,
    _ settled: (BTCPayWorld.Invoice, [String: Instant]) -> Instant?
  ) -> [BTCPayTruth] {
    act { state in
      var rung: [(at: Instant, invoice: BTCPayWorld.Invoice, product: BTCPayProduct)] = []
      for invoice in state.world.invoices where invoice.orderID == account.description {
        let stands = invoice.settlements.last { $0.at <= moment }?.isSettled ?? false
        guard stands, let product = invoice.sale, product.months > 0,
          let at = settled(invoice, state.heard)
        else { continue }
        rung.append((at, invoice, product))
      }
      rung.sort {
        ($0.at, $0.invoice.created, $0.invoice.id) < ($1.at, $1.invoice.created, $1.invoice.id)
      }
      return Self.ringUp(rung.map { ($0.at, $0.invoice.id, $0.product) })
    }
  }

  /// One account's paid time for plans, or for one addition. It runs out unless something is paid.
  private struct Meter {
    var began: Instant
    var months: Int64
    var end: Instant { began.adding(months: months) }
  }

  private static func ringUp(_ sales: [(Instant, String, BTCPayProduct)]) -> [BTCPayTruth] {
    var meters: [String: Meter] = [:]
    return sales.map { at, invoice, product in
      let line = product.isAddition ? product.plan : ""
      var meter = meters[line] ?? Meter(began: at, months: 0)
      if meter.end <= at { meter = Meter(began: at, months: 0) }
      let from = meter.end
      meter.months += product.months
      meters[line] = meter
      return BTCPayTruth(invoice: invoice, product: product, from: from, to: meter.end)
    }
  }

  /// The periods that an account has paid for, without everything that was taken back.
  package func paidPeriods(of account: Identifier) -> [PaidPeriod] {
    truths(of: account).map {
      PaidPeriod(account: account, productID: $0.product.itemCode, from: $0.from, to: $0.to)
    }
  }
}
