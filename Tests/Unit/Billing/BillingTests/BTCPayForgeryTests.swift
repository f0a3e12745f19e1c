import BTCPay
import Base
import Billing
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import KnownStores
import Ledger
import ProviderAPI
import ProviderFakes
import Storage
import Stores
import TestEngines
import Testing

/// Deliveries that our BTCPay server did not sign: all get the same refusal, and nothing is kept. A delivery
/// that it did sign proves only that there is something to read.
struct BTCPayForgeryTests {
  private struct Shop {
    let store = FakeBTCPay(clock: FakeClock(day(1)))
    let database: Database
    let route: Route
    private let scratch: ScratchDatabase

    init() throws {
      scratch = try ScratchDatabase(.sqlite, with: .schemas)
      database = try Database.open(scratch.location, owning: .billing)
      let service = BillingService(
        database: database, rules: LedgerRules(catalogue: catalogue), sealing: Harness.sealing,
        clock: .fixed(day(1)),
        stores: StoreList.known(
          with: BTCPayStore(
            secrets: BTCPaySecrets([store.settings.secret, Secret("the one before")]),
            api: BTCPayAPI(
              base: "https://pay.test", store: store.settings.storeID, key: Secret("key"),
              transport: NoTransport()))))
      route = try #require(service.routes().first { $0.pattern == "/webhooks/btcpay" })
    }

    /// Returns the status, and the one word of the answer.
    func deliver(
      _ request: FakeRequest, signatures: [String]? = nil
    ) throws -> (status: Int, word: String) {
      let own = request.headers.filter { $0.name == "BTCPay-Sig" }.map(\.value)
      let head = RequestHead(
        method: "POST", target: request.path,
        headers: Headers((signatures ?? own).map { ("BTCPay-Sig", $0) }), authority: "billing",
        remoteAddress: "203.0.113.9")
      do {
        let response = try route.admit(head, []).wait().finish(request.body).wait()
        guard case .bytes(let body) = response.body else { return (response.status, "") }
        return (response.status, try JSON.parse(body)["status"].string ?? "")
      } catch {
        let problem = problem(for: error, head)
        return (problem.status, problem.code)
      }
    }

    func deliveryCount() throws -> Int64 {
      try database.read { reader in
        try reader.first("SELECT count(*) FROM billing.deliveries") { row in try row.integer(0) }
      } ?? -1
    }
  }

  private struct NoTransport: ProviderTransport {
    func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
      throw .transient("nobody is there", retryAfter: nil)
    }
  }

  private static let account = Identifier(high: 7, low: 11)

  private func genuine(_ shop: Shop) throws -> FakeRequest {
    let invoice = shop.store.order(.premiumMonth, for: Self.account)
    shop.store.mark(invoice, isSettled: true)
    return shop.store.request(for: try #require(shop.store.deliveries.last), at: day(1))
  }

  @Test func `what the server signed is recorded, and once more is a duplicate`() throws {
    let shop = try Shop()
    let request = try genuine(shop)
    #expect(try shop.deliver(request) == (200, "recorded"))
    #expect(try shop.deliver(request) == (200, "duplicate"))
    let again = shop.store.request(for: try #require(shop.store.deliveries.last), at: day(1))
    #expect(again.body != request.body)
    #expect(try shop.deliver(again) == (200, "duplicate"))
    #expect(try shop.deliveryCount() == 1)
  }

  @Test func `a signature that is missing, doubled, malformed or another's is refused`() throws {
    let shop = try Shop()
    let request = try genuine(shop)
    let right = try #require(request.header("BTCPay-Sig"))
    let other = FakeBTCPay.request(request.body, secret: Secret("guessed"))
    let empty = FakeBTCPay.request(request.body, secret: Secret(""))
    let forgeries: [[String]] = [
      [], [right, right], ["sha256="], [String(right.dropFirst(7))], [right + "0"],
      ["sha512=" + right.dropFirst(7)], [try #require(other.header("BTCPay-Sig"))],
      [try #require(empty.header("BTCPay-Sig"))], ["t=1,v1=" + right.dropFirst(7)],
    ]
    for signatures in forgeries {
      let answer = try shop.deliver(request, signatures: signatures)
      #expect(answer == (401, "signature_refused"), "\(signatures)")
    }
    #expect(try shop.deliveryCount() == 0)
  }

  @Test func `one altered bit anywhere is refused`() throws {
    let shop = try Shop()
    let request = try genuine(shop)
    let signature = try #require(request.header("BTCPay-Sig"))
    for index in stride(from: 0, to: request.body.count, by: 7) {
      var body = request.body
      body[index] ^= 1
      let altered = FakeRequest(method: "POST", path: request.path, body: body)
      let answer = try shop.deliver(altered, signatures: [signature])
      #expect(answer == (401, "signature_refused"), "byte \(index)")
    }
    #expect(try shop.deliveryCount() == 0)
  }

  @Test func `the secret of before still proves a delivery`() throws {
    let shop = try Shop()
    let request = try genuine(shop)
    let old = FakeBTCPay.request(request.body, secret: Secret("the one before"))
    #expect(try shop.deliver(old) == (200, "recorded"))
  }

  @Test func `a forger by the hundred is heard out, as it costs next to nothing`() throws {
    let shop = try Shop()
    let request = try genuine(shop)
    for _ in 0..<300 {
      #expect(try shop.deliver(request, signatures: ["sha256=00"]).status == 401)
    }
    #expect(try shop.deliver(request) == (200, "recorded"))
  }

  @Test func `a settled invoice by the server's own word gives nothing before it is read`() throws {
    let shop = try Shop()
    #expect(try shop.deliver(try genuine(shop)) == (200, "recorded"))
    let owed = try shop.database.read { reader in
      try reader.first(
        "SELECT coverage FROM billing.subscriptions WHERE object = $1",
        .text("btcpay:live:prepaid:\(Self.account)")
      ) { row in try row.text(0) }
    }
    let coverage = try JSON.parse(Array(try #require(owed).utf8))
    #expect(coverage["intervals"].array?.isEmpty == true)
  }

  @Test func `what is signed and cannot be read, or is another store's, is kept`() throws {
    let shop = try Shop()
    let secret = shop.store.settings.secret
    let nonsense = FakeBTCPay.request(Array("no json".utf8), secret: secret)
    #expect(try shop.deliver(nonsense) == (200, "undecodable"))
    let foreign = Array(
      #"{"deliveryId":"D","type":"InvoiceSettled","timestamp":1,"storeId":"other","invoiceId":"I"}"#
        .utf8)
    #expect(try shop.deliver(FakeBTCPay.request(foreign, secret: secret)) == (200, "foreign"))
    #expect(try shop.deliveryCount() == 2)
  }
}
