import Base
import Subscriptions
import Tiers

/// Coverage of one account's invoices, each a prepaid period.
///
/// An invoice counts in its latest known state: one that an operator marks invalid was never paid, and the
/// periods after it move up.
struct BTCPayFold {
  let invoices: [Invoice]
  let catalogue: Catalogue

  struct Invoice {
    let id: String
    let content: BTCPayInvoice
    let settledAt: Instant?

    /// An invoice that settled before any report of it begins when it was created.
    var begins: Instant { settledAt ?? content.created }
  }

  /// The purchase of an invoice.
  private struct Sale {
    let invoice: Invoice
    let plan: Plan
    let monthCount: Int64
  }

  func coverage() -> Coverage {
    let sales = invoices.compactMap { sale($0) }.sorted {
      ($0.invoice.begins, $0.invoice.content.created, $0.invoice.id)
        < ($1.invoice.begins, $1.invoice.content.created, $1.invoice.id)
    }
    // An addition to a plan does not wait for the plan's end.
    let queues = Dictionary(grouping: sales) { $0.plan.isAddition ? $0.plan.id : nil }
    let intervals = queues.values.flatMap { queue($0) }
    return Coverage(
      intervals: intervals, endings: endings(of: intervals),
      alarms: Set(invoices.flatMap { alarms($0) }))
  }

  /// The periods one after the other: each begins when its invoice settled, or at the end of the
  /// period before.
  ///
  /// Months are counted from the start of an unbroken row, so that a 31st returns after February.
  private func queue(_ sales: [Sale]) -> [Coverage.Interval] {
    var intervals: [Coverage.Interval] = []
    var (anchor, monthCount) = (Instant.distantPast, Int64(0))
    for sale in sales {
      if sale.invoice.begins >= intervals.last?.to ?? .distantPast {
        (anchor, monthCount) = (sale.invoice.begins, 0)
      }
      let start = intervals.last.map { max($0.to, anchor) } ?? anchor
      monthCount += sale.monthCount
      intervals.append(
        Coverage.Interval(
          planID: sale.plan.id, from: start, to: anchor.adding(calendarMonths: monthCount),
          why: .subscribed, evidence: .init(.prepaidInvoice, sale.invoice.id)))
    }
    return intervals
  }

  /// Ends that no period follows, and the starts of periods that were taken back.
  private func endings(of intervals: [Coverage.Interval]) -> [Schedule.Ending] {
    let ends = intervals.map { Schedule.Ending(at: $0.to, reason: .lapsed) }
    let revoked = invoices.compactMap { invoice in
      invoice.content.status == .invalid
        ? invoice.settledAt.map { Schedule.Ending(at: $0, reason: .refunded) } : nil
    }
    return (ends + revoked).filter { ending in
      !intervals.contains { $0.from <= ending.at && ending.at < $0.to }
    }
  }

  // MARK: what an invoice is worth

  /// The sale of an invoice; nil unless it is settled, at the price of the product that it names.
  ///
  /// Anyone who may create invoices writes the metadata, at worst a customer. The price is what a customer
  /// cannot make up: the invoice must have asked for at least that amount, in that currency.
  private func sale(_ invoice: Invoice) -> Sale? {
    guard invoice.content.status == .settled, let product = invoice.content.product,
      let plan = plan(invoice),
      let price = catalogue.prices(provider: ObjectKey.Provider.btcpay.rawValue, id: product)
        .first(where: { invoice.content.meets($0) })
    else { return nil }
    return Sale(invoice: invoice, plan: plan, monthCount: price.interval == .month ? 1 : 12)
  }

  private func mapping(_ invoice: Invoice) -> Catalogue.Mapping {
    catalogue.mapping(
      provider: ObjectKey.Provider.btcpay.rawValue, price: invoice.content.product, product: nil)
  }

  /// There is no fallback, because an unknown product has no price to check.
  private func plan(_ invoice: Invoice) -> Plan? {
    switch mapping(invoice) {
    case .plan(let plan), .kept(let plan, _): plan
    case .ignored, .unknown: nil
    }
  }

  // MARK: alarms

  private func alarms(_ invoice: Invoice) -> [Coverage.Alarm] {
    switch (invoice.content.status, invoice.content.additional) {
    case (.settled, _): return alarmsOfSettled(invoice)
    case (.expired, .paidPartial): return [irregular(.partial, invoice)]
    case (.expired, .paidLate): return [irregular(.late, invoice)]
    case (.invalid, .marked): return []
    case (.invalid, _): return [irregular(.unconfirmed, invoice)]
    case (.other(let status), _): return [.unknownStatus(status)]
    case (.new, _), (.processing, _), (.expired, _): return []
    }
  }

  private func alarmsOfSettled(_ invoice: Invoice) -> [Coverage.Alarm] {
    let content = invoice.content
    var alarms: [Coverage.Alarm] = []
    switch mapping(invoice) {
    case .ignored: return []
    case .unknown: return [.unknownProduct(price: content.product, product: nil)]
    case .kept(_, let id): alarms = [.unmappedProduct(id)]
    case .plan: break
    }
    guard sale(invoice) != nil else { return alarms + [irregular(.wrongPrice, invoice)] }
    if content.additional == .paidOver { return alarms + [irregular(.surplus, invoice)] }
    // The store's tolerance accepted less than the full amount.
    if content.additional != .marked, let paid = content.paidAmount, let amount = content.amount,
      paid < amount
    {
      return alarms + [irregular(.short, invoice)]
    }
    return alarms
  }

  private func irregular(
    _ irregularity: Coverage.Irregularity, _ invoice: Invoice
  ) -> Coverage.Alarm {
    .irregularPayment(irregularity, object: invoice.id)
  }
}

extension BTCPayInvoice {
  /// Whether it asked for an amount above zero that is at least a price of the catalogue.
  fileprivate func meets(_ price: Plan.Price) -> Bool {
    guard let amount, amount > .zero, currency.lowercased() == price.currency else { return false }
    let exponent = MinorUnits.exponent(of: price.currency)
    return amount >= BTCPayAmount(minorUnits: price.amountMinorUnits, exponent: exponent)
  }
}
