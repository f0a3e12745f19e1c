import Base

/// What an operator grants and takes back.
extension BTCPayStory {
  static let reversing = [
    BTCPayStory(
      "given-then-taken-back", "A period by the operator's word ends by the operator's word"
    ) { story in
      let invoice = story.ask(.premiumMonth)
      story.store.mark(invoice, isSettled: true)
      story.deliver(.premium())
      story.go(.days(7))
      story.store.mark(invoice, isSettled: false)
      story.deliver(.free("refunded", "revoked"))
      story.time(story.clock.now + .days(60), .free("refunded", "revoked"))
    },
    BTCPayStory(
      "taken-back-then-restored", "Marked settled again, a period is what it was"
    ) { story in
      let invoice = story.ask(.premiumMonth)
      story.store.mark(invoice, isSettled: true)
      story.deliver(.premium())
      let end = story.end(invoice)
      story.go(.days(3))
      story.store.mark(invoice, isSettled: false)
      story.deliver(.free("refunded", "revoked"))
      story.go(.days(1))
      story.store.mark(invoice, isSettled: true)
      story.deliver(.premium())
      story.edge(end, .premium(), .ended)
    },
    BTCPayStory(
      "taken-back-and-moved-up", "What was paid later takes the place of what is taken back"
    ) { story in
      let first = story.ask(.premiumYear)
      story.store.mark(first, isSettled: true)
      story.deliver(.premium())
      story.go(.days(10))
      let second = story.buy(.plusMonth, .premium(), .premium())
      story.go(.days(10))
      story.store.mark(first, isSettled: false)
      story.deliver(.plus())
      story.edge(story.end(second), .plus(), .ended)
    },
    BTCPayStory(
      "refund-offered", "A refund that is offered and paid out ends nothing by itself"
    ) { story in
      let invoice = story.buy()
      story.go(.days(3))
      story.store.offerRefund(invoice)
      story.deliver(.premium())
      story.go(.hours(1))
      story.store.payOutRefund()
      story.deliver(.premium())
      story.edge(story.end(invoice), .premium(), .ended)
    },
    BTCPayStory("a-test", "A test delivery of an invoice that does not exist") { story in
      story.store.sendTest()
      story.deliver(.nobody)
    },
  ]
}
