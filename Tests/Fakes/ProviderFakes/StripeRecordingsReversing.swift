import Base

/// Money that goes back or is contested.
extension StripeRecording {
  static let reversing: [StripeRecording] = [
    StripeRecording(
      "refund-of-the-current-period",
      "A refund of the current period ends access then, whatever the subscription says"
    ) { story in
      let sub = story.buyAndPay()
      let end = story.periodEnd(sub)
      story.time(story.clock.now + .days(10), .subscribed)
      story.giveBack(story.store.latestInvoice(of: sub), .revoked)
      story.time(story.clock.now + .days(1), .revoked)
      story.go(.days(1))
      story.store.delete(sub)
      story.subscription("deleted", .revoked)
      story.time(end, .revoked)
    },
    StripeRecording(
      "refund-of-an-earlier-period", "A refund of an earlier period leaves current access as it is"
    ) { story in
      let sub = story.buyAndPay()
      let renewed = story.periodEnd(sub)
      story.go(to: renewed)
      story.subscription("updated", .leeway)
      story.go(to: renewed + .hours(1))
      story.invoice("paid", .subscribed)
      story.payment(.subscribed)
      story.go(to: renewed + .days(5))
      story.giveBack(story.store.invoices(of: sub)[0], .subscribed)
      story.edge(story.periodEnd(sub), .subscribed, .leeway)
    },
    StripeRecording("refund-that-fails", "A refund that itself fails brings access back") { story in
      let sub = story.buyAndPay()
      story.go(.days(10))
      let refund = story.giveBack(story.store.latestInvoice(of: sub), .revoked)
      story.time(story.clock.now + .days(4), .revoked)
      story.go(.days(1))
      story.store.settle(refund: refund, succeeds: false)
      let hasEvents = story.store.settings.version.hasRefundEvents
      story.tell(hasEvents ? "refund.failed" : "charge.refund.updated", .subscribed)
      story.edge(story.periodEnd(sub), .subscribed, .leeway)
    },
    StripeRecording(
      "refunds-of-parts",
      "Two refunds of parts take the period back when together they are all of it"
    ) { story in
      let sub = story.buyAndPay()
      let end = story.periodEnd(sub)
      let invoice = story.store.latestInvoice(of: sub)
      story.go(.days(5))
      story.giveBack(invoice, .subscribed, amount: 119)
      story.time(story.clock.now + .days(4), .subscribed)
      story.giveBack(invoice, .revoked)
      story.time(end, .revoked)
    },
    StripeRecording(
      "dispute-lost", "A dispute is only noted while open, and takes its period back when lost"
    ) { story in
      let (sub, dispute) = contest(story)
      let end = story.periodEnd(sub)
      story.time(story.clock.now + .days(13), .contested)
      story.store.close(dispute: dispute, isWon: false)
      story.tell("charge.dispute.closed", .revoked)
      story.go(.hours(1))
      story.store.delete(sub)
      story.subscription("deleted", .revoked)
      story.time(end, .revoked)
    },
    StripeRecording("dispute-won", "A dispute that is won changes nothing") { story in
      let (sub, dispute) = contest(story)
      story.go(.days(13))
      story.store.close(dispute: dispute, isWon: true)
      story.tell("charge.dispute.closed", .subscribed)
      story.tell("charge.dispute.funds_reinstated", .subscribed)
      story.edge(story.periodEnd(sub), .subscribed, .leeway)
    },
  ]

  /// The customer's bank takes the money back four days after the purchase and asks for evidence, which it
  /// gets three days later.
  static func contest(_ story: StripeRecorder) -> (subscription: String, dispute: String) {
    let sub = story.buyAndPay()
    story.go(.days(4))
    let dispute = story.store.dispute(
      invoice: story.store.latestInvoice(of: sub), reason: "subscription_canceled")
    story.tell("charge.dispute.created", .contested)
    story.tell("charge.dispute.funds_withdrawn", .contested)
    story.go(.days(3))
    story.store.answer(dispute: dispute)
    story.tell("charge.dispute.updated", .contested)
    return (sub, dispute)
  }
}
