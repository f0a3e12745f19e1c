import Base

/// Items that are added to a plan and removed again, in the plan's cycle or one of their own.
extension StripeWorld {
  mutating func add(_ price: StripePrice, to id: String, _ proration: StripeProration) {
    let sub = subscriptions[id]
    precondition(sub.status == .active, "\(id) cannot grow")
    var addition = Subscription.Addition(item: newID("si"), price: price)
    guard price.interval == sub.price.interval else {
      let period = now..<now.adding(months: price.interval.monthCount)
      addition.ownPeriod = period
      var line = line(of: price, period, seed: "\(id)\(sub.invoiceCount)\(addition.item)")
      line.item = addition.item
      bill(line, id, .alwaysInvoice) { $0.additions.append(addition) }
      return scheduleEnd(of: addition, id)
    }
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

  mutating func scheduleEnd(of addition: Subscription.Addition, _ id: String) {
    guard let end = addition.ownPeriod?.upperBound else { return }
    schedule(.turnAddition(subscription: id, item: addition.item, end: end), at: end)
  }

  /// Begins the next period of an addition that has its own cycle, with its own invoice.
  mutating func turnAddition(_ id: String, _ item: String, _ end: Instant) {
    let sub = subscriptions[id]
    guard !sub.isEnded, let place = sub.additions.firstIndex(where: { $0.item == item }),
      let before = sub.additions[place].ownPeriod, before.upperBound == end
    else { return }
    var addition = sub.additions[place]
    let period = end..<end.adding(months: addition.price.interval.monthCount)
    addition.ownPeriod = period
    var line = line(of: addition.price, period, seed: "\(id)\(sub.invoiceCount)\(item)")
    line.item = item
    let invoice = addInvoice(id, "subscription_cycle", lines: [line], period: before)
    let turned = addition
    update(id) {
      $0.additions[place] = turned
      $0.latestInvoice = invoice
    }
    emit(invoice: invoice, "created")
    schedule(.finalize(invoice: invoice), at: now + StripeSettings.draftSpan)
    scheduleEnd(of: addition, id)
  }

  /// Adds the line to the next invoice, or bills it at once with its own invoice.
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

  /// The rest of the period, as a charge or a credit.
  private func rest(
    of addition: Subscription.Addition, _ sub: Subscription, isCredit: Bool
  ) -> Line {
    let period = addition.ownPeriod ?? sub.period
    let whole = (period.upperBound - period.lowerBound).milliseconds
    let left = (period.upperBound - now).milliseconds
    let amount = (addition.price.amount * left + whole / 2) / whole
    let seed = "\(settings.seed)\(sub.id)\(sub.invoiceCount)\(now.seconds)\(addition.item)"
    let words = isCredit ? "Unused time on" : "Remaining time on"
    return Line(
      id: stripeIdentifier("il", seed + words), price: addition.price,
      amount: isCredit ? -amount : amount, period: now..<period.upperBound,
      description: "\(words) \(addition.price.title)", item: addition.item, isProration: true,
      credits: isCredit ? sub.latestInvoice : nil)
  }
}

extension StripeWorld.Subscription {
  /// The plan leaves a cycle; its additions stay in it.
  mutating func separateAdditions(from period: Range<Instant>) {
    for place in additions.indices where additions[place].ownPeriod == nil {
      additions[place].ownPeriod = period
    }
  }
}
