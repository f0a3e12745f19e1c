import BTCPay
import Base
import JSON
import ProviderFakes
import Testing

/// The webhook's deliveries: signed, one after the other, and not for ever.
@Suite struct `A fake BTCPay server's webhook` {
  private typealias Shop = BTCPayShop

  private func settled(_ shop: Shop) throws -> FakeDelivery {
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    shop.store.mark(invoice, isSettled: true)
    return try #require(shop.store.deliveries.last)
  }

  @Test func `signs what our server takes, with members as of the first delivery`() throws {
    let shop = Shop()
    let delivery = try settled(shop)
    let request = shop.store.request(for: delivery, at: Shop.start)
    let secrets = try #require(BTCPaySecrets([shop.store.settings.secret]))
    let signature = try #require(request.header("btcpay-sig"))
    let verified = try secrets.verify(headers: [Array(signature.utf8)], body: request.body)
    let event = try BTCPayEvent(verified, store: shop.store.settings.storeID)
    #expect(event.id == "\(shop.store.settings.webhookID):\(delivery.id)")
    #expect(event.settlement == BTCPaySettlement(Shop.account, at: Shop.start))
    #expect(event.invoice == shop.store.invoices[0])
    #expect(event.notes.isEmpty)
    let names = try JSON.parse(request.body).members?.map(\.name)
    #expect(
      names == [
        "manuallyMarked", "overPaid", "deliveryId", "webhookId", "originalDeliveryId",
        "isRedelivery", "type", "timestamp", "storeId", "invoiceId", "metadata",
      ])
  }

  @Test func `redelivers the same event under another name`() throws {
    let shop = Shop()
    let delivery = try settled(shop)
    let first = try shop.body(delivery)
    shop.go(.minutes(1))
    let second = try shop.body(delivery)
    #expect(first["isRedelivery"].bool == false)
    #expect(second["isRedelivery"].bool == true)
    #expect(first["deliveryId"].string == delivery.id)
    #expect(second["deliveryId"].string != delivery.id)
    #expect(second["originalDeliveryId"].string == delivery.id)
    #expect(second["timestamp"].integer == first["timestamp"].integer)
    #expect(second.members?.first?.name == "deliveryId")
  }

  @Test func `waits with everything behind a delivery that fails`() throws {
    let shop = Shop()
    _ = try settled(shop)
    #expect(shop.store.deliver { _ in 503 } == 1)
    shop.go(.seconds(9))
    #expect(shop.store.dueDelivery == nil)
    shop.go(.seconds(1))
    #expect(shop.store.deliver { _ in 200 } == 2)
  }

  @Test func `gives up after eight redeliveries within about an hour`() throws {
    let shop = Shop()
    _ = shop.store.order(.premiumMonth, for: nil)
    var attempts: [Int64] = []
    for _ in 0..<500 {
      shop.store.deliver { _ in
        attempts.append((shop.clock.now - Shop.start).milliseconds / 1000)
        return 500
      }
      shop.go(.seconds(10))
    }
    #expect(
      attempts.prefix(9).map { $0 } == [0, 10, 70, 670, 1270, 1870, 2470, 3070, 3670])
    // The invoice expired meanwhile, which is another delivery.
    #expect(shop.told == ["InvoiceCreated", "InvoiceExpired"])
  }

  @Test(arguments: [400, 401, 404, 410, 301])
  func `takes a refusal for the last word`(status: Int) throws {
    let shop = Shop()
    _ = shop.store.order(.premiumMonth, for: nil)
    #expect(shop.store.deliver { _ in status } == 1)
    shop.go(.minutes(30))
    #expect(shop.store.dueDelivery == nil)
  }

  @Test func `forgets what waits when it is restarted, and redelivers at the operator's word`()
    throws
  {
    let shop = Shop()
    let delivery = try settled(shop)
    shop.store.restart()
    #expect(shop.store.dueDelivery == nil)
    shop.store.redeliver(delivery)
    #expect(shop.store.dueDelivery == delivery)
    #expect(try shop.body(delivery)["isRedelivery"].bool == true)
  }

  @Test func `signs what waits with the old secret, and redeliveries with the new`() throws {
    let shop = Shop()
    let delivery = try settled(shop)
    shop.store.change(secret: Secret("new"))
    func isSigned(with secret: Secret) throws -> Bool {
      let request = shop.store.request(for: delivery, at: Shop.start)
      let signature = Array(try #require(request.header("btcpay-sig")).utf8)
      let secrets = try #require(BTCPaySecrets([secret]))
      return (try? secrets.verify(headers: [signature], body: request.body)) != nil
    }
    #expect(try isSigned(with: shop.store.settings.secret))
    #expect(try isSigned(with: Secret("new")))
  }

  @Test func `tests with an invoice that does not exist`() throws {
    let shop = Shop()
    shop.store.sendTest()
    let body = try shop.body(try #require(shop.store.deliveries.last))
    let invoice = try #require(body["invoiceId"].string)
    #expect(invoice.hasPrefix("__test__") && invoice.hasSuffix("__test__"))
    #expect(!body["metadata"].exists)
  }

  @Test func `tells of a refund that is offered, and of its payment, but not whose it was`() throws
  {
    let shop = Shop()
    let invoice = shop.store.invoices.first ?? shop.store.order(.premiumMonth, for: Shop.account)
    shop.store.pay(invoice, .lightning)
    shop.store.offerRefund(invoice)
    shop.store.payOutRefund()
    #expect(shop.told.suffix(2) == ["InvoiceRefund", "PayoutUpdated"])
    let payout = try shop.body(try #require(shop.store.deliveries.last))
    #expect(payout["payoutState"].string == "Completed")
    #expect(!payout["invoiceId"].exists)
    #expect(shop.truths() == ["premium 0-31"])
  }
}
