import Base

// Why an operation is impossible at a store in its present state, for callers that serve outside requests.
// The fakes themselves trap, because a test that does what no customer could do is wrong.

extension FakeAppStore {
  package enum Act: Sendable {
    case cancel, restore, extend, resubscribe, share, stopSharing
    case change(AppleProduct)
    /// The refund of a transaction of the subscription.
    case refund(String)
    case reverseRefund(String)
  }

  /// A sentence; nil if it is possible. `id` must name an existing subscription.
  package func hindrance(to deed: Act, _ id: String) -> String? {
    act { world in
      let subscription = world[id]
      let isShared = subscription.sharedFrom != nil
      let isRunning = subscription.phase == .running && !isShared
      let hasBegun = subscription.last.purchased <= world.now
      func sale(_ transaction: String) -> AppleSale? {
        subscription.sales.first { $0.id == transaction }
      }
      switch deed {
      case .cancel, .restore:
        let isCommitted = subscription.product.commitment != nil
        let renews = isCommitted ? subscription.commitmentRenews : subscription.willRenew
        if subscription.isOver { return "It is over." }
        if case .cancel = deed { return renews ? nil : "It was cancelled already." }
        return renews ? "It renews as it is." : nil
      case .change(let product):
        guard isRunning, hasBegun else { return "Only what runs and was not shared is changed." }
        guard subscription.product.groupID == product.groupID else {
          return "A change stays in its group of subscriptions."
        }
        let isSame = subscription.product == product && subscription.nextProduct == nil
        return isSame ? "It has that plan." : nil
      case .refund(let transaction):
        guard let sale = sale(transaction) else { return "It has no transaction \(transaction)." }
        if isShared { return "Who shares it has paid nothing." }
        return sale.revocation == nil ? nil : "The money went back already."
      case .reverseRefund(let transaction):
        guard let sale = sale(transaction) else { return "It has no transaction \(transaction)." }
        return sale.revocation == nil ? "Nothing of it was refunded." : nil
      case .extend:
        guard subscription.phase == .running else { return "Only what runs is extended." }
        return world.isExtendable(id) ? nil : "It was extended twice within 365 days."
      case .resubscribe:
        return subscription.isOver && !isShared ? nil : "Only what is over is bought again."
      case .share: return isRunning && hasBegun ? nil : "Only what runs can be shared."
      case .stopSharing:
        return isShared && !subscription.isOver ? nil : "It is not shared by another."
      }
    }
  }
}

extension FakePlayStore {
  package enum Act: Sendable {
    case cancel, restore, change, refund, pause, resume, resubscribe
  }

  /// A sentence; nil if it is possible. `token` must name an existing purchase.
  package func hindrance(to deed: Act, _ token: String) -> String? {
    let latest = orders(of: token).last
    return act { state in
      let (sale, now) = (state.play[token], state.play.now)
      switch deed {
      case .cancel:
        let isAlive = [.active, .inGracePeriod, .onHold, .paused].contains(sale.state)
        return isAlive ? nil : "It does not renew as it is."
      case .restore:
        guard sale.state == .canceled, case .user = sale.cancellation, let end = sale.expiry,
          now < end
        else { return "Only what its customer cancelled is restored, before its end." }
        return nil
      case .change:
        return sale.start != nil && sale.state != .expired ? nil : "Only what lives is replaced."
      case .refund:
        let order = latest.flatMap { state.play.orders[$0] }
        return order?.state == .processed ? nil : "Nobody's money is there to give back."
      case .pause: return sale.state == .active ? nil : "Only what runs is paused."
      case .resume: return sale.state == .paused ? nil : "It is not paused."
      case .resubscribe: return sale.state == .expired ? nil : "Only what expired is bought again."
      }
    }
  }
}

extension FakeStripe {
  package enum Act: Sendable {
    case cancel, restore, end, change, refund, dispute, pause, resume
  }

  /// A sentence; nil if it is possible. `id` must name an existing subscription.
  package func hindrance(to deed: Act, _ id: String) -> String? {
    operate { world in
      let subscription = world.subscriptions[id]
      if subscription.isEnded, ![.refund, .dispute].contains(deed) { return "It has ended." }
      switch deed {
      case .cancel: return subscription.cancelAt == nil ? nil : "It was cancelled already."
      case .restore: return subscription.cancelAt == nil ? "It was not cancelled." : nil
      case .end: return nil
      case .change:
        let isFree = subscription.status == .active && subscription.pendingUpdate == nil
        return isFree ? nil : "Only what is active is changed."
      case .pause: return subscription.pause == nil ? nil : "It is paused already."
      case .resume: return subscription.pause == nil ? "It is not paused." : nil
      case .refund, .dispute:
        guard let invoice = subscription.latestInvoice, let id = world.invoices[invoice].payment,
          world.payments[id].status == .succeeded
        else { return "Nobody paid its latest invoice with money." }
        let given = world.refunds.rows.filter { $0.payment == id && $0.status != .failed }
        if deed == .refund, given.reduce(0, { $0 + $1.amount }) >= world.payments[id].amount {
          return "The money went back already."
        }
        let isDisputed = world.disputes.rows.contains { $0.payment == id }
        return isDisputed ? "The payment is disputed already." : nil
      }
    }
  }
}

extension FakeBTCPay {
  /// Why an operator cannot mark an existing invoice; nil if it is possible.
  package func hindranceToMark(_ invoice: String) -> String? {
    act { state in
      let row = state.world.invoices[state.world.place(invoice)]
      return row.canBeMarked ? nil : "What settled by itself is not marked."
    }
  }
}
