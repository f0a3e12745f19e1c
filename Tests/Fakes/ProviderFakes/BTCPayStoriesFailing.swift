import Base

/// Payments that differ from the request, or do not arrive.
extension BTCPayStory {
  static let failing = [
    BTCPayStory("never-paid", "An invoice that nobody pays expires") { story in
      _ = story.ask(.premiumMonth)
      story.go(.hours(1))
      story.deliver(.neverPaid)
    },
    BTCPayStory("underpaid", "Too little is kept by the shop and buys nothing") { story in
      let invoice = story.ask(.premiumMonth)
      story.store.pay(invoice, cents: 200)
      story.go(.minutes(20))
      story.deliver(.pending)
      story.go(.minutes(40))
      story.deliver(.neverPaid, .neverPaid)
    },
    BTCPayStory("paid-late", "What is paid after the time is over buys nothing by itself") {
      story in
      let invoice = story.ask(.premiumMonth)
      story.go(.hours(1))
      story.deliver(.neverPaid)
      story.go(.hours(2))
      story.store.pay(invoice)
      story.deliver(.neverPaid)
      story.go(.minutes(20))
      story.deliver(.neverPaid)
      story.time(story.clock.now + .days(3), .neverPaid)
    },
    BTCPayStory(
      "paid-late-then-accepted", "The operator accepts a late payment, and the period begins then"
    ) { story in
      let invoice = story.ask(.premiumMonth)
      story.go(.hours(3))
      story.deliver(.neverPaid)
      story.store.pay(invoice, .lightning)
      story.deliver(.neverPaid, .neverPaid)
      story.go(.days(1))
      story.store.mark(invoice, isSettled: true)
      story.deliver(.premium())
      story.edge(story.end(invoice), .premium(), .ended)
    },
    BTCPayStory(
      "never-confirmed", "A payment that its network never confirms buys nothing"
    ) { story in
      let invoice = story.ask(.premiumMonth)
      let payment = story.store.pay(invoice, confirmingAfter: nil)
      story.deliver(.pending)
      story.go(.days(1))
      story.go(.hours(1))
      story.deliver(.neverPaid)
      story.go(.days(2))
      // At this time a confirmation no longer helps.
      story.store.confirm(payment, of: invoice)
      story.deliver(.neverPaid)
    },
    BTCPayStory(
      "payment-replaced", "A payment that is sent elsewhere leaves the invoice to expire"
    ) { story in
      let invoice = story.ask(.premiumMonth)
      let payment = story.store.pay(invoice, confirmingAfter: nil)
      story.deliver(.pending)
      story.go(.minutes(10))
      story.store.lose(payment, of: invoice)
      story.go(.minutes(50))
      story.deliver(.neverPaid)
    },
    BTCPayStory(
      "an-invoice-of-a-cent", "Who makes an invoice of his own pays the price or gets nothing"
    ) { story in
      let cheap = story.store.makeUp(
        orderID: story.account.description, itemCode: "premium-year", cents: 1)
      story.deliver(.pending)
      story.store.pay(cheap, .lightning)
      story.deliver(.neverPaid, .neverPaid, .neverPaid)
      let foreign = story.store.makeUp(
        orderID: story.account.description, itemCode: "premium-month", cents: 299, currency: "TRY")
      story.deliver(.pending)
      story.store.pay(foreign, .lightning)
      story.deliver(.neverPaid, .neverPaid, .neverPaid)
      let topUp = story.store.makeUp(
        orderID: story.account.description, itemCode: "premium-month", cents: nil)
      story.deliver(.pending)
      story.store.pay(topUp, cents: 299, .lightning)
      story.deliver(.neverPaid, .neverPaid, .neverPaid)
    },
    BTCPayStory("something-else", "What is no storage is no matter") { story in
      let invoice = story.ask(.stickers)
      story.store.pay(invoice, .lightning)
      story.deliver(.neverPaid, .neverPaid, .neverPaid)
    },
  ]
}
