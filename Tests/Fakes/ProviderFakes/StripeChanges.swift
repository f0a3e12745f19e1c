import Base

/// Changes to a subscription by a customer or the seller.
extension StripeWorld {
  // MARK: Price

  mutating func changePrice(_ id: String, to price: StripePrice, _ proration: StripeProration) {
    let sub = subscriptions[id]
    precondition(sub.status == .active && sub.pendingUpdate == nil, "\(id) cannot change now")
    let keepsCycle = price.interval == sub.price.interval
    let period =
      keepsCycle ? sub.period : now..<now.adding(months: price.interval.monthCount)
    var lines = changeLines(sub, price, period)
    if keepsCycle, proration == .nextInvoice {
      sell(onAccount: lines[1], subscription: id)
      lines[1].isSold = true
      return update(id, isAsked: true) {
        $0.price = price
        $0.waitingLines += lines
      }
    }
    let anchor = keepsCycle ? sub.anchor : now
    let invoice = addInvoice(id, "subscription_update", lines: lines)
    emit(invoice: invoice, "created", isAsked: true)
    finalizeQuietly(invoice)
    emit(invoice: invoice, "finalized")
    let pays = invoices[invoice].amountDue == 0 || customers[sub.customer].card == .works
    let change: (inout Subscription) -> Void = {
      $0.price = price
      $0.period = period
      $0.anchor = anchor
      $0.latestInvoice = invoice
      if !keepsCycle { $0.separateAdditions(from: sub.period) }
      if !pays { $0.status = .pastDue }
    }
    if proration == .pendingIfIncomplete, !pays {
      let expires = now + StripeSettings.firstPaymentSpan
      let pending = PendingUpdate(
        price: price, expiresAt: expires, invoice: invoice, anchor: anchor, period: period)
      update(id, isAsked: true) {
        $0.pendingUpdate = pending
        $0.latestInvoice = invoice
      }
      schedule(.expirePendingUpdate(subscription: id), at: expires)
    } else {
      update(id, isAsked: true, change)
      if !keepsCycle {
        schedulePeriodEnd(id)
        for addition in subscriptions[id].additions { scheduleEnd(of: addition, id) }
      }
    }
    attempt(invoice)
  }

  /// A credit for the unused time, and the rest of the period or a whole new one.
  private func changeLines(
    _ sub: Subscription, _ price: StripePrice, _ period: Range<Instant>
  ) -> [Line] {
    let rest = now..<sub.period.upperBound
    let whole = sub.period.upperBound - sub.period.lowerBound
    let unused = rest.upperBound - now
    func share(_ amount: Int64) -> Int64 {
      (amount * unused.milliseconds + whole.milliseconds / 2) / whole.milliseconds
    }
    let seed = "\(settings.seed)\(sub.id)\(sub.invoiceCount)\(now.seconds)"
    let credit = Line(
      id: stripeIdentifier("il", seed + "credit"), price: sub.price,
      amount: -share(sub.price.amount),
      period: rest, description: "Unused time on \(sub.price.title)", isProration: true,
      credits: sub.latestInvoice)
    guard price.interval == sub.price.interval else {
      return [credit, line(of: price, period, seed: seed)]
    }
    return [
      credit,
      Line(
        id: stripeIdentifier("il", seed + "rest"), price: price, amount: share(price.amount),
        period: rest, description: "Remaining time on \(price.title)", isProration: true),
    ]
  }

  mutating func applyPendingUpdate(_ id: String) {
    guard let pending = subscriptions[id].pendingUpdate else { return }
    let keepsCycle = subscriptions[id].period == pending.period
    update(id) {
      $0.price = pending.price
      $0.period = pending.period
      $0.anchor = pending.anchor
      $0.pendingUpdate = nil
    }
    emit(subscription: id, "pending_update_applied")
    if !keepsCycle { schedulePeriodEnd(id) }
  }

  mutating func expirePendingUpdate(_ id: String) {
    guard let pending = subscriptions[id].pendingUpdate else { return }
    update(id) { $0.pendingUpdate = nil }
    emit(subscription: id, "pending_update_expired")
    void(pending.invoice, isAsked: false)
  }

  // MARK: Ends

  /// `date`: only with `cancel_at`; nil: with the flag, at the period's end.
  mutating func cancel(_ id: String, at date: Instant?) {
    let end = date ?? subscriptions[id].period.upperBound
    let asked = now
    update(id, isAsked: true) {
      $0.cancelAtPeriodEnd = date == nil
      $0.cancelAt = end
      $0.canceledAt = asked
      $0.cancellationReason = "cancellation_requested"
    }
    if date != nil { schedule(.cancel(subscription: id), at: end) }
  }

  /// The customer's answer to the question why.
  mutating func giveFeedback(_ id: String, _ feedback: String) {
    update(id, isAsked: true) { $0.feedback = feedback }
  }

  mutating func uncancel(_ id: String) {
    update(id, isAsked: true) {
      $0.cancelAtPeriodEnd = false
      $0.cancelAt = nil
      $0.canceledAt = nil
      $0.cancellationReason = nil
      $0.feedback = nil
    }
  }

  /// Ends it for good. Its open invoices are not retried, but can still be paid.
  mutating func end(_ id: String, _ reason: String?, isAsked: Bool = false) {
    subscriptions[id].status = .canceled
    subscriptions[id].endedAt = now
    subscriptions[id].canceledAt = subscriptions[id].canceledAt ?? now
    subscriptions[id].cancellationReason = subscriptions[id].cancellationReason ?? reason
    subscriptions[id].pendingUpdate = nil
    emit(subscription: id, "deleted", isAsked: isAsked)
    for invoice in invoices.rows where invoice.subscription == id && invoice.autoAdvance {
      guard invoice.status == .draft || invoice.status == .open else { continue }
      invoices[invoice.id].autoAdvance = false
      invoices[invoice.id].nextAttempt = nil
      emit(invoice: invoice.id, "updated")
    }
  }

  mutating func deleteCustomer(_ id: String) {
    for sub in subscriptions.rows where sub.customer == id && !sub.isEnded { end(sub.id, nil) }
    customers[id].deletedAt = now
    emit("customer.deleted", rendering.customer(customers[id]), isAsked: true)
  }

  // MARK: Pauses

  mutating func pauseCollection(
    _ id: String, _ behavior: StripeCollectionPause, resumesAt: Instant?
  ) {
    update(id, isAsked: true) {
      $0.pause = behavior
      $0.resumesAt = resumesAt
    }
    if let resumesAt { schedule(.resumeCollection(subscription: id), at: resumesAt) }
  }

  mutating func resumeCollection(_ id: String, isAsked: Bool) {
    update(id, isAsked: isAsked) {
      $0.pause = nil
      $0.resumesAt = nil
    }
  }

  /// Takes the service from the customer at once, or for good if no one paid.
  mutating func pause(_ id: String, _ reason: StripePause) {
    let now = now
    if reason == .requested { removals[subscriptions[id].item] = now }
    update(id) {
      $0.status = .paused
      $0.paused = (reason, now)
      // The unused time is credited.
      if reason == .requested { $0.period = $0.period.lowerBound..<now }
    }
    emit(subscription: id, "paused")
  }

  /// Leaves the status `paused`: a period begins now, once its invoice is paid.
  mutating func resume(_ id: String) {
    let invoice = bill(resumptionOf: id)
    attempt(invoice)
    awaitPayment(ofResumption: invoice)
  }

  mutating func bill(resumptionOf id: String) -> String {
    precondition(subscriptions[id].status == .paused, "\(id) is not paused")
    let price = subscriptions[id].price
    let period = now..<now.adding(months: price.interval.monthCount)
    let lines = [line(of: price, period, seed: "\(id)resume\(now.seconds)")]
    let invoice = addInvoice(id, "subscription_update", lines: lines)
    subscriptions[id].latestInvoice = invoice
    emit(invoice: invoice, "created", isAsked: true)
    finalizeQuietly(invoice)
    emit(invoice: invoice, "finalized")
    return invoice
  }

  mutating func awaitPayment(ofResumption invoice: String) {
    guard invoices[invoice].status == .open else { return }
    schedule(.voidResumption(invoice: invoice), at: now + StripeSettings.firstPaymentSpan)
  }

  mutating func resumeAfterPayment(_ id: String) {
    guard let invoice = subscriptions[id].latestInvoice,
      let period = invoices[invoice].lines.first?.period
    else { return }
    update(id) {
      $0.status = .active
      $0.paused = nil
      $0.anchor = period.lowerBound
      $0.period = period
    }
    emit(subscription: id, "resumed")
    schedulePeriodEnd(id)
  }
}
