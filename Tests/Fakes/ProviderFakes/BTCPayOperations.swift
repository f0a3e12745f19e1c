package import Base
import JSON

/// The operations of a shop, its customers and its operator.
extension FakeBTCPay {
  /// The shop requests the price of a product from an account; returns the invoice's id.
  package func order(_ product: BTCPayProduct, for account: Identifier?) -> String {
    invoice(
      orderID: account?.description, itemCode: product.itemCode, cents: product.cents,
      sale: product)
  }

  /// Someone creates an invoice of their own, as a carelessly configured store allows.
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

  /// Pays `cents` (default: all that is due); returns the payment's id.
  ///
  /// Lightning is confirmed at once, everything else after `confirmingAfter`; nil: never.
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

  /// The network confirms a payment unexpectedly.
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

  /// The payer sends the same money elsewhere, or the network drops the payment. No event reports it.
  package func lose(_ payment: String, of invoice: String) {
    act { $0.world.lose(payment, of: $0.world.place(invoice)) }
  }

  /// The operator marks the invoice as settled or as invalid.
  package func mark(_ invoice: String, isSettled: Bool) {
    act { $0.world.mark($0.world.place(invoice), isSettled: isSettled) }
  }

  package func archive(_ invoice: String) {
    act { state in state.world.change(state.world.place(invoice)) { $0.isArchived = true } }
  }

  /// The operator creates a claim link for a refund. The invoice does not change.
  package func offerRefund(_ invoice: String) {
    act { state in
      let id = state.world.nextID()
      state.world.tell(
        "InvoiceRefund", state.world.place(invoice), [.init("pullPaymentId", .string(id))])
    }
  }

  /// The payer uses the refund link.
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

  /// "Send test event", as in servers before 2.3.
  package func sendTest() {
    act { state in
      let id = state.world.nextHex(8)
      state.world.tell("InvoiceSettled", invoice: "__test__\(id)__test__", [])
    }
  }

  /// Signs further deliveries with another secret, except those that wait already.
  package func change(secret: Secret) { act { $0.secret = secret } }

  /// Restarts the server: deliveries that waited are lost.
  package func restart() { act { $0.queue.forget() } }

  /// The operator's button to redeliver an earlier delivery.
  package func redeliver(_ delivery: FakeDelivery) {
    let now = clock.now
    act { $0.queue.redeliver(delivery.id, at: now) }
  }

  /// The state as shown to the operator: `Settled/Marked`.
  package func status(of invoice: String) -> String {
    act { state in
      let row = state.world.invoices[state.world.place(invoice)]
      return "\(row.status.rawValue)/\(row.additional.rawValue)"
    }
  }

  /// Every invoice that has not been deleted, oldest first.
  package var invoices: [String] {
    act { state in state.world.invoices.filter { !$0.isDeleted }.map(\.id) }
  }

  /// Every account that an invoice names, in the order of their first invoices.
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
