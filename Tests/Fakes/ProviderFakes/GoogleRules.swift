import Base

/// The effects of time: renewals, their failures, pauses and ends.
extension GooglePlay {
  /// Performs the next step that is due for one purchase.
  mutating func step(_ token: String) {
    let sale = self[token]
    if sale.acknowledged == nil, let deadline = sale.acknowledgeBy, deadline <= now {
      revoke(token, .unacknowledged)
      return
    }
    switch sale.state {
    case .pending, .pendingPurchaseCanceled, .expired: return
    case .active where sale.trouble != nil: endSilence(token)
    case .active: endPeriod(token)
    case .inGracePeriod: hold(token)
    case .onHold: giveUp(token)
    case .paused: resume(token)
    case .canceled: expire(token)
    }
  }

  private mutating func endPeriod(_ token: String) {
    let now = now
    let sale = self[token]
    if let pause = sale.scheduledPause {
      update(token) {
        $0.state = .paused
        $0.scheduledPause = nil
        $0.resumesAt = now + pause
      }
      notify(token, 10)
    } else if !sale.isAutoRenewing {
      expire(token)
    } else if sale.isTest, sale.renewalCount == GoogleTerms.renewalsOfTestMax {
      cancel(token, .system)
    } else if sale.hasWorkingCard {
      replaceItems(token)
      charge(token, from: now, order: nil)
      notify(token, 2)
    } else {
      decline(token)
    }
  }

  /// Applies what was planned for the renewal: another plan, or one item less.
  private mutating func replaceItems(_ token: String) {
    let now = now
    update(token) { sale in
      sale.items.removeAll { $0.isLeaving || $0.next != nil || ($0.expiry ?? now) < now }
      for index in sale.items.indices { sale.items[index].isTrial = false }
    }
  }

  /// Charges one period of every item and opens it.
  mutating func charge(_ token: String, from start: Instant, order pending: String?) {
    let id = pending ?? nextOrderID(token)
    update(token) { sale in
      let end = sale.terms.end(sale.plan.period, from: start)
      sale.renewalCount += 1
      sale.state = .active
      sale.trouble = nil
      sale.pendingOrder = nil
      sale.resumesAt = nil
      for index in sale.items.indices {
        sale.items[index].expiry = end
        sale.items[index].order = id
        sale.items[index].isTrial = false
        sale.paid.append(
          .init(productID: sale.items[index].plan.productID, orderID: id, from: start, to: end))
      }
    }
    put(makeOrder(id, token, from: start, .processed))
  }

  func nextOrderID(_ token: String) -> String {
    "\(self[token].firstOrder)..\(self[token].renewalCount)"
  }

  func makeOrder(
    _ id: String, _ token: String, from start: Instant, _ state: GoogleCharge.State
  ) -> GoogleCharge {
    let sale = self[token]
    let lines = sale.items.map { item in
      GoogleCharge.Line(
        plan: item.plan, from: start, to: sale.terms.end(item.plan.period, from: start))
    }
    let total = sale.items.reduce(0) { $0 + ($1.isTrial ? 0 : $1.plan.price.cents) }
    return GoogleCharge(
      id: id, token: token, created: orders[id]?.created ?? now, changed: now, state: state,
      total: GoogleMoney(cents: total, currency: sale.plan.price.currency), lines: lines)
  }

  // MARK: a declined renewal

  private mutating func decline(_ token: String) {
    let now = now
    let order = nextOrderID(token)
    update(token) { sale in
      let end = now + sale.terms.silence
      sale.trouble = .init(declined: now, until: end)
      sale.pendingOrder = order
      for item in sale.items {
        sale.graces.append(
          .init(productID: item.plan.productID, orderID: order, from: now, to: end))
      }
    }
    put(makeOrder(order, token, from: now, .pending))
  }

  /// The silent retries failed, too: from now on Google reports the failure.
  private mutating func endSilence(_ token: String) {
    let now = now
    let sale = self[token]
    let end = sale.trouble!.declined + sale.terms.grace(sale.plan)
    guard now < end else {
      hold(token)
      return
    }
    update(token) { sale in
      sale.state = .inGracePeriod
      sale.trouble!.until = end
      sale.setExpiry(end)
      sale.graces = sale.graces.map { grace in
        guard grace.to == now else { return grace }
        return .init(productID: grace.productID, orderID: grace.orderID, from: grace.from, to: end)
      }
    }
    notify(token, 6)
  }

  private mutating func hold(_ token: String) {
    update(token) { sale in
      sale.state = .onHold
      sale.trouble!.until = sale.trouble!.declined + sale.terms.recovery(sale.plan)
    }
    notify(token, 5)
  }

  private mutating func giveUp(_ token: String) {
    if let order = self[token].pendingOrder { updateOrder(order, to: .canceled) }
    if let item = self[token].trouble?.item { return goOnWithout(item, token) }
    cancel(token, .system)
  }

  /// The card works again: the open amount and further renewals are paid.
  mutating func repairCard(_ token: String) {
    let now = now
    let sale = self[token]
    update(token) { $0.hasWorkingCard = true }
    guard let trouble = sale.trouble, sale.state != .canceled else { return }
    if let item = trouble.item { return payFor(item, token, trouble) }
    let order = sale.pendingOrder
    if sale.state == .onHold {
      charge(token, from: now, order: order)
      notify(token, 1)
    } else {
      update(token) { sale in
        sale.graces = sale.graces.map {
          .init(
            productID: $0.productID, orderID: $0.orderID, from: $0.from, to: min($0.to, now))
        }
      }
      charge(token, from: trouble.declined, order: order)
      notify(token, 2)
    }
  }

  // MARK: pauses and ends

  mutating func resume(_ token: String) {
    let now = now
    let sale = self[token]
    precondition(sale.state == .paused, "only what is paused resumes")
    if sale.hasWorkingCard {
      charge(token, from: now, order: nil)
      notify(token, 1)
      return
    }
    let order = nextOrderID(token)
    update(token) { sale in
      sale.state = .onHold
      sale.resumesAt = nil
      sale.pendingOrder = order
      let span = sale.terms.recovery(sale.plan).milliseconds
      sale.trouble = .init(
        declined: now,
        until: now + .milliseconds(span - sale.terms.grace(sale.plan).milliseconds))
    }
    put(makeOrder(order, token, from: now, .pending))
    notify(token, 5)
  }

  /// Ends the renewals. If no paid time is left, the expiry follows shortly.
  mutating func cancel(_ token: String, _ cancellation: GoogleSale.Cancellation) {
    let now = now
    update(token) { sale in
      let isOver = sale.expiry.map { $0 <= now } ?? true
      sale.state = .canceled
      sale.cancellation = cancellation
      sale.isAutoRenewing = false
      sale.scheduledPause = nil
      sale.resumesAt = nil
      sale.pendingOrder = nil
      sale.trouble =
        isOver ? .init(declined: now, until: now + GoogleTerms.cancelToExpiry) : nil
      if isOver { sale.graces = sale.graces.compactMap { $0.cut(at: now) } }
    }
    notify(token, 3)
  }

  private mutating func expire(_ token: String) {
    close(token)
    notify(token, 13)
  }

  /// Ends the purchase now; the customer loses the remaining time.
  mutating func close(_ token: String) {
    let now = now
    update(token) { sale in
      sale.state = .expired
      sale.isAutoRenewing = false
      sale.trouble = nil
      sale.pendingOrder = nil
      sale.scheduledPause = nil
      sale.resumesAt = nil
      sale.ended = now
      for index in sale.items.indices {
        if let expiry = sale.items[index].expiry { sale.items[index].expiry = min(expiry, now) }
      }
      sale.paid = sale.paid.compactMap { $0.cut(at: now) }
      sale.graces = sale.graces.compactMap { $0.cut(at: now) }
    }
  }

  /// Ends a purchase at once and refunds `order`, by default the present period.
  mutating func revoke(_ token: String, _ reason: GoogleVoided.Reason, order: String? = nil) {
    let sale = self[token]
    close(token)
    update(token) { $0.cancellation = reason == .refund ? .developer : .system }
    notify(token, 12)
    // One order may be the latest of several items.
    let current = Set(sale.items.compactMap(\.order)).sorted()
    for order in order.map({ [$0] }) ?? current { void(order, of: token, reason) }
  }
}

extension GoogleTruth.Period {
  func cut(at moment: Instant) -> Self? {
    from < moment
      ? Self(productID: productID, orderID: orderID, from: from, to: min(to, moment)) : nil
  }
}
