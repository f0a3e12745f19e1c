import Base
import HTTPClient
import HTTPMessages
import HTTPServer
import JSON
import LocalServer
import ProviderFakes
import Testing

/// The same answers through a socket: paths with colons, forms and key sets as clients send them.
@Suite struct GoogleServingTests {
  private typealias Shop = GoogleShop

  @Test func `a client signs in, reads, acknowledges and fetches the keys`() throws {
    let shop = Shop()
    let token = shop.store.buy(Shop.monthly, for: Shop.owner)
    let server = try startServer(shop.store.routes(), name: "google")
    let client = HTTPClient()
    func send(
      _ method: String, _ path: String, _ headers: [(String, String)] = [], _ body: [UInt8]? = nil
    ) throws -> HTTPClient.Reply {
      try client.send(
        method, "http://127.0.0.1:\(server.port)\(path)", headers: headers, body: body,
        timeout: .seconds(5))
    }
    let signIn = Shop.signIn(shop.store)
    let access = try send(
      "POST", "/token", signIn.headers.map { ($0.name, $0.value) }, signIn.body)
    let bearer = try JSON.parse(access.body)["access_token"].requireString()
    let headers = [("Authorization", "Bearer \(bearer)")]
    let base = "/androidpublisher/v3/applications/app.coffer"
    let path = "\(base)/purchases/subscriptions/premium/tokens/\(token):acknowledge"
    #expect(try send("POST", path, headers, Array("{}".utf8)).status == 204)
    let read = try send("GET", "\(base)/purchases/subscriptionsv2/tokens/\(token)", headers)
    #expect(
      try JSON.parse(read.body)["acknowledgementState"].string
        == "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED")
    let order = shop.store.orders(of: token)[0]
    #expect(try send("GET", "\(base)/orders/\(order)", headers).status == 200)
    #expect(try send("GET", "\(base)/orders:batchGet?orderIds=\(order)", headers).status == 200)
    #expect(try send("GET", "/oauth2/v3/certs").headers.text("cache-control") != nil)
  }
}
