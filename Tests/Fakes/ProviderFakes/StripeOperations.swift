package import Base

/// The operations of customers, their banks and the seller. Each returns the ids of the objects that it made.
extension FakeStripe {
  // MARK: Buying

  /// A checkout page for the account, made by our server. It expires by itself after a day.
  /// `marksSubscription`: whether the subscription's metadata also names the account.
  package func openCheckout(
    account: Identifier?, _ price: StripePrice = .premiumMonthly,
    with additions: [StripePrice] = [],
    trialDays: Int64 = 0, customer: String? = nil, marksSubscription: Bool = true
  ) -> String {
    operate {
      $0.openSession(
        account, price, with: additions, trialDays: trialDays, customer: customer,
        marksSubscription: marksSubscription)
    }
  }

  /// The customer completes the page; a trial needs no card. Returns the subscription.
  package func complete(
    checkout id: String, _ card: StripeCard = .works,
    missingCard: StripeMissingCard = .createInvoice
  ) -> String {
    operate { $0.completeSession(id, card, missingCard) }
  }

  /// The customer completes the page with a bank debit. Returns the subscription.
  package func completeDelayed(checkout id: String) -> String {
    operate { $0.completeDelayedSession(id) }
  }

  /// Days later, the bank reports whether the debit succeeded.
  package func settleDelayed(checkout id: String, succeeds: Bool) {
    operate { $0.settleDelayedSession(id, succeeds: succeeds) }
  }

  package func expire(checkout id: String) {
    operate { $0.expireSession(id, isAsked: true) }
  }

  /// Opens a page and completes it at once. Returns the subscription.
  package func buy(
    account: Identifier?, _ price: StripePrice = .premiumMonthly, customer: String? = nil
  ) -> String {
    let page = openCheckout(account: account, price, customer: customer)
    return complete(checkout: page)
  }

  package func addCustomer(_ card: StripeCard = .works) -> String {
    operate { $0.addCustomer(card) }
  }

  /// A subscription made through the API; without an account it has no metadata.
  package func subscribe(
    customer: String, account: Identifier?, _ price: StripePrice = .premiumMonthly,
    with additions: [StripePrice] = [], trialDays: Int64 = 0,
    missingCard: StripeMissingCard = .createInvoice
  ) -> String {
    operate {
      $0.subscribe(
        customer, account, price, with: additions, trialDays: trialDays, missingCard)
    }
  }

  /// A subscription with sent invoices, to be paid within `daysUntilDue` days.
  package func subscribe(
    customer: String, account: Identifier?, daysUntilDue: Int64
  ) -> String {
    operate { $0.subscribe(customer, account, daysUntilDue: daysUntilDue) }
  }

  /// A subscription that is first billed when its period ends.
  package func subscribeUnbilled(customer: String, account: Identifier?) -> String {
    operate { $0.subscribeUnbilled(customer, account) }
  }

  /// Sets whether the customer's card works; no payment is retried at once.
  package func setCard(of subscription: String, _ card: StripeCard) {
    operate { $0.customers[$0.subscriptions[subscription].customer].card = card }
  }

  // MARK: Changing

  package func changePrice(
    of subscription: String, to price: StripePrice, _ proration: StripeProration = .alwaysInvoice
  ) {
    operate { $0.changePrice(subscription, to: price, proration) }
  }

  /// Adds an item to the plan for the rest of the period, or for a period of its own if its interval differs.
  package func add(
    _ price: StripePrice, to subscription: String, _ proration: StripeProration = .alwaysInvoice
  ) {
    operate { $0.add(price, to: subscription, proration) }
  }

  /// Removes such an item at once and credits its unused time.
  package func remove(
    _ price: StripePrice, from subscription: String, _ proration: StripeProration = .alwaysInvoice
  ) {
    operate { $0.remove(price, from: subscription, proration) }
  }

  /// Changes the price at the end of the period, by a schedule.
  package func schedulePrice(of subscription: String, _ price: StripePrice) {
    operate { $0.schedulePrice(subscription, price) }
  }

  /// At the period's end, with the flag; or on a date, only with `cancel_at`.
  package func cancel(_ subscription: String, on date: Instant? = nil) {
    operate { $0.cancel(subscription, at: date) }
  }

  package func giveFeedback(_ subscription: String, _ feedback: String) {
    operate { $0.giveFeedback(subscription, feedback) }
  }

  package func uncancel(_ subscription: String) { operate { $0.uncancel(subscription) } }

  /// Ends it at once.
  package func delete(_ subscription: String) {
    operate { $0.end(subscription, "cancellation_requested", isAsked: true) }
  }

  package func delete(customer: String) { operate { $0.deleteCustomer(customer) } }

  package func pauseCollection(
    of subscription: String, _ behavior: StripeCollectionPause, resumesAt: Instant? = nil
  ) {
    operate { $0.pauseCollection(subscription, behavior, resumesAt: resumesAt) }
  }

  package func resumeCollection(of subscription: String) {
    operate { $0.resumeCollection(subscription, isAsked: true) }
  }

  /// Sets the status `paused`.
  package func pause(_ subscription: String, _ reason: StripePause) {
    operate { $0.pause(subscription, reason) }
  }

  /// Leaves the status `paused`, with the customer's present card.
  package func resume(_ subscription: String) { operate { $0.resume(subscription) } }

  // MARK: Invoices and money

  /// With the customer's present card.
  package func pay(invoice: String) { operate { $0.pay(invoice) } }

  package func markPaid(invoice: String) { operate { $0.markPaid(invoice) } }

  package func void(invoice: String) { operate { $0.void(invoice, isAsked: true) } }

  package func markUncollectible(invoice: String, _ reason: String? = nil) {
    operate { $0.markUncollectible(invoice, reason, isAsked: true) }
  }

  /// Refunds an amount, by default all that is left. Returns the refund.
  @discardableResult
  package func refund(invoice: String, _ amount: Int64? = nil, isPending: Bool = false) -> String {
    operate { $0.refund(invoice, amount, isPending: isPending) }
  }

  /// A pending refund succeeds; or any refund fails, even one that had succeeded.
  package func settle(refund: String, succeeds: Bool) {
    operate { $0.settleRefund(refund, succeeds: succeeds) }
  }

  /// Opens a dispute; returns it. A warning is an enquiry, which moves no money.
  package func dispute(
    invoice: String, reason: String = "fraudulent", isWarning: Bool = false
  ) -> String {
    operate { $0.openDispute(invoice, reason, isWarning: isWarning) }
  }

  /// Sends evidence to the bank.
  package func answer(dispute: String) { operate { $0.answerDispute(dispute) } }

  /// Appeals against a lost dispute.
  package func appeal(dispute: String) { operate { $0.appealDispute(dispute) } }

  package func close(dispute: String, isWon: Bool) {
    operate { $0.closeDispute(dispute, isWon: isWon) }
  }

  // MARK: Looking

  package func customer(of subscription: String) -> String {
    operate { $0.subscriptions[subscription].customer }
  }

  package func status(of subscription: String) -> String {
    operate { $0.subscriptions[subscription].status.rawValue }
  }

  package func periodEnd(of subscription: String) -> Instant {
    operate { $0.subscriptions[subscription].period.upperBound }
  }

  /// Oldest first.
  package func invoices(of subscription: String) -> [String] {
    operate { $0.invoices.rows.filter { $0.subscription == subscription }.map { $0.id } }
  }

  package func latestInvoice(of subscription: String) -> String {
    operate { $0.subscriptions[subscription].latestInvoice ?? "none" }
  }

  package func status(ofInvoice id: String) -> String {
    operate { $0.invoices[id].status.rawValue }
  }

  package var subscriptions: [String] { operate { $0.subscriptions.rows.map { $0.id } } }

  // MARK: The truth

  /// The customer's sales and trials that are still valid, by start.
  package func sales(of subscription: String) -> [StripeSale] {
    operate { $0.activeSales(of: subscription) }.sorted { $0.from < $1.from }
  }

  package func paidPeriods(of subscription: String) -> [PaidPeriod] {
    sales(of: subscription).map {
      PaidPeriod(account: $0.account, productID: $0.product, from: $0.from, to: $0.to)
    }
  }

  /// All sales as they were at that moment, without later changes.
  package func sales(asOf moment: Instant) -> [StripeSale] {
    catchUp()
    return state.withLock { $0.truths.last { $0.since <= moment }?.sales ?? [] }
  }

  package var paidPeriods: [PaidPeriod] { subscriptions.flatMap { paidPeriods(of: $0) } }
}
