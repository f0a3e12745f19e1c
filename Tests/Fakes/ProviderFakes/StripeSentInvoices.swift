import Base

/// Subscriptions that the seller makes and that no card pays at once.
extension StripeWorld {
  /// Its invoices are sent an hour after they are made, to be paid within `daysUntilDue` days.
  mutating func subscribe(
    _ customer: String, _ account: Identifier?, daysUntilDue: Int64
  ) -> String {
    let sub = addSubscription(customer, account, .premiumMonthly)
    subscriptions[sub].daysUntilDue = daysUntilDue
    let invoice = addInvoice(sub, "subscription_create", lines: firstLines(sub))
    subscriptions[sub].latestInvoice = invoice
    emit(subscription: sub, "created", isAsked: true)
    emit(invoice: invoice, "created")
    schedule(.finalize(invoice: invoice), at: now + StripeSettings.draftSpan)
    return sub
  }

  /// Active, without an invoice until its period ends: `proration_behavior` `none`.
  mutating func subscribeUnbilled(_ customer: String, _ account: Identifier?) -> String {
    let sub = addSubscription(customer, account, .premiumMonthly)
    emit(subscription: sub, "created", isAsked: true)
    return sub
  }

  /// An invoice that was sent was not paid in time.
  mutating func fallDue(_ id: String) {
    guard invoices[id].status == .open else { return }
    emit(invoice: id, "overdue")
    let sub = subscriptions[invoices[id].subscription]
    if sub.latestInvoice == id, sub.status == .active { update(sub.id) { $0.status = .pastDue } }
  }
}
