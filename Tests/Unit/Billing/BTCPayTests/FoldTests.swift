import BTCPay
import Base
import Subscriptions
import Testing
import Tiers

struct FoldTests {
  @Test func `a settled invoice is a prepaid month from when it settled`() {
    var shop = Shop()
    shop.paid("A", "premium-month", "3.00", day: 0)
    #expect(shop.owed == ["premium A 2026-01-05T10:00:00Z 2026-02-05T10:00:00Z"])
    #expect(shop.coverage.intervals.map(\.why) == [.subscribed])
    #expect(shop.coverage.alarms.isEmpty)
    #expect(shop.label(at: Shop.day(3)) == .active)
    #expect(shop.label(at: Shop.day(31)) == .expired)
    #expect(
      shop.coverage.endings == [
        Schedule.Ending(at: Shop.day(31), reason: .lapsed)
      ])
  }

  @Test func `a year is twelve months of the calendar`() {
    var shop = Shop()
    shop.paid("A", "premium-year", "30.00", day: 0)
    #expect(shop.owed == ["premium A 2026-01-05T10:00:00Z 2027-01-05T10:00:00Z"])
  }

  @Test func `what is paid early waits for the end of what runs`() {
    var shop = Shop()
    shop.paid("A", "premium-month", "3.00", day: 0)
    shop.paid("B", "premium-month", "3.00", day: 10)
    shop.paid("C", "premium-year", "30.00", day: 11)
    #expect(
      shop.owed == [
        "premium A 2026-01-05T10:00:00Z 2026-02-05T10:00:00Z",
        "premium B 2026-02-05T10:00:00Z 2026-03-05T10:00:00Z",
        "premium C 2026-03-05T10:00:00Z 2027-03-05T10:00:00Z",
      ])
    #expect(shop.coverage.endings.map(\.at) == [shop.coverage.intervals[2].to])
  }

  @Test func `what is paid after the end begins when it settled`() {
    var shop = Shop()
    shop.paid("A", "premium-month", "3.00", day: 0)
    shop.paid("B", "premium-month", "3.00", day: 40)
    #expect(
      shop.owed == [
        "premium A 2026-01-05T10:00:00Z 2026-02-05T10:00:00Z",
        "premium B 2026-02-14T10:00:00Z 2026-03-14T10:00:00Z",
      ])
    #expect(shop.label(at: Shop.day(35)) == .pending)
  }

  @Test func `a row that began on a 31st keeps its day`() {
    var shop = Shop()
    for (day, id) in ["A", "B", "C"].enumerated() {
      shop.read(id, Samples.invoice())
      shop.settled(id, at: Instant(seconds: 1_769_817_600) + .minutes(Int64(day)))
    }
    #expect(
      shop.owed == [
        "premium A 2026-01-31T00:00:00Z 2026-02-28T00:00:00Z",
        "premium B 2026-02-28T00:00:00Z 2026-03-31T00:00:00Z",
        "premium C 2026-03-31T00:00:00Z 2026-04-30T00:00:00Z",
      ])
  }

  @Test func `another plan waits its turn, too`() {
    var shop = Shop()
    shop.paid("A", "premium-month", "3.00", day: 0)
    shop.paid("B", "plus-month", "10.00", day: 10)
    #expect(
      shop.owed == [
        "premium A 2026-01-05T10:00:00Z 2026-02-05T10:00:00Z",
        "plus B 2026-02-05T10:00:00Z 2026-03-05T10:00:00Z",
      ])
  }

  @Test func `an addition runs beside, and waits for its own kind alone`() {
    var shop = Shop()
    shop.paid("A", "premium-month", "3.00", day: 0)
    shop.paid("B", "extra-month", "1.00", day: 10)
    shop.paid("C", "extra-month", "1.00", day: 11)
    #expect(
      shop.owed == [
        "premium A 2026-01-05T10:00:00Z 2026-02-05T10:00:00Z",
        "extra B 2026-01-15T10:00:00Z 2026-02-15T10:00:00Z",
        "extra C 2026-02-15T10:00:00Z 2026-03-15T10:00:00Z",
      ])
  }

  @Test func `the signed moment comes before the read that is later`() {
    var shop = Shop()
    shop.paid("A", "premium-month", "3.00", day: 2)
    shop.settled("A", day: 1)
    shop.settled("A", day: 5)
    #expect(shop.owed == ["premium A 2026-01-06T10:00:00Z 2026-02-06T10:00:00Z"])
  }

  @Test func `what settled without anybody hearing of it begins when it was made`() {
    var shop = Shop()
    shop.read("A", Samples.invoice())
    #expect(shop.owed == ["premium A 2026-01-05T10:00:00Z 2026-02-05T10:00:00Z"])
  }

  // MARK: what is not paid

  @Test(arguments: [BTCPayInvoice.Status.new, .processing])
  func `an open invoice owes nothing yet`(status: BTCPayInvoice.Status) {
    var shop = Shop()
    for additional in [BTCPayInvoice.AdditionalStatus.nothing, .paidPartial, .paidOver] {
      shop.read("A\(additional)", Samples.invoice(paid: "1", status, additional))
    }
    #expect(shop.coverage == .none)
    #expect(shop.label(at: Samples.start) == .pending)
  }

  @Test func `an expired invoice owes nothing, and is over`() {
    var shop = Shop()
    shop.read("A", Samples.invoice(paid: "0", .expired))
    #expect(shop.coverage == .none)
    #expect(shop.label(at: Samples.start) == .expired)
  }

  @Test(
    arguments: [
      (.expired, .paidPartial, .partial), (.expired, .paidLate, .late),
      (.invalid, .nothing, .unconfirmed), (.invalid, .paidOver, .unconfirmed),
    ] as [(BTCPayInvoice.Status, BTCPayInvoice.AdditionalStatus, Coverage.Irregularity)])
  func `money that bought nothing is told`(
    status: BTCPayInvoice.Status, additional: BTCPayInvoice.AdditionalStatus,
    irregularity: Coverage.Irregularity
  ) {
    var shop = Shop()
    shop.read("A", Samples.invoice(paid: "3.00", status, additional))
    #expect(shop.owed == [])
    #expect(shop.irregular == [.irregularPayment(irregularity, object: "A")])
  }

  @Test func `an operator's word makes a late payment good`() {
    var shop = Shop()
    shop.read("A", Samples.invoice(paid: "3.00", .expired, .paidLate))
    shop.read("A", Samples.invoice(paid: "3.00", .settled, .marked), day: 1)
    shop.settled("A", day: 1)
    #expect(shop.owed == ["premium A 2026-01-06T10:00:00Z 2026-02-06T10:00:00Z"])
    #expect(shop.irregular.isEmpty)
  }

  @Test func `an operator may give a period away`() {
    var shop = Shop()
    shop.read("A", Samples.invoice(paid: "0", .settled, .marked))
    #expect(shop.owed.count == 1)
    #expect(shop.irregular.isEmpty)
  }

  @Test func `a surplus buys no more, and is told`() {
    var shop = Shop()
    shop.read("A", Samples.invoice(paid: "9.00", .settled, .paidOver))
    #expect(shop.owed.count == 1)
    #expect(shop.irregular == [.irregularPayment(.surplus, object: "A")])
  }

  @Test func `a rest that the store forgave is told`() {
    var shop = Shop()
    shop.read("A", Samples.invoice(paid: "2.97", .settled))
    #expect(shop.owed.count == 1)
    #expect(shop.irregular == [.irregularPayment(.short, object: "A")])
  }

  @Test func `a state that nobody knew owes nothing and is told`() {
    var shop = Shop()
    shop.read("A", Samples.invoice(.other("Frozen")))
    #expect(shop.owed == [])
    #expect(shop.irregular == [.unknownStatus("Frozen")])
  }

  // MARK: taken back

  @Test func `what is marked invalid was never paid, and what follows moves up`() {
    var shop = Shop()
    shop.read("A", Samples.invoice(.settled, .marked))
    shop.settled("A", day: 0)
    shop.paid("B", "premium-month", "3.00", day: 10)
    shop.read("A", Samples.invoice(.invalid, .marked), day: 20)
    #expect(shop.owed == ["premium B 2026-01-15T10:00:00Z 2026-02-15T10:00:00Z"])
    #expect(shop.irregular.isEmpty)
    shop.read("A", Samples.invoice(.settled, .marked), day: 21)
    shop.settled("A", day: 21)
    #expect(
      shop.owed == [
        "premium A 2026-01-05T10:00:00Z 2026-02-05T10:00:00Z",
        "premium B 2026-02-05T10:00:00Z 2026-03-05T10:00:00Z",
      ])
  }

  @Test func `an only period that was taken back is revoked`() {
    var shop = Shop()
    shop.read("A", Samples.invoice(.settled, .marked))
    shop.settled("A", day: 0)
    shop.read("A", Samples.invoice(.invalid, .marked), day: 3)
    #expect(shop.owed == [])
    #expect(shop.coverage.endings == [Schedule.Ending(at: Shop.day(0), reason: .refunded)])
    #expect(shop.label(at: Shop.day(3)) == .revoked)
    #expect(
      Schedule([shop.coverage], catalogue: Samples.catalogue).entry(at: Shop.day(3)).reason
        == .refunded)
  }

  // MARK: what an invoice may be worth

  @Test(arguments: ["3", "3.000", "3.01", "99999999999999999999.99"])
  func `as much as the price, or more, buys the period`(amount: String) {
    var shop = Shop()
    shop.read("A", Samples.invoice(amount: amount))
    #expect(shop.owed.count == 1)
    #expect(shop.irregular.isEmpty)
  }

  @Test(
    arguments: [
      ("premium-month", "2.99", "EUR"), ("premium-month", "0.01", "EUR"),
      ("premium-month", "0", "EUR"), ("premium-month", "0.00", "EUR"),
      ("premium-month", nil, "EUR"), ("premium-month", "3.00", "USD"),
      ("premium-month", "300", "JPY"), ("premium-month", "3.00", ""),
      ("premium-month", "3.00", "EURO"), ("premium-year", "3.00", "EUR"),
      ("plus-month", "3.00", "EUR"), ("premium-gift", "0", "EUR"), ("premium-gift", nil, "EUR"),
      ("premium-unpriced", "1000000", "EUR"),
    ] as [(String, String?, String)])
  func `whoever makes an invoice of his own pays the price or gets nothing`(
    product: String, amount: String?, currency: String
  ) {
    var shop = Shop()
    shop.read("A", Samples.invoice(product, amount: amount, currency: currency))
    #expect(shop.owed == [])
    #expect(shop.irregular == [.irregularPayment(.wrongPrice, object: "A")])
  }

  /// The current price of a month of premium in the samples' catalogue, and an earlier one.
  @Test(
    arguments: [
      ("3.00", "EUR", 1), ("2.50", "EUR", 1), ("2.49", "EUR", 0), ("4.00", "USD", 1),
      ("3.99", "USD", 0), ("400", "JPY", 0),
    ] as [(String, String, Int)])
  func `who has paid what it cost then keeps what he has paid for`(
    amount: String, currency: String, count: Int
  ) {
    func sold(_ amount: Int64, _ currency: String) -> Plan.Product {
      Plan.Product(
        provider: "btcpay", id: "premium-month",
        price: Plan.Price(amountMinorUnits: amount, currency: currency, interval: .month))
    }
    let catalogue = Samples.catalogue.keeping([
      Plan(
        id: "premium", title: "", byteCount: 30, products: [sold(250, "eur"), sold(400, "usd")])
    ])
    var shop = Shop()
    shop.read("A", Samples.invoice(amount: amount, currency: currency))
    let coverage = shop.record.coverage(policy: .standard, catalogue: catalogue)
    #expect(coverage.intervals.count == count)
    #expect(
      coverage.alarms == (count == 0 ? [.irregularPayment(.wrongPrice, object: "A")] : []))
  }

  @Test func `a product that left the catalogue keeps plan and price, with an alarm`() throws {
    let product = Plan.Product(
      provider: "btcpay", id: "gone-year",
      price: Plan.Price(amountMinorUnits: 2000, currency: "eur", interval: .year))
    let catalogue = Samples.catalogue.keeping([
      Plan(id: "gone", title: "", byteCount: 77, products: [product])
    ])
    var shop = Shop()
    shop.read("A", Samples.invoice("gone-year", amount: "20"))
    shop.read("B", Samples.invoice("gone-year", amount: "0.01"))
    let coverage = shop.record.coverage(policy: .standard, catalogue: catalogue)
    #expect(coverage.intervals.map(\.planID) == ["gone"])
    #expect(coverage.intervals.map(\.evidence.id) == ["A"])
    #expect(
      coverage.alarms == [
        .unmappedProduct("gone-year"), .irregularPayment(.wrongPrice, object: "B"),
      ])
  }

  @Test(arguments: ["premium", "PREMIUM-MONTH", "nothing", nil] as [String?])
  func `a product that is not sold here grants nothing, not even the fallback`(product: String?) {
    var shop = Shop()
    shop.read("A", Samples.invoice(product, amount: "1000000"))
    #expect(shop.owed == [])
    #expect(shop.irregular == [.unknownProduct(price: product, product: nil)])
  }

  @Test func `a product that is ignored is no matter`() {
    var shop = Shop()
    shop.read("A", Samples.invoice("stickers"))
    #expect(shop.coverage == .none)
  }

  @Test func `another account's invoice is none of this one's`() {
    var shop = Shop()
    shop.read("A", Samples.invoice(account: Samples.other))
    shop.read("B", Samples.invoice(account: nil))
    #expect(shop.coverage == .none)
    #expect(shop.record.token == .none)
  }

  @Test func `it belongs to the account that names its orders`() {
    var shop = Shop()
    shop.read("A", Samples.invoice(.new))
    #expect(shop.record.token == .account(Samples.account, by: "invoice"))
    #expect(!shop.record.willRenew)
  }

  @Test func `one read that says two things is owed together and read again`() {
    var shop = Shop()
    shop.settled("A", day: 0)
    shop.read("A", Samples.invoice(.settled, .marked))
    shop.read("A", Samples.invoice(.invalid, .marked))
    #expect(shop.record.isDirty)
    #expect(shop.owed.count == 1)
    shop.read("A", Samples.invoice(.invalid, .marked), day: 1)
    #expect(!shop.record.isDirty)
    #expect(shop.owed == [])
  }
}
