import BTCPay
import Base
import HTTPMessages
import JSON
import ProviderAPI
import ProviderFakes
import Testing

/// The Greenfield API as our own client reads it, and its refusals.
@Suite struct `A fake Greenfield API` {
  private typealias Shop = BTCPayShop

  private struct Transport: ProviderTransport {
    let store: FakeBTCPay

    func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
      let path = String(request.url.dropFirst("https://pay.test".count))
      let headers = request.headers.map { (name: $0.0, value: $0.1) }
      guard
        let answer = store.answer(
          FakeRequest(method: request.method, path: path, headers: headers))
      else { throw .transient("timeout", retryAfter: nil) }
      return APIReply(
        status: answer.status, headers: Headers(answer.headers.map { ($0.name, $0.value) }),
        body: answer.body, elapsed: .milliseconds(5))
    }
  }

  private func api(_ shop: Shop, key: Secret? = nil, store: String? = nil) -> BTCPayAPI {
    BTCPayAPI(
      base: "https://pay.test", store: store ?? shop.store.settings.storeID,
      key: key ?? shop.store.settings.apiKey, transport: Transport(store: shop.store))
  }

  private func failure(_ api: BTCPayAPI) -> APIFailure? {
    do throws(APIFailure) {
      _ = try api.invoices(of: Shop.account)
      return nil
    } catch {
      return error
    }
  }

  @Test func `shows an invoice as it is`() throws {
    let shop = Shop()
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    shop.store.pay(invoice, cents: 1000)
    let shown = try api(shop).invoices(of: Shop.account).invoices[0].content
    #expect(
      shown
        == BTCPayInvoice(
          account: Shop.account, product: "premium-month", amount: BTCPayAmount("2.99"),
          currency: "EUR", paidAmount: BTCPayAmount("10"), status: .processing,
          additional: .paidOver, created: Shop.start))
  }

  @Test func `lists an account's invoices, archived ones too, page by page`() throws {
    let shop = Shop()
    var ids: [String] = []
    for _ in 0..<230 { ids.append(shop.store.order(.premiumMonth, for: Shop.account)) }
    _ = shop.store.order(.premiumMonth, for: Shop.other)
    shop.store.archive(ids[7])
    let answer = try api(shop).invoices(of: Shop.account)
    #expect(answer.invoices.map(\.id) == ids.reversed())
    #expect(shop.store.faults.requestCount == 3)
    #expect(answer.notes.isEmpty)
    #expect(try shop.json("").array?.count == 230)
    #expect(try shop.json("?skip=225&take=100").array?.count == 5)
  }

  @Test func `says who may not read, and what is not there`() throws {
    let shop = Shop()
    let invoice = shop.store.order(.premiumMonth, for: Shop.account)
    #expect(failure(api(shop, key: Secret("wrong"))) == .misconfigured("the provider answers 401"))
    #expect(failure(api(shop, store: "another")) == .misconfigured("the provider answers 403"))
    #expect(try shop.json("/\(invoice)")["status"].string == "New")
    let missing = try #require(shop.call("/none"))
    #expect(missing.status == 404)
    #expect(try JSON.parse(missing.body)["code"].string == "invoice-not-found")
  }

  @Test func `fails as scripted`() {
    let shop = Shop()
    _ = shop.store.order(.premiumMonth, for: Shop.account)
    shop.store.faults.fail(next: [.timeout, .status(503, retryAfter: 7)])
    #expect(failure(api(shop)) == .transient("timeout", retryAfter: nil))
    #expect(
      failure(api(shop)) == .transient("the provider answers 503", retryAfter: .seconds(7)))
    #expect(failure(api(shop)) == nil)
  }
}
