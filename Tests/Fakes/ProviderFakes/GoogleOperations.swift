package import Base

/// The operations of customers, their banks and the seller, at the clock's time.
extension FakePlayStore {
  /// Buys a plan; returns the token. Without `namesOwner` Google never learns our account.
  package func buy(
    _ plan: GooglePlan, for owner: Identifier?, namesOwner: Bool = true, trialDays: Int64? = nil,
    isPending: Bool = false, isTest: Bool = false
  ) -> String {
    act {
      $0.play.buy(
        GooglePlay.Request(
          plan: plan, owner: owner, namesOwner: namesOwner, trialDays: trialDays,
          isPending: isPending, isTest: isTest))
    }
  }

  package func payPending(_ token: String) { act { $0.play.payPending(token) } }
  package func abandonPending(_ token: String) { act { $0.play.abandonPending(token) } }

  /// Performs everything that is due; the other operations do this first anyway.
  package func catchUp() { act { _ in } }

  /// When something next happens by itself: for simulating the provider's time step by step.
  package var nextDue: Instant? {
    act { state in state.play.tokens.compactMap { state.play[$0].due }.min() }
  }

  /// Makes renewals fail from now on.
  package func breakCard(_ token: String) {
    act { $0.play.update(token) { $0.hasWorkingCard = false } }
  }

  /// The card works again, and the open amount is paid at once.
  package func repairCard(_ token: String) { act { $0.play.repairCard(token) } }

  package func cancel(_ token: String) {
    let now = clock.now
    act { $0.play.cancel(token, .user(now)) }
  }

  package func restore(_ token: String) { act { $0.play.restore(token) } }

  package func schedulePause(_ token: String, _ span: Instant.Span) {
    act { $0.play.schedulePause(token, span) }
  }

  package func unschedulePause(_ token: String) { act { $0.play.schedulePause(token, nil) } }

  /// Resumes before the planned time; with a broken card the hold begins.
  package func resume(_ token: String) { act { $0.play.resume(token) } }

  /// Replaces a running purchase with another plan: a new token, linked to the old one.
  package func replace(
    _ token: String, with plan: GooglePlan, _ mode: GoogleReplacementMode, isPending: Bool = false
  ) -> String {
    act { $0.play.replace(token, with: plan, mode, isPending: isPending) }
  }

  package func topUp(_ token: String) -> String { act { $0.play.topUp(token) } }

  package func resubscribeOutsideApp(_ token: String) -> String {
    act { $0.play.resubscribeOutsideApp(token) }
  }

  /// A new token, linked to the old one, with one more item.
  package func addToCart(_ plan: GooglePlan, _ token: String) -> String {
    act { $0.play.addToCart(plan, token) }
  }

  /// The renewal of one item is declined while others have time left. The whole purchase is on hold for 30
  /// days, or until the card works.
  package func hold(_ token: String, for item: GooglePlan, keepsOrders: Bool = true) {
    act { $0.play.hold(token, for: item.productID, keepsOrders: keepsOrders) }
  }

  package func addItem(_ plan: GooglePlan, to token: String) {
    act { $0.play.addItem(plan, to: token) }
  }

  package func removeItem(_ productID: String, from token: String) {
    act { $0.play.removeItem(productID, from: token) }
  }

  package func postpone(_ token: String, by span: Instant.Span) {
    act { $0.play.postpone(token, by: span) }
  }

  package func refund(_ order: String, revoking: Bool) {
    act { $0.play.refund(order, revoking: revoking) }
  }

  package func chargeBack(_ order: String) { act { $0.play.chargeBack(order) } }

  /// As the app or another server of the seller would; false if the purchase is not granted yet.
  @discardableResult
  package func acknowledge(_ token: String, accountID: Identifier? = nil) -> Bool {
    act { $0.play.acknowledge(token, accountID: accountID?.description) }
  }

  // MARK: notifications without a change

  /// Sends a notification of any type about a purchase: 19, 22, or an unknown one.
  package func notify(_ token: String, type: Int64) { act { $0.play.notify(token, type) } }

  package func sendTestNotification() { act { $0.play.publish(.test) } }

  package func sellOneTimeProduct(_ product: String) {
    act {
      let token = $0.play.newToken()
      $0.play.publish(.oneTime(1, token: token, product: product))
    }
  }

  package func askForRefundReview(_ order: String) {
    act {
      let token = $0.play.newToken()
      $0.play.publish(.refundReview(token: token, order: order))
    }
  }

  /// Makes reads of that token answer 404 or 410 in any state; nil ends it.
  package func refuseReads(of token: String, status: Int?) {
    state.withLock { $0.refusals[token] = status }
  }
}
