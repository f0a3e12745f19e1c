internal import Base

/// Items that come beside a plan and go again, in the plan's cycle.
extension StripeWorld {
  mutating func add(_ price: StripePrice, to id: String, _ proration: StripeProration) {
    let sub = subscriptions[id]
    precondition(sub.status == .active && price.interval == sub.price.interval, "\(id) cannot grow")
    let addition = Subscription.Addition(item: newID("si"), price: price)
    var line = rest(of: addition, sub, isCredit: false)
    if proration == .nextInvoice {
      sell(onAccount: line, subscription: id)
      line.isSold = true
    }
    bill(line, id, proration) { $0.additions.append(addition) }
  }

  mutating func remove(_ price: StripePrice, from id: String, _ proration: StripeProration) {
    let sub = subscriptions[id]
    guard let addition = sub.additions.first(where: { $0.price == price }) else {
      preconditionFailure("\(id) has no \(price.title)")
    }
    removals[addition.item] = now
    bill(rest(of: addition, sub, isCredit: true), id, proration) {
      $0.additions.removeAll { $0.item == addition.item }
    }
  }

  /// The line waits for the next invoice, or has one of its own at once.
  private mutating func bill(
    _ line: Line, _ id: String, _ proration: StripeProration,
    _ change: (inout Subscription) -> Void
  ) {
    guard proration != .nextInvoice else {
      return update(id, isAsked: true) {
        change(&$0)
        $0.waitingLines.append(line)
      }
    }
    let invoice = addInvoice(id, "subscription_update", lines: [line])
    emit(invoice: invoice, "created", isAsked: true)
    finalizeQuietly(invoice)
    emit(invoice: invoice, "finalized")
    let pays =
      invoices[invoice].amountDue == 0 || customers[subscriptions[id].customer].card == .works
    update(id, isAsked: true) {
      change(&$0)
      $0.latestInvoice = invoice
      if !pays { $0.status = .pastDue }
    }
    attempt(invoice)
  }

  /// The rest of the period, to be paid or given back.
  private func rest(
    of addition: Subscription.Addition, _ sub: Subscription, isCredit: Bool
  ) -> Line {
    let whole = (sub.period.upperBound - sub.period.lowerBound).milliseconds
    let left = (sub.period.upperBound - now).milliseconds
    let amount = (addition.price.amount * left + whole / 2) / whole
    let seed = "\(settings.seed)\(sub.id)\(sub.invoiceCount)\(now.seconds)\(addition.item)"
    let words = isCredit ? "Unused time on" : "Remaining time on"
    return Line(
      id: stripeIdentifier("il", seed + words), price: addition.price,
      amount: isCredit ? -amount : amount, period: now..<sub.period.upperBound,
      description: "\(words) \(addition.price.title)", item: addition.item, isProration: true,
      credits: isCredit ? sub.latestInvoice : nil)
  }
}
