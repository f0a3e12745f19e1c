import Base

/// Purchases of several items: each change of the cart is a purchase that replaces the one before.
extension GooglePlay {
  /// Adds an item from now to the end of the period; the other items stay as they are.
  mutating func addToCart(_ plan: GooglePlan, _ old: String) -> String {
    let sale = self[old]
    let now = now
    guard let end = sale.expiry, sale.state == .active else {
      preconditionFailure("only a running subscription gets another item")
    }
    let (token, order) = (newToken(), newOrderID())
    var next = GoogleSale(
      token: token, isTest: sale.isTest, owner: sale.owner, accountID: sale.accountID,
      items: sale.items + [.init(plan: plan, expiry: end, order: order)], firstOrder: order,
      isAutoRenewing: true)
    next.state = .active
    next.start = now
    next.linkedToken = old
    next.acknowledgeBy = now + sale.terms.acknowledgement(plan, from: now)
    next.paid = next.items.compactMap { item in
      item.order.map { id in
        GoogleTruth.Period(
          productID: item.plan.productID, orderID: id, from: now, to: item.expiry ?? end)
      }
    }
    add(next)
    put(makeOrder(order, token, from: now, .processed))
    notify(token, 4)
    close(old)
    update(old) { $0.cancellation = .replacement }
    notify(old, 13)
    return token
  }

  /// One item's own renewal is declined: the whole purchase is put on hold.
  mutating func hold(_ token: String, for item: String, keepsOrders: Bool) {
    let now = now
    let order = nextOrderID(token)
    update(token) { sale in
      precondition(sale.state == .active, "only what runs is held")
      for index in sale.items.indices where sale.items[index].plan.productID == item {
        sale.items[index].expiry = now
      }
      sale.state = .onHold
      sale.pendingOrder = order
      sale.trouble = .init(
        declined: now, until: now + .days(30), item: item, keepsOrders: keepsOrders)
      sale.paid = sale.paid.compactMap { $0.cut(at: now) }
    }
    put(makeOrder(order, token, from: now, .pending))
    notify(token, 5)
  }

  /// The item was not paid: it is removed, and the others continue for their remaining time.
  mutating func goOnWithout(_ item: String, _ token: String) {
    let now = now
    update(token) { sale in
      let keepsOrders = sale.trouble?.keepsOrders ?? true
      sale.state = .active
      sale.trouble = nil
      sale.pendingOrder = nil
      for index in sale.items.indices where sale.items[index].plan.productID != item {
        guard let end = sale.items[index].expiry, let order = sale.items[index].order else {
          continue
        }
        sale.paid.append(
          .init(productID: sale.items[index].plan.productID, orderID: order, from: now, to: end))
        if !keepsOrders { sale.items[index].order = nil }
      }
    }
    notify(token, 17)
  }

  /// The item is paid after all: the others get the lost time back.
  mutating func payFor(_ item: String, _ token: String, _ trouble: GoogleSale.Trouble) {
    let now = now
    let order = self[token].pendingOrder ?? nextOrderID(token)
    update(token) { sale in
      sale.state = .active
      sale.trouble = nil
      sale.pendingOrder = nil
      sale.renewalCount += 1
      for index in sale.items.indices {
        let plan = sale.items[index].plan
        if plan.productID == item {
          sale.items[index].expiry = sale.terms.end(plan.period, from: now)
          sale.items[index].order = order
        } else {
          sale.items[index].expiry = sale.items[index].expiry.map { $0 + (now - trouble.declined) }
        }
        if let end = sale.items[index].expiry, let order = sale.items[index].order {
          sale.paid.append(.init(productID: plan.productID, orderID: order, from: now, to: end))
        }
      }
    }
    put(makeOrder(order, token, from: now, .processed))
    notify(token, 1)
  }
}
