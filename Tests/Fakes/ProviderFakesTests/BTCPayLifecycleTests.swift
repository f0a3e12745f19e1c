import Base
import ProviderFakes
import Testing

/// The states of an invoice, and their events.
@Suite struct `A fake BTCPay server` {
  private typealias Shop = BTCPayShop

  /// A shop whose webhook gets every type of event.
  private func shop() -> Shop {
    Shop { $0.events.insert("InvoiceReceivedPayment") }
  }

  @Test func `settles an invoice when it is paid and confirmed`() {
    let shop = shop()
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    #expect(shop.store.status(of: invoice) == "New/None")
    shop.store.pay(invoice)
    #expect(shop.store.status(of: invoice) == "Processing/None")
    shop.go(.minutes(20))
    #expect(shop.store.status(of: invoice) == "Settled/None")
    #expect(
      shop.told == [
        "InvoiceCreated", "InvoiceReceivedPayment", "InvoiceProcessing", "InvoicePaymentSettled",
        "InvoiceSettled",
      ])
    #expect(shop.truths() == ["premium 0-31"])
  }

  @Test func `settles at once what is paid by Lightning`() {
    let shop = shop()
    let invoice = shop.store.order(.premiumYear, for: Shop.account)
    shop.store.pay(invoice, .lightning)
    #expect(shop.store.status(of: invoice) == "Settled/None")
    #expect(shop.truths() == ["premium 0-365"])
  }

  @Test func `keeps a surplus apart`() {
    let shop = shop()
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    shop.store.pay(invoice, cents: 1000, .lightning)
    #expect(shop.store.status(of: invoice) == "Settled/PaidOver")
    #expect(shop.truths() == ["premium 0-31"])
  }

  @Test func `waits for the rest of a part, and gives up at the end`() {
    let shop = shop()
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    shop.store.pay(invoice, cents: 100)
    #expect(shop.store.status(of: invoice) == "New/PaidPartial")
    shop.go(.hours(1))
    #expect(shop.store.status(of: invoice) == "Expired/PaidPartial")
    #expect(shop.told.suffix(2) == ["InvoiceExpired", "InvoiceExpiredPaidPartial"])
    #expect(shop.truths().isEmpty)
  }

  @Test func `never settles by itself what is paid late`() {
    let shop = shop()
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    shop.go(.hours(2))
    shop.store.pay(invoice)
    #expect(shop.store.status(of: invoice) == "Expired/PaidLate")
    shop.go(.days(400))
    #expect(shop.store.status(of: invoice) == "Expired/PaidLate")
    #expect(
      shop.told == [
        "InvoiceCreated", "InvoiceExpired", "InvoiceReceivedPayment", "InvoicePaidAfterExpiration",
        "InvoicePaymentSettled",
      ])
    #expect(shop.truths().isEmpty)
  }

  @Test func `gives up what is not confirmed within a day, whatever is confirmed later`() {
    let shop = shop()
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    let payment = shop.store.pay(invoice, confirmingAfter: nil)
    shop.go(.hours(25))
    #expect(shop.store.status(of: invoice) == "Invalid/None")
    shop.store.confirm(payment, of: invoice)
    #expect(shop.store.status(of: invoice) == "Invalid/None")
    #expect(shop.truths().isEmpty)
  }

  @Test func `says nothing of a payment that is gone`() {
    let shop = shop()
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    let payment = shop.store.pay(invoice, confirmingAfter: nil)
    let count = shop.told.count
    shop.store.lose(payment, of: invoice)
    #expect(shop.store.status(of: invoice) == "New/None")
    #expect(shop.told.count == count)
  }

  @Test func `obeys an operator where it did not settle by itself`() {
    let shop = shop()
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    for isSettled in [true, false, true, false] {
      shop.store.mark(invoice, isSettled: isSettled)
      #expect(shop.store.status(of: invoice) == (isSettled ? "Settled/Marked" : "Invalid/Marked"))
      #expect(shop.truths() == (isSettled ? ["premium 0-31"] : []))
      shop.go(.hours(1))
    }
    #expect(
      shop.told == [
        "InvoiceCreated", "InvoiceSettled", "InvoiceInvalid", "InvoiceSettled", "InvoiceInvalid",
      ])
  }

  @Test func `deletes after half a year what nobody paid, and nothing else`() throws {
    let shop = shop()
    let unpaid = shop.store.order(.premiumMonth, for: Shop.account)
    let partly = shop.store.order(.premiumMonth, for: Shop.account)
    shop.store.pay(partly, cents: 1)
    let paid = shop.store.order(.premiumMonth, for: Shop.account)
    shop.store.pay(paid)
    shop.go(.days(200))
    #expect(shop.store.invoices == [partly, paid])
    #expect(try #require(shop.call("/\(unpaid)")).status == 404)
  }

  @Test func `knows what is owed by the invoices that stood at a moment`() {
    let shop = shop()
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    shop.store.mark(invoice, isSettled: true)
    shop.go(.days(3))
    shop.store.mark(invoice, isSettled: false)
    #expect(shop.store.truths(of: Shop.account, asOf: Shop.start - .seconds(1)).isEmpty)
    #expect(shop.store.truths(of: Shop.account, asOf: Shop.start + .days(2)).count == 1)
    #expect(shop.store.truths(of: Shop.account).isEmpty)
  }

  @Test func `sells one after the other, and additions beside`() {
    let shop = shop()
    for product in [BTCPayProduct.premiumMonth, .plusMonth, .extraMonth, .extraMonth] {
      shop.store.pay(shop.store.order(product, for: Shop.account), .lightning)
      shop.go(.days(1))
    }
    shop.store.pay(shop.store.order(.plusMonth, for: Shop.other), .lightning)
    #expect(shop.truths() == ["premium 0-31", "plus 31-61", "extra 2-33", "extra 33-63"])
    #expect(shop.truths(of: Shop.other) == ["plus 4-35"])
  }

  @Test func `sells nothing by an invoice that somebody made up`() {
    let shop = shop()
    let invoice = shop.store.makeUp(
      orderID: Shop.account.description, itemCode: "premium-year", cents: 1)
    shop.store.pay(invoice, .lightning)
    #expect(shop.store.status(of: invoice) == "Settled/None")
    #expect(shop.truths().isEmpty)
  }

  @Test func `names the same invoices and deliveries for the same seed`() {
    func names(_ seed: UInt64) -> [String] {
      let shop = Shop { $0.seed = seed }
      shop.store.pay(shop.store.order(.premiumMonth, for: Shop.account))
      return shop.store.invoices + shop.store.deliveries.map(\.id)
    }
    #expect(names(3) == names(3))
    #expect(names(3) != names(4))
  }
}
