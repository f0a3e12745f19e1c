import Base

/// The operations of customers and the seller.
extension GooglePlay {
  /// A purchase as the app requests it.
  struct Request: Sendable {
    var plan: GooglePlan
    var owner: Identifier?
    /// Whether the app names the owner to Google (`setObfuscatedAccountId`).
    var namesOwner = true
    var trialDays: Int64?
    /// Cash or another slow method of payment: nothing is granted until it is paid.
    var isPending = false
    var isTest = false
  }

  mutating func buy(_ request: Request) -> String {
    let token = begin(request)
    if !request.isPending { grant(token, until: nil, trialDays: request.trialDays) }
    return token
  }

  private mutating func begin(_ request: Request) -> String {
    let (token, order) = (newToken(), newOrderID())
    add(
      GoogleSale(
        token: token, isTest: request.isTest, owner: request.owner,
        accountID: request.namesOwner ? request.owner?.description : nil,
        items: [.init(plan: request.plan)], firstOrder: order,
        isAutoRenewing: !request.plan.isPrepaid))
    if request.isPending { put(makeOrder(order, token, from: now, .pending)) }
    return token
  }

  /// The purchase is paid, or free for now: its period begins, and the time to acknowledge it.
  private mutating func grant(_ token: String, until given: Instant?, trialDays: Int64?) {
    let now = now
    update(token) { sale in
      let end =
        given ?? trialDays.map { now + sale.terms.trial(days: $0) }
        ?? sale.terms.end(sale.plan.period, from: now)
      sale.state = .active
      sale.start = now
      sale.acknowledgeBy = now + sale.terms.acknowledgement(sale.plan, from: now)
      sale.items[0].expiry = end
      sale.items[0].order = sale.firstOrder
      sale.items[0].isTrial = trialDays != nil
      sale.paid.append(
        .init(productID: sale.plan.productID, orderID: sale.firstOrder, from: now, to: end))
    }
    put(makeOrder(self[token].firstOrder, token, from: now, .processed))
    notify(token, 4)
    if let replaced = self[token].linkedToken { supersede(replaced) }
  }

  private mutating func supersede(_ token: String) {
    guard self[token].state != .expired else { return }
    close(token)
    update(token) { $0.cancellation = .replacement }
    notify(token, 13)
  }

  mutating func payPending(_ token: String) {
    let sale = self[token]
    precondition(sale.state == .pending, "only a pending purchase is paid late")
    let old = sale.linkedToken.flatMap { sales[$0] }
    let mode = sale.items[0].replaced?.mode
    grant(token, until: old.flatMap { expiry(of: sale.plan, $0, mode) }, trialDays: nil)
  }

  mutating func abandonPending(_ token: String) {
    precondition(self[token].state == .pending, "only a pending purchase can fall through")
    updateOrder(self[token].firstOrder, to: .canceled)
    update(token) { $0.state = .pendingPurchaseCanceled }
    notify(token, 20)
  }

  // MARK: other plans

  /// A new purchase that replaces `old`: an upgrade, a downgrade, or a cancelled one bought again.
  mutating func replace(
    _ old: String, with plan: GooglePlan, _ mode: GoogleReplacementMode, isPending: Bool
  ) -> String {
    let sale = self[old]
    precondition(sale.start != nil && sale.state != .expired, "only what lives is replaced")
    let token = begin(
      Request(
        plan: plan, owner: sale.owner, namesOwner: sale.accountID != nil, isPending: isPending,
        isTest: sale.isTest))
    update(token) {
      $0.linkedToken = old
      $0.items[0].replaced = (sale.plan, mode)
    }
    if isPending { return token }
    if mode == .deferred {
      deferReplacement(token, of: sale)
    } else {
      grant(token, until: expiry(of: plan, sale, mode), trialDays: nil)
    }
    return token
  }

  /// The old item continues inside the new purchase until its own end.
  private mutating func deferReplacement(_ token: String, of old: GoogleSale) {
    let now = now
    update(token) { sale in
      var item = old.items[0]
      item.next = sale.plan
      sale.items.insert(item, at: 0)
      sale.state = .active
      sale.start = now
      sale.acknowledgeBy = now + sale.terms.acknowledgement(item.plan, from: now)
      if let order = item.order, let end = item.expiry {
        sale.paid.append(
          .init(productID: item.plan.productID, orderID: order, from: now, to: end))
      }
    }
    notify(token, 4)
    supersede(old.token)
  }

  /// When the new plan's first period ends; nil: after a whole period from now.
  private func expiry(
    of plan: GooglePlan, _ old: GoogleSale, _ mode: GoogleReplacementMode?
  ) -> Instant? {
    guard let mode, let end = old.expiry, now < end else { return nil }
    switch mode {
    case .chargeProratedPrice, .withoutProration, .deferred: return end
    case .chargeFullPrice: return nil
    case .withTimeProration:
      let from = old.terms.end(old.plan.period, from: now) - now
      let to = old.terms.end(plan.period, from: now) - now
      // The price per time decides the value of the rest; whole seconds are precise enough.
      let left = (end - now).milliseconds / 1000
      let worth = left * old.plan.price.cents / (from.milliseconds / 1000)
      return now + .seconds(worth * (to.milliseconds / 1000) / max(1, plan.price.cents))
    }
  }

  /// Pays for a prepaid plan once more before it ends; the remaining time is kept.
  mutating func topUp(_ old: String) -> String {
    let sale = self[old]
    precondition(sale.plan.isPrepaid && sale.state == .active, "only a running prepaid plan")
    let token = begin(
      Request(
        plan: sale.plan, owner: sale.owner, namesOwner: sale.accountID != nil, isTest: sale.isTest))
    update(token) { $0.linkedToken = old }
    grant(token, until: sale.terms.end(sale.plan.period, from: sale.expiry!), trialDays: nil)
    return token
  }

  /// The customer buys an expired subscription again in Google Play, without the app.
  mutating func resubscribeOutsideApp(_ old: String) -> String {
    let sale = self[old]
    precondition(sale.state == .expired, "only what expired is bought anew")
    let token = begin(
      Request(plan: sale.plan, owner: sale.owner, namesOwner: false, isTest: sale.isTest))
    update(token) { $0.outOfApp = .init(expiredToken: old, accountID: sale.accountID) }
    grant(token, until: nil, trialDays: nil)
    return token
  }

  mutating func addItem(_ plan: GooglePlan, to token: String) {
    let now = now
    let order = newOrderID()
    update(token) { sale in
      guard let end = sale.expiry, sale.state == .active else {
        preconditionFailure("only a running subscription gets another item")
      }
      sale.items.append(.init(plan: plan, expiry: end, order: order))
      sale.paid.append(.init(productID: plan.productID, orderID: order, from: now, to: end))
    }
    put(makeOrder(order, token, from: now, .processed))
    notify(token, 17)
  }

  /// Removes an item at the renewal.
  mutating func removeItem(_ productID: String, from token: String) {
    update(token) { sale in
      for index in sale.items.indices where sale.items[index].plan.productID == productID {
        sale.items[index].isLeaving = true
      }
    }
    notify(token, 17)
  }

  // MARK: the rest

  mutating func restore(_ token: String) {
    let sale = self[token]
    guard sale.state == .canceled, case .user = sale.cancellation, let end = sale.expiry, now < end
    else { preconditionFailure("only a customer's cancel is undone, before its end") }
    update(token) {
      $0.state = .active
      $0.cancellation = nil
      $0.isAutoRenewing = true
    }
    notify(token, 7)
  }

  /// Pauses for that length from the next renewal date; nil cancels a planned pause.
  mutating func schedulePause(_ token: String, _ span: Instant.Span?) {
    precondition(self[token].state == .active, "only a running subscription pauses")
    update(token) { $0.scheduledPause = span }
    notify(token, 11)
  }

  /// Moves the renewal date: extra time from the seller.
  mutating func postpone(_ token: String, by span: Instant.Span) {
    let now = now
    update(token) { sale in
      guard let end = sale.expiry, let order = sale.items[0].order, sale.state == .active, now < end
      else {
        preconditionFailure("only a running subscription is deferred")
      }
      sale.setExpiry(end + span)
      sale.paid.append(
        .init(productID: sale.plan.productID, orderID: order, from: end, to: end + span))
    }
    notify(token, 9)
  }

  /// Refunds an order; access ends only with `revoking`.
  mutating func refund(_ order: String, revoking: Bool) {
    guard let token = orders[order]?.token else { preconditionFailure("no such order") }
    if revoking { revoke(token, .refund, order: order) } else { updateOrder(order, to: .refunded) }
  }

  /// The customer's bank takes an order's payment back.
  mutating func chargeBack(_ order: String) {
    guard let token = orders[order]?.token else { preconditionFailure("no such order") }
    let sale = self[token]
    if sale.state != .expired, sale.items.contains(where: { $0.order == order }) {
      revoke(token, .chargeback)
    } else {
      update(token) { sale in
        sale.chargedBack += sale.paid.filter { $0.orderID == order }
        sale.paid.removeAll { $0.orderID == order }
      }
      void(order, of: token, .chargeback)
    }
  }

  /// False while there is nothing to acknowledge.
  mutating func acknowledge(_ token: String, accountID: String?) -> Bool {
    let now = now
    let sale = self[token]
    guard sale.start != nil else { return false }
    guard sale.acknowledged == nil else { return true }
    update(token) {
      $0.acknowledged = now
      $0.outOfApp = nil
      if let accountID { $0.accountID = accountID }
    }
    return true
  }
}
