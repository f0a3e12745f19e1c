import Base

/// The steps that happen by themselves: renewals, failures, grace and ends.
extension AppStoreWorld {
  /// Performs what is due for one subscription.
  mutating func step(_ id: String) {
    let subscription = self[id]
    switch subscription.phase {
    case .running:
      if let ending = subscription.ending(terms) {
        expire(id, ending)
      } else if subscription.hasWorkingCard {
        renew(id, from: subscription.last.expires)
      } else {
        fail(id)
      }
    case .grace where subscription.last.revocation != nil: self[id].phase = .revoked
    case .grace:
      if let ending = subscription.ending(terms) { expire(id, ending) } else { endGrace(id) }
    case .retry: expire(id, .billing)
    case .ended, .revoked: preconditionFailure("nothing is due of what is over")
    }
  }

  /// A payment succeeded: a new period for everyone who shares the subscription.
  mutating func renew(_ id: String, from start: Instant, _ subtype: String? = nil) {
    let product = self[id].renewing
    let end = terms.end(product, from: start)
    for member in family(of: id) {
      self[member].phase = .running
      self[member].nextProduct = nil
      self[member].priceIncrease = nil
      self[member].renewalCount += 1
      sell(product, to: member, from: start, to: end, .renewal)
      tell("DID_RENEW", subtype, of: member)
    }
  }

  /// The bank declined: grace if the app has it, and in any case retries for 60 days.
  private mutating func fail(_ id: String) {
    let last = self[id].last
    let hasGrace = last.month == nil && (!last.isTrial || settings.graceAfterTrial)
    let days = hasGrace ? settings.graceDays : 0
    for member in family(of: id) {
      guard days > 0 else {
        self[member].phase = .retry
        tell("DID_FAIL_TO_RENEW", of: member)
        continue
      }
      let until = last.expires + terms.days(days)
      self[member].phase = .grace(until: until)
      let sale = self[member].last
      oracle.grant(
        grace: AppleSalesOracle.Entry(
          original: member, account: self[member].owner, productID: sale.product.id,
          transaction: sale.id, from: sale.expires, to: until))
      tell("DID_FAIL_TO_RENEW", "GRACE_PERIOD", of: member)
    }
  }

  private mutating func endGrace(_ id: String) {
    for member in family(of: id) {
      self[member].phase = .retry
      tell("GRACE_PERIOD_EXPIRED", of: member)
    }
  }

  mutating func expire(_ id: String, _ intent: AppleSubscription.ExpirationIntent) {
    for member in family(of: id) {
      self[member].phase = .ended(intent)
      self[member].willRenew = false
      oracle.endGrace(of: member, at: now)
      tell("EXPIRED", intent.subtype, of: member)
    }
  }

  /// The card works again. If the store is still trying, the subscription recovers at once.
  ///
  /// After a recovery in grace the renewal day stays, so the period begins where the last one ended. Apple
  /// does not document that `purchaseDate` is then also that moment, and not the day of payment.
  mutating func repairCard(_ id: String) {
    self[id].hasWorkingCard = true
    guard self[id].ending(terms) == nil else { return }
    switch self[id].phase {
    case .grace:
      for member in family(of: id) { oracle.endGrace(of: member, at: now) }
      renew(id, from: self[id].last.expires, "BILLING_RECOVERY")
    case .retry: renew(id, from: now, "BILLING_RECOVERY")
    case .running, .ended, .revoked: break
    }
  }

  /// Adds a transaction, and records the sale in the oracle.
  mutating func sell(
    _ product: AppleProduct, to id: String, from start: Instant, to end: Instant,
    _ reason: AppleSale.Reason, isTrial: Bool = false
  ) {
    let subscription = self[id]
    let before = subscription.sales.last.flatMap { $0.product == product ? $0.month : nil }
    let month = product.commitment.map { count in (before ?? 0) % count + 1 }
    // The first transaction gives the subscription its id.
    let transaction = subscription.sales.isEmpty ? id : newTransactionID()
    self[id].sales.append(
      AppleSale(
        id: transaction, lineID: newLineID(), product: product, purchased: start, expires: end,
        reason: reason, token: subscription.token, isTrial: isTrial, month: month,
        commitmentEnd: month.map {
          start.adding(months: product.months * ((product.commitment ?? 0) - $0 + 1))
        }, modified: now))
    oracle.sell(
      AppleSalesOracle.Entry(
        original: id, account: subscription.owner, productID: product.id, transaction: transaction,
        from: start, to: end))
  }
}
