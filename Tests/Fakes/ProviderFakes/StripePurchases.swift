import Base

/// The beginning of a subscription.
extension StripeWorld {
  mutating func addCustomer(_ card: StripeCard) -> String {
    let id = newID("cus")
    let customer = Customer(
      id: id, created: now, email: "customer-\(issuedIDCount)@example.com", card: card,
      paymentMethod: newID("pm"))
    customers.add(customer, id: id)
    emit("customer.created", rendering.customer(customer))
    return id
  }

  // MARK: Checkout

  mutating func openSession(
    _ account: Identifier?, _ price: StripePrice, with additions: [StripePrice], trialDays: Int64,
    customer: String?, marksSubscription: Bool
  ) -> String {
    let id = newID("cs")
    let session = Session(
      id: id, account: account, price: price, additions: additions, trialDays: trialDays,
      created: now, customer: customer, marksSubscription: marksSubscription)
    sessions.add(session, id: id)
    schedule(.expireSession(id), at: now + StripeSettings.sessionSpan)
    return id
  }

  /// The customer completes the page with a working card, or without a card if a trial needs none.
  mutating func completeSession(
    _ id: String, _ card: StripeCard, _ missingCard: StripeMissingCard
  ) -> String {
    let session = sessions[id]
    precondition(session.status == "open", "the session \(id) is over")
    let customer = session.customer ?? addCustomer(card)
    customers[customer].card = card
    sessions[id].customer = customer
    let sub = addSubscription(
      customer, session.account, session.price, with: session.additions,
      trialDays: session.trialDays, missingCard)
    subscriptions[sub].isMarked = session.marksSubscription
    subscriptions[sub].flow = session.flow
    let invoice = addInvoice(sub, "subscription_create", lines: firstLines(sub))
    subscriptions[sub].latestInvoice = invoice
    if session.trialDays > 0 {
      begin(sub, invoice, isActiveFirst: true)
    } else {
      begin(sub, invoice, isActiveFirst: settings.version.isBasil)
    }
    sessions[id].status = "complete"
    sessions[id].paymentStatus = session.trialDays > 0 ? "no_payment_required" : "paid"
    sessions[id].subscription = sub
    sessions[id].invoice = invoice
    emit("checkout.session.completed", rendering.session(sessions[id]))
    return sub
  }

  /// The customer completes the page with a bank debit, which takes days.
  ///
  /// Meanwhile the subscription is active and its invoice open: no one has paid yet.
  mutating func completeDelayedSession(_ id: String) -> String {
    precondition(sessions[id].status == "open", "the session \(id) is over")
    let customer = sessions[id].customer ?? addCustomer(.works)
    sessions[id].customer = customer
    let sub = addSubscription(
      customer, sessions[id].account, sessions[id].price, trialDays: 0, .createInvoice)
    subscriptions[sub].status = .incomplete
    let invoice = addInvoice(sub, "subscription_create", lines: firstLines(sub))
    subscriptions[sub].latestInvoice = invoice
    emit(subscription: sub, "created")
    emit(invoice: invoice, "created")
    finalizeQuietly(invoice)
    emit(invoice: invoice, "finalized")
    debit(invoice)
    update(sub) { $0.status = .active }
    sessions[id].isDelayed = true
    sessions[id].status = "complete"
    sessions[id].subscription = sub
    sessions[id].invoice = invoice
    emit("checkout.session.completed", rendering.session(sessions[id]))
    return sub
  }

  /// The result of the bank debit.
  mutating func settleDelayedSession(_ id: String, succeeds: Bool) {
    let session = sessions[id]
    guard session.isDelayed, session.paymentStatus == "unpaid", let invoice = session.invoice else {
      preconditionFailure("nothing is on its way for the session \(id)")
    }
    if succeeds {
      sessions[id].paymentStatus = "paid"
      collect(invoice)
    } else {
      customers[invoices[invoice].customer].card = .declines
      fail(invoice)
    }
    let result = succeeds ? "succeeded" : "failed"
    emit("checkout.session.async_payment_\(result)", rendering.session(sessions[id]))
  }

  mutating func expireSession(_ id: String, isAsked: Bool) {
    sessions[id].status = "expired"
    emit("checkout.session.expired", rendering.session(sessions[id]), isAsked: isAsked)
  }

  // MARK: By the API

  mutating func subscribe(
    _ customer: String, _ account: Identifier?, _ price: StripePrice,
    with additions: [StripePrice], trialDays: Int64, _ missingCard: StripeMissingCard
  ) -> String {
    let sub = addSubscription(
      customer, account, price, with: additions, trialDays: trialDays, missingCard)
    let invoice = addInvoice(sub, "subscription_create", lines: firstLines(sub))
    subscriptions[sub].latestInvoice = invoice
    begin(sub, invoice, isActiveFirst: trialDays > 0)
    return sub
  }

  mutating func expireFirstPayment(_ id: String) {
    let expired = now
    update(id) {
      $0.status = .incompleteExpired
      $0.endedAt = expired
    }
    if let invoice = subscriptions[id].latestInvoice, invoices[invoice].status == .open {
      void(invoice, isAsked: false)
    }
  }

  // MARK: Parts

  mutating func addSubscription(
    _ customer: String, _ account: Identifier?, _ price: StripePrice,
    with additions: [StripePrice] = [], trialDays: Int64 = 0, trialEnd: Instant? = nil,
    _ missingCard: StripeMissingCard = .createInvoice
  ) -> String {
    let id = newID("sub")
    let isTrial = trialDays > 0 || trialEnd != nil
    let end =
      isTrial
      ? trialEnd ?? now + .days(trialDays) : now.adding(months: price.interval.monthCount)
    var sub = Subscription(
      id: id, item: newID("si"), customer: customer, account: account, created: now,
      anchor: isTrial ? end : now, period: now..<end, price: price,
      status: isTrial ? .trialing : .active)
    if isTrial { sub.trial = now..<end }
    sub.missingCard = missingCard
    for price in additions { sub.additions.append(.init(item: newID("si"), price: price)) }
    subscriptions.add(sub, id: id)
    if isTrial {
      sell(trialOf: id)
      let announcement = max(now, end - StripeSettings.announcementSpan)
      schedule(.announceTrialEnd(subscription: id), at: announcement)
    }
    schedulePeriodEnd(id)
    return id
  }

  func firstLines(_ id: String) -> [Line] {
    let sub = subscriptions[id]
    guard sub.trial == nil else {
      let words = "Trial period for \(sub.price.title)"
      return [
        Line(
          id: stripeIdentifier("il", id + "trial"), price: sub.price, amount: 0,
          period: sub.period, description: words)
      ]
    }
    return periodLines(of: sub, seed: id + "first")
  }

  /// The first events; `isActiveFirst` if the subscription is made only after its payment.
  mutating func begin(_ sub: String, _ invoice: String, isActiveFirst: Bool) {
    if !isActiveFirst { subscriptions[sub].status = .incomplete }
    emit(subscription: sub, "created", isAsked: true)
    emit(invoice: invoice, "created")
    finalizeQuietly(invoice)
    emit(invoice: invoice, "finalized")
    attempt(invoice)
    if subscriptions[sub].status == .incomplete {
      schedule(.expireFirstPayment(subscription: sub), at: now + StripeSettings.firstPaymentSpan)
    }
  }
}
