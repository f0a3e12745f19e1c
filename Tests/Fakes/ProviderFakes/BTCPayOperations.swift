package import Base
internal import JSON

/// What a shop, its customers and its operator do.
extension FakeBTCPay {
  /// The shop asks an account for the price of a product; the invoice's id.
  package func order(_ product: BTCPayProduct, for account: Identifier?) -> String {
    invoice(
      orderID: account?.description, itemCode: product.itemCode, cents: product.cents,
      sale: product)
  }

  /// Somebody makes an invoice of his own, as a careless store lets everybody.
  package func makeUp(
    orderID: String?, itemCode: String?, cents: Int64?, currency: String = "EUR"
  ) -> String {
    invoice(orderID: orderID, itemCode: itemCode, cents: cents, currency: currency, sale: nil)
  }

  private func invoice(
    orderID: String?, itemCode: String?, cents: Int64?, currency: String = "EUR",
    sale: BTCPayProduct?
  ) -> String {
    act { state in
      let now = state.world.now
      let id = state.world.nextID()
      state.world.add(
        BTCPayWorld.Invoice(
          id: id, orderID: orderID, itemCode: itemCode, cents: cents, currency: currency,
          created: now, expires: now + settings.expiration,
          monitored: now + settings.expiration + settings.monitoring, sale: sale))
      return id
    }
  }

  /// Pays `cents`, all that is due unless told otherwise; the payment's id.
  ///
  /// Lightning is confirmed at once, everything else after `confirmingAfter`, nil for never.
  @discardableResult
  package func pay(
    _ invoice: String, cents: Int64? = nil, _ method: BTCPayMethod = .bitcoin,
    confirmingAfter span: Instant.Span? = .minutes(20)
  ) -> String {
    act { state in
      let place = state.world.place(invoice)
      let row = state.world.invoices[place]
      let due = (row.cents ?? 0) - row.paid
      let id = state.world.nextHex(32) + (method == .bitcoin ? "-0" : "")
      let now = state.world.now
      let isLightning = method == .lightning
      state.world.receive(
        BTCPayWorld.Payment(
          id: id, cents: cents ?? max(1, due), method: method, received: now,
          confirms: isLightning ? nil : span.map { now + $0 }, isConfirmed: isLightning),
        for: place)
      return id
    }
  }

  /// Its network confirms a payment that nobody expected it to.
  package func confirm(_ payment: String, of invoice: String) {
    act { state in
      let place = state.world.place(invoice)
      let payments = state.world.invoices[place].payments
      guard let index = payments.firstIndex(where: { $0.id == payment && !$0.isConfirmed }) else {
        preconditionFailure("there is no such open payment")
      }
      state.world.confirm(index, of: place)
    }
  }

  /// The payer sends the same money elsewhere, or the network drops the payment; nobody is told.
  package func lose(_ payment: String, of invoice: String) {
    act { $0.world.lose(payment, of: $0.world.place(invoice)) }
  }

  /// The operator says that it is paid, or that it is not.
  package func mark(_ invoice: String, isSettled: Bool) {
    act { $0.world.mark($0.world.place(invoice), isSettled: isSettled) }
  }

  package func archive(_ invoice: String) {
    act { state in state.world.change(state.world.place(invoice)) { $0.isArchived = true } }
  }

  /// The operator makes a claim link for a refund. The invoice stays as it is.
  package func offerRefund(_ invoice: String) {
    act { state in
      let id = state.world.nextID()
      state.world.tell(
        "InvoiceRefund", state.world.place(invoice), [.init("pullPaymentId", .string(id))])
    }
  }

  /// The payer used the link.
  package func payOutRefund() {
    act { state in
      let ids = (state.world.nextID(), state.world.nextID())
      state.world.tell(
        "PayoutUpdated", invoice: nil,
        [
          .init("payoutId", .string(ids.0)), .init("pullPaymentId", .string(ids.1)),
          .init("payoutState", "Completed"),
        ])
    }
  }

  /// "Send test event", of servers before 2.3.
  package func sendTest() {
    act { state in
      let id = state.world.nextHex(8)
      state.world.tell("InvoiceSettled", invoice: "__test__\(id)__test__", [])
    }
  }

  /// From now on deliveries are signed with another secret, but for those that wait.
  package func change(secret: Secret) { act { $0.secret = secret } }

  /// The server is stopped and started: what waited to be delivered is forgotten.
  package func restart() { act { $0.queue.forget() } }

  /// The operator's button beside an earlier delivery.
  package func redeliver(_ delivery: FakeDelivery) {
    let now = clock.now
    act { $0.queue.redeliver(delivery.id, at: now) }
  }

  /// The state as the operator sees it: `Settled/Marked`.
  package func status(of invoice: String) -> String {
    act { state in
      let row = state.world.invoices[state.world.place(invoice)]
      return "\(row.status.rawValue)/\(row.additional.rawValue)"
    }
  }

  /// Every invoice that is still there, oldest first.
  package var invoices: [String] {
    act { state in state.world.invoices.filter { !$0.isDeleted }.map(\.id) }
  }

  /// Every account that an invoice names, in the order of the first of each.
  package var accounts: [Identifier] {
    act { state in
      var accounts: [Identifier] = []
      for invoice in state.world.invoices {
        guard let account = invoice.orderID.flatMap({ Identifier($0) }),
          !accounts.contains(account)
        else { continue }
        accounts.append(account)
      }
      return accounts
    }
  }
}
