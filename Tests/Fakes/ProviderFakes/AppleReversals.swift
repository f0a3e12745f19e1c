import Base

/// Reversals of payments, and families.
extension AppStoreWorld {
  /// Refunds `percentage` thousandths of a percent of the price, or all of it.
  mutating func refund(_ transaction: String, percentage: Int64?) {
    guard let (id, index) = find(transaction) else {
      preconditionFailure("no such transaction was made")
    }
    let sale = self[id].sales[index]
    precondition(
      sale.revocation == nil && self[id].sharedFrom == nil, "there is no money to give back")
    let isLast = index == self[id].sales.count - 1
    if isLast, !self[id].isOver, self[id].willRenew, self[id].commitmentRenews {
      setRenewal(id, false)
    }
    revoke(
      id, index,
      AppleSale.Revocation(
        date: now, kind: percentage == nil ? .full : .prorated, percentage: percentage ?? 100_000))
    tell("REFUND", nil, of: id, sale: self[id].sales[index])
    if isLast { for member in family(of: id).dropFirst() { stopSharing(member) } }
  }

  /// The store takes a refund back. The revoked transaction is valid again, to its old end.
  mutating func reverseRefund(_ transaction: String) {
    guard let (id, index) = find(transaction), self[id].sales[index].revocation != nil else {
      preconditionFailure("no such refund was made")
    }
    self[id].sales[index].revocation = nil
    self[id].sales[index].modified = now
    oracle.giveBack(transaction)
    if index == self[id].sales.count - 1, self[id].phase == .revoked {
      self[id].phase = now < self[id].last.expires ? .running : .ended(.customer)
    }
    tell("REFUND_REVERSED", nil, of: id, sale: self[id].sales[index])
  }

  /// Shares it with another customer of the family, as a subscription of their own with the same end.
  mutating func share(_ id: String, with account: Identifier?) -> String {
    let shared = self[id]
    precondition(
      shared.phase == .running && shared.sharedFrom == nil && shared.last.purchased <= now,
      "only what runs can be shared")
    let member = newTransactionID()
    add(
      AppleSubscription(
        id: member, customer: newCustomer(), sharedFrom: id, owner: account, token: nil, sales: [],
        willRenew: shared.willRenew, nextProduct: shared.nextProduct, runStart: now))
    sell(shared.product, to: member, from: now, to: shared.last.expires, .purchase)
    tell("SUBSCRIBED", "INITIAL_BUY", of: member)
    return member
  }

  /// Adds a seat that the buyer pays for in addition to their own. The holder's app names the holder's
  /// account.
  mutating func assign(_ id: String, to account: Identifier?, token: Identifier?) -> String {
    let bought = self[id]
    precondition(
      bought.phase == .running && bought.sharedFrom == nil && bought.last.purchased <= now,
      "only what runs has seats")
    let seat = newTransactionID()
    add(
      AppleSubscription(
        id: seat, customer: newCustomer(), sharedFrom: id, isSeat: true, owner: account,
        token: token, sales: [], willRenew: bought.willRenew, nextProduct: bought.nextProduct,
        runStart: now))
    sell(bought.product, to: seat, from: now, to: bought.last.expires, .purchase)
    tell("SUBSCRIBED", "INITIAL_BUY", of: seat)
    return seat
  }

  /// The buyer stopped sharing, the member left, or the seat or the money was taken back.
  mutating func stopSharing(_ member: String) {
    precondition(self[member].sharedFrom != nil && !self[member].isOver, "nothing is shared")
    self[member].willRenew = false
    revoke(
      member, self[member].sales.count - 1,
      AppleSale.Revocation(
        date: now, kind: self[member].isSeat ? .assignment : .family, percentage: nil))
    tell("REVOKE", of: member)
  }

  private mutating func revoke(_ id: String, _ index: Int, _ revocation: AppleSale.Revocation) {
    self[id].sales[index].revocation = revocation
    self[id].sales[index].modified = now
    oracle.takeBack(self[id].sales[index].id, at: now)
    guard index == self[id].sales.count - 1, !self[id].isOver else { return }
    oracle.endGrace(of: id, at: now)
    if case .grace = self[id].phase, settings.tellsGraceAfterRefund { return }
    self[id].phase = .revoked
  }
}
