/// Later changes of an invoice and its money.
extension StripeWorld {
  // MARK: Invoices

  /// The customer pays it on its page, or the seller charges it; a draft is made final first.
  mutating func pay(_ id: String) {
    precondition(invoices[id].status != .paid && invoices[id].status != .void, "\(id) is settled")
    if invoices[id].status == .draft {
      finalizeQuietly(id)
      emit(invoice: id, "finalized", isAsked: true)
    }
    attempt(id)
  }

  /// Paid by other means, such as a bank transfer that Stripe never saw.
  mutating func markPaid(_ id: String) {
    invoices[id].isPaidOutside = true
    settle(id)
    emit(invoice: id, "paid", isAsked: true)
    emit(invoice: id, "payment_succeeded", isAsked: true)
    takeEffect(ofPaid: id)
  }

  mutating func void(_ id: String, isAsked: Bool) {
    invoices[id].status = .void
    invoices[id].voidedAt = now
    giveUp(id)
    emit(invoice: id, "voided", isAsked: isAsked)
    forgive(id)
  }

  mutating func markUncollectible(_ id: String, _ reason: String? = nil, isAsked: Bool) {
    invoices[id].status = .uncollectible
    invoices[id].uncollectibleReason = reason
    invoices[id].uncollectibleAt = now
    giveUp(id)
    emit(invoice: id, "marked_uncollectible", isAsked: isAsked)
    forgive(id)
  }

  private mutating func giveUp(_ id: String) {
    invoices[id].nextAttempt = nil
    invoices[id].autoAdvance = false
    guard invoices[id].status == .void, let payment = invoices[id].payment else { return }
    payments[payment].canceledAt = now
  }

  /// Makes an overdue subscription active again once its latest invoice no longer counts.
  private mutating func forgive(_ id: String) {
    let sub = subscriptions[invoices[id].subscription]
    guard sub.latestInvoice == id, sub.status == .pastDue else { return }
    update(sub.id) { $0.status = .active }
  }

  // MARK: Refunds

  /// Refunds `amount` of the invoice's payment, or all that is left of it.
  mutating func refund(_ invoice: String, _ amount: Int64?, isPending: Bool) -> String {
    let payment = paymentOf(invoice)
    let given = refunds.rows.filter { $0.payment == payment && $0.status != .failed }
      .reduce(0) { $0 + $1.amount }
    let rest = payments[payment].amount - given
    let amount = amount ?? rest
    precondition(amount > 0 && amount <= rest, "\(invoice) has no \(amount) left to refund")
    let id = newID("re")
    let before = rendering.charge(payments[payment])
    let refund = Refund(
      id: id, payment: payment, amount: amount, created: now,
      status: isPending ? .pending : .succeeded)
    refunds.add(refund, id: id)
    if settings.version.hasRefundEvents {
      emit("refund.created", rendering.refund(refund), isAsked: true)
    }
    let after = rendering.charge(payments[payment])
    emit("charge.refunded", after, previous: before.changed(in: after), isAsked: true)
    return id
  }

  /// A pending refund succeeds; or a refund fails, even after it had succeeded: the money is ours again.
  mutating func settleRefund(_ id: String, succeeds: Bool) {
    precondition(refunds[id].status != .failed, "the refund \(id) has failed already")
    let before = rendering.refund(refunds[id])
    refunds[id].status = succeeds ? .succeeded : .failed
    let after = rendering.refund(refunds[id])
    let previous = before.changed(in: after)
    if settings.version.hasRefundEvents {
      emit("refund.updated", after, previous: previous)
      if !succeeds { emit("refund.failed", after) }
    }
    emit("charge.refund.updated", after, previous: previous)
  }

  // MARK: Disputes

  mutating func openDispute(_ invoice: String, _ reason: String, isWarning: Bool) -> String {
    let payment = paymentOf(invoice)
    let id = newID("du")
    disputes.add(
      Dispute(
        id: id, payment: payment, amount: payments[payment].amount, created: now, reason: reason,
        status: isWarning ? "warning_needs_response" : "needs_response"), id: id)
    if !isWarning { payments[payment].dispute = id }
    emit("charge.dispute.created", rendering.dispute(disputes[id]))
    if !isWarning { emit("charge.dispute.funds_withdrawn", rendering.dispute(disputes[id])) }
    return id
  }

  mutating func closeDispute(_ id: String, isWon: Bool) {
    let isWarning = disputes[id].status.hasPrefix("warning")
    disputes[id].status = isWarning ? "warning_closed" : isWon ? "won" : "lost"
    emit("charge.dispute.closed", rendering.dispute(disputes[id]))
    if isWon, !isWarning {
      emit("charge.dispute.funds_reinstated", rendering.dispute(disputes[id]))
    }
  }

  /// The bank receives the evidence and reviews it.
  mutating func answerDispute(_ id: String) {
    disputes[id].hasEvidence = true
    moveDispute(
      id, to: disputes[id].status == "needs_response" ? "under_review" : "appeal_under_review")
  }

  /// Appeals against the bank's decision.
  mutating func appealDispute(_ id: String) {
    precondition(disputes[id].status == "lost", "the dispute \(id) is not lost")
    moveDispute(id, to: "appeal_needs_response")
  }

  private mutating func moveDispute(_ id: String, to status: String) {
    let before = rendering.dispute(disputes[id])
    disputes[id].status = status
    let after = rendering.dispute(disputes[id])
    emit("charge.dispute.updated", after, previous: before.changed(in: after), isAsked: true)
  }

  private func paymentOf(_ invoice: String) -> String {
    guard let payment = invoices[invoice].payment, payments[payment].status == .succeeded else {
      preconditionFailure("nobody paid \(invoice) with money")
    }
    return payment
  }
}
