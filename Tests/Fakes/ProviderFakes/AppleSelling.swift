import Base

/// What customers do when they buy: purchase, change, cancel, share.
extension AppStoreWorld {
  mutating func buy(
    _ product: AppleProduct, for account: Identifier?, token: Identifier?, trialDays: Int64,
    by known: String?
  ) -> String {
    let customer = known ?? newCustomer()
    precondition(
      !subscriptions.values.contains {
        $0.customer == customer && $0.product.groupID == product.groupID
      }, "that customer has a subscription of the group: it can be bought again")
    let id = newTransactionID()
    add(
      AppleSubscription(
        id: id, customer: customer, sharedFrom: nil, owner: account, token: token, sales: [],
        runStart: now))
    let end = trialDays > 0 ? now + terms.days(trialDays) : terms.end(product, from: now)
    sell(product, to: id, from: now, to: end, .purchase, isTrial: trialDays > 0)
    tell("SUBSCRIBED", "INITIAL_BUY", of: id)
    return id
  }

  /// Buys it again after its end, in the app or on the store's own page.
  mutating func resubscribe(_ id: String, _ product: AppleProduct?, token: Identifier?) {
    let before = self[id]
    precondition(before.isOver && before.sharedFrom == nil, "only what is over is bought again")
    oracle.exchange(before.last.id, at: now)
    let lapsed = min(before.last.expires, before.last.revocation?.date ?? .distantFuture)
    self[id].phase = .running
    self[id].willRenew = true
    self[id].hasWorkingCard = true
    self[id].isForSale = true
    self[id].nextProduct = nil
    self[id].priceIncrease = nil
    self[id].renewalCount = 0
    self[id].token = token
    if lapsed + terms.retry(before.product) <= now { self[id].runStart = now }
    let product = product ?? before.product
    sell(product, to: id, from: now, to: terms.end(product, from: now), .purchase)
    tell("SUBSCRIBED", "RESUBSCRIBE", of: id)
  }

  /// At once for a better product or for one of equal rank and length, otherwise with the next renewal.
  mutating func change(_ id: String, to product: AppleProduct) {
    let before = self[id]
    precondition(before.phase == .running && before.sharedFrom == nil, "it must be running")
    precondition(before.product.groupID == product.groupID, "changes stay in their group")
    precondition(before.last.purchased <= now, "the renewal is paid for and has not begun")
    self[id].willRenew = true
    if product == before.product {
      precondition(before.nextProduct != nil, "there is no change to undo")
      self[id].nextProduct = nil
      tell("DID_CHANGE_RENEWAL_PREF", of: id)
      return
    }
    let isImmediate =
      product.level < before.product.level
      || (product.level == before.product.level && product.months == before.product.months)
    guard isImmediate else {
      self[id].nextProduct = product
      tell("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", of: id)
      return
    }
    for member in family(of: id) {
      let index = self[member].sales.count - 1
      self[member].sales[index].isUpgraded = true
      self[member].sales[index].modified = now
      oracle.exchange(self[member].sales[index].id, at: now)
      self[member].nextProduct = nil
      sell(product, to: member, from: now, to: terms.end(product, from: now), .purchase)
      tell("DID_CHANGE_RENEWAL_PREF", "UPGRADE", of: member)
    }
  }

  mutating func setRenewal(_ id: String, _ isOn: Bool) {
    let before = self[id]
    let isCommitted = before.product.commitment != nil
    let renews = isCommitted ? before.commitmentRenews : before.willRenew
    precondition(!before.isOver && renews != isOn, "nothing would change")
    for member in family(of: id) {
      if isCommitted {
        self[member].commitmentRenews = isOn
      } else {
        self[member].willRenew = isOn
      }
      tell(
        "DID_CHANGE_RENEWAL_STATUS", isOn ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED",
        of: member)
    }
    if !isOn, before.phase == .retry { expire(id, .customer) }
  }

  mutating func breakCard(_ id: String) { self[id].hasWorkingCard = false }

  // MARK: the seller

  mutating func raisePrice(_ id: String, needsConsent: Bool) {
    precondition(self[id].phase == .running, "it must be running")
    self[id].priceIncrease = needsConsent ? .pending : .accepted
    tell("PRICE_INCREASE", needsConsent ? "PENDING" : "ACCEPTED", of: id)
  }

  mutating func acceptPrice(_ id: String) {
    precondition(self[id].priceIncrease == .pending, "nobody was asked")
    self[id].priceIncrease = .accepted
    tell("PRICE_INCREASE", "ACCEPTED", of: id)
  }

  mutating func withdraw(_ product: AppleProduct) {
    for id in ids where self[id].renewing == product { self[id].isForSale = false }
  }

  /// At most twice within 365 days.
  func isExtendable(_ id: String) -> Bool {
    self[id].extended.filter { now < $0 + terms.days(365) }.count < 2
  }

  mutating func extend(_ id: String, days: Int64) {
    precondition(self[id].phase == .running && (1...90).contains(days), "it cannot be extended")
    self[id].extended.append(now)
    for member in family(of: id) {
      let index = self[member].sales.count - 1
      let end = self[member].sales[index].expires + terms.days(days)
      self[member].sales[index].expires = end
      self[member].sales[index].modified = now
      oracle.extend(self[member].sales[index].id, to: end)
      tell("RENEWAL_EXTENDED", of: member)
    }
  }
}
