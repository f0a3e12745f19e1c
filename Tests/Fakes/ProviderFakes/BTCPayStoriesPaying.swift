import Base

extension BTCPayStory {
  static let paying = [
    BTCPayStory(
      "first-purchase", "A month is paid in bitcoin, confirmed, and ends by itself"
    ) { story in
      story.time(story.clock.now - .seconds(60), .nobody)
      let invoice = story.ask(.premiumMonth)
      story.go(.minutes(5))
      story.store.pay(invoice)
      story.deliver(.pending)
      story.go(.minutes(20))
      story.deliver(.premium(), .premium())
      story.edge(story.end(invoice), .premium(), .ended)
    },
    BTCPayStory(
      "first-purchase-by-lightning", "A year is paid by Lightning and starts at once"
    ) { story in
      let invoice = story.buy(.premiumYear)
      story.time(story.clock.now + .days(200), .premium())
      story.edge(story.end(invoice), .premium(), .ended)
    },
    BTCPayStory(
      "first-purchase-in-monero", "Monero is seen late and confirmed later"
    ) { story in
      let invoice = story.ask(.premiumMonth)
      story.go(.minutes(40))
      story.store.pay(invoice, .monero, confirmingAfter: .hours(3))
      story.deliver(.pending)
      story.time(story.clock.now + .hours(2), .pending)
      story.go(.hours(1))
      story.deliver(.premium(), .premium())
    },
    BTCPayStory(
      "paid-in-two-parts", "Two payments that together are enough are one purchase"
    ) { story in
      let invoice = story.ask(.premiumMonth)
      story.store.pay(invoice, cents: 200)
      story.go(.minutes(20))
      // The first part is confirmed.
      story.deliver(.pending)
      story.store.pay(invoice)
      story.deliver(.pending)
      story.go(.minutes(20))
      story.deliver(.premium(), .premium())
    },
    BTCPayStory(
      "overpaid", "A surplus buys no more than what was asked for"
    ) { story in
      let invoice = story.ask(.premiumMonth)
      story.store.pay(invoice, cents: 900, .lightning)
      story.deliver(.premium(), .premium(), .premium())
      story.edge(story.end(invoice), .premium(), .ended)
    },
    BTCPayStory(
      "paid-after-settling", "A payment to an invoice that is settled buys nothing"
    ) { story in
      let invoice = story.buy()
      story.go(.days(2))
      story.store.pay(invoice, cents: 299, .lightning)
      story.deliver(.premium())
      story.edge(story.end(invoice), .premium(), .ended)
    },
    BTCPayStory(
      "redelivered", "A delivery that comes again changes nothing"
    ) { story in
      let invoice = story.buy()
      story.go(.minutes(10))
      story.repeatLast(.premium())
      story.go(.days(20))
      story.repeatLast(.premium())
      story.edge(story.end(invoice), .premium(), .ended)
    },
  ]
}
