import Base

/// What Stripe does by itself when periods end: invoices, attempts, retries.
extension StripeWorld {
  mutating func schedulePeriodEnd(_ id: String) {
    let end = subscriptions[id].period.upperBound
    schedule(.turnPeriod(subscription: id, end: end), at: end)
    let announcement = end - StripeSettings.announcementSpan
    if announcement > now {
      schedule(.announceRenewal(subscription: id, end: end), at: announcement)
    }
  }

  mutating func announceRenewal(_ id: String, _ end: Instant) {
    let sub = subscriptions[id]
    guard !sub.isEnded, !sub.cancelAtPeriodEnd, sub.cancelAt != end, sub.period.upperBound == end
    else { return }
    var coming = sub
    coming.period = nextPeriod(of: sub, at: nextPhase(of: sub)?.price ?? sub.price)
    let lines = periodLines(of: coming, seed: id + "upcoming")
    let preview = Invoice(
      id: "upcoming-\(id)", subscription: id, customer: sub.customer,
      number: sub.invoiceCount + 1, created: end, reason: "upcoming", lines: lines,
      period: sub.period)
    emit("invoice.upcoming", rendering.invoice(preview, isPreview: true))
  }

  /// Ends the period, and with it the trial or the subscription if that is due.
  mutating func turnPeriod(_ id: String) {
    var sub = subscriptions[id]
    if sub.cancelAtPeriodEnd || sub.cancelAt == now { return end(id, sub.cancellationReason) }
    if sub.status == .trialing, customers[sub.customer].card == .missing {
      switch sub.missingCard {
      case .cancel: return end(id, nil)
      case .pause: return pause(id, .trialEnd)
      case .createInvoice: break
      }
    }
    guard sub.status != .paused, sub.status != .incomplete else { return }
    let billed = sub.period
    beginNextPhase(of: &sub)
    sub.period = nextPeriod(of: sub, at: sub.price)
    if sub.status == .trialing { sub.status = .active }
    let lines =
      sub.waitingLines + periodLines(of: sub, seed: "\(id)\(sub.invoiceCount)")
    sub.waitingLines = []
    let invoice = addInvoice(id, "subscription_cycle", lines: lines, period: billed)
    sub.invoiceCount = subscriptions[id].invoiceCount
    sub.latestInvoice = invoice
    let turned = sub
    update(id) { $0 = turned }
    let isHeld = sub.status == .unpaid || sub.pause == .keepAsDraft
    invoices[invoice].autoAdvance = !isHeld
    emit(invoice: invoice, "created")
    if !isHeld { schedule(.finalize(invoice: invoice), at: now + StripeSettings.draftSpan) }
    schedulePeriodEnd(id)
  }

  /// Counted from the anchor, so that a short month does not shorten the ones after it.
  private func nextPeriod(of sub: Subscription, at price: StripePrice) -> Range<Instant> {
    let months = price.interval.monthCount
    var count = months
    while sub.anchor.adding(months: count) <= sub.period.upperBound { count += months }
    return sub.period.upperBound..<sub.anchor.adding(months: count)
  }

  // MARK: Invoices

  mutating func addInvoice(
    _ subscription: String, _ reason: String, lines: [Line], period: Range<Instant>? = nil
  ) -> String {
    let id = newID("in")
    subscriptions[subscription].invoiceCount += 1
    let sub = subscriptions[subscription]
    invoices.add(
      Invoice(
        id: id, subscription: subscription, customer: sub.customer, number: sub.invoiceCount,
        created: now, reason: reason, lines: lines, period: period ?? now..<now,
        dueAt: sub.daysUntilDue.map { now + .days($0) }), id: id)
    return id
  }

  /// The lines for a whole period of the plan and of the additions in its cycle.
  func periodLines(of sub: Subscription, seed: String) -> [Line] {
    [line(of: sub.price, sub.period, seed: seed)]
      + sub.additions.filter { $0.ownPeriod == nil }.map { addition in
        var line = line(of: addition.price, sub.period, seed: seed + addition.item)
        line.item = addition.item
        return line
      }
  }

  func line(of price: StripePrice, _ period: Range<Instant>, seed: String) -> Line {
    let cents = price.amount % 100
    let money = "$\(price.amount / 100).\(cents < 10 ? "0" : "")\(cents)"
    return Line(
      id: stripeIdentifier("il", "\(settings.seed)\(seed)\(price.id)"), price: price,
      amount: price.amount, period: period,
      description: "1 × \(price.title) (at \(money) / \(price.interval.rawValue))")
  }

  /// Makes the invoice final: the customer's balance is used, and nothing else can change.
  mutating func finalizeQuietly(_ id: String) {
    let customer = invoices[id].customer
    let balance = customers[customer].balance
    let total = invoices[id].total
    let used = total < 0 ? total : min(total, max(0, -balance))
    customers[customer].balance += used
    invoices[id].startingBalance = balance
    invoices[id].balanceUsed = used
    invoices[id].status = .open
    invoices[id].finalizedAt = now
  }

  mutating func finalize(_ id: String) {
    finalizeQuietly(id)
    emit(invoice: id, "finalized")
    if let due = invoices[id].dueAt { return schedule(.fallDue(invoice: id), at: due) }
    switch subscriptions[invoices[id].subscription].pause {
    case .void: void(id, isAsked: false)
    case .markUncollectible: markUncollectible(id, isAsked: false)
    case .keepAsDraft, nil: attempt(id)
    }
  }

  /// Tries to take the money. Nothing is due if a balance or a trial covers it.
  mutating func attempt(_ id: String) {
    let card = customers[invoices[id].customer].card
    if invoices[id].amountDue == 0 || card == .works {
      collect(id)
    } else if card == .debits {
      debit(id)
    } else {
      fail(id)
    }
  }

  /// Asks the bank for money that comes days later. The invoice stays open until then.
  mutating func debit(_ id: String) {
    if !isUnderWay(id) { invoices[id].attemptCount += 1 }
    invoices[id].isAttempted = true
    let payment = newPayment(id, .processing)
    emit("payment_intent.processing", rendering.paymentIntent(payments[payment]))
  }

  /// The payment succeeds.
  mutating func collect(_ id: String) {
    if invoices[id].amountDue > 0 {
      if !isUnderWay(id) { invoices[id].attemptCount += 1 }
      let payment = newPayment(id, .succeeded)
      emit("charge.succeeded", rendering.charge(payments[payment]))
      emit("payment_intent.succeeded", rendering.paymentIntent(payments[payment]))
    }
    invoices[id].isAttempted = true
    settle(id)
    if settings.version.isBasil, let payment = invoices[id].payment {
      emit("invoice_payment.paid", rendering.invoicePayment(payments[payment]))
    }
    emit(invoice: id, "paid")
    emit(invoice: id, "payment_succeeded")
    takeEffect(ofPaid: id)
  }

  /// Marks the invoice as paid, by whatever means.
  mutating func settle(_ id: String) {
    invoices[id].status = .paid
    invoices[id].paidAt = now
    invoices[id].nextAttempt = nil
    invoices[id].autoAdvance = false
    sell(invoice: id)
  }

  mutating func takeEffect(ofPaid id: String) {
    let sub = subscriptions[invoices[id].subscription]
    if sub.pendingUpdate?.invoice == id { return applyPendingUpdate(sub.id) }
    guard sub.latestInvoice == id else { return }
    switch sub.status {
    case .incomplete, .pastDue, .unpaid: update(sub.id) { $0.status = .active }
    case .paused: resumeAfterPayment(sub.id)
    case .trialing, .active, .canceled, .incompleteExpired: break
    }
  }

  /// The bank declines.
  mutating func fail(_ id: String) {
    let sub = subscriptions[invoices[id].subscription]
    if !isUnderWay(id) { invoices[id].attemptCount += 1 }
    let payment = newPayment(id, .failed)
    invoices[id].isAttempted = true
    let count = invoices[id].attemptCount
    let isRetried =
      sub.status != .incomplete && sub.status != .paused && !sub.isEnded
      && sub.pendingUpdate?.invoice != id && count <= settings.retrySpans.count
    let next = isRetried ? now + settings.retrySpans[count - 1] : nil
    invoices[id].nextAttempt = next
    invoices[id].autoAdvance = next != nil
    if let next { schedule(.retry(invoice: id), at: next) }
    emit("charge.failed", rendering.charge(payments[payment]))
    emit("payment_intent.payment_failed", rendering.paymentIntent(payments[payment]))
    if customers[invoices[id].customer].card == .needsConfirmation {
      emit(invoice: id, "payment_action_required")
    }
    emit(invoice: id, "payment_failed")
    takeEffect(ofFailed: id, isLast: next == nil)
  }

  private mutating func takeEffect(ofFailed id: String, isLast: Bool) {
    let sub = subscriptions[invoices[id].subscription]
    guard sub.latestInvoice == id, sub.pendingUpdate == nil else { return }
    switch sub.status {
    case .active, .trialing: update(sub.id) { $0.status = .pastDue }
    case .incomplete, .pastDue, .unpaid, .paused, .canceled, .incompleteExpired: break
    }
    guard isLast, subscriptions[sub.id].status == .pastDue else { return }
    switch settings.afterRetries {
    case .cancel: end(sub.id, "payment_failed")
    case .markUnpaid: update(sub.id) { $0.status = .unpaid }
    case .leavePastDue: break
    }
  }

  /// Whether an attempt has begun that the bank has not answered yet.
  private func isUnderWay(_ id: String) -> Bool {
    invoices[id].payment.map { payments[$0].status } == .processing
  }

  /// A payment of the invoice, or its next attempt: one intent for all attempts, one charge for each.
  mutating func newPayment(_ invoice: String, _ status: Payment.Status) -> String {
    let charge = newID("ch")
    if let id = invoices[invoice].payment {
      if payments[id].status != .processing {
        payments[id].charge = charge
        payments[id].chargedAt = now
      }
      payments[id].status = status
      payments[id].paidAt = status == .succeeded ? now : nil
      return id
    }
    let id = newID("pi")
    payments.add(
      Payment(
        intent: id, invoicePayment: newID("inpay"), invoice: invoice,
        customer: invoices[invoice].customer, amount: invoices[invoice].amountDue, created: now,
        charge: charge, chargedAt: now, status: status,
        paidAt: status == .succeeded ? now : nil), id: id)
    invoices[invoice].payment = id
    return id
  }
}
