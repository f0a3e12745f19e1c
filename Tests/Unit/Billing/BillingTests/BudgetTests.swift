import Apple
import Base
import Billing
import ClaimingDevice
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import KnownStores
import Ledger
import Storage
import Stores
import Stripe
import StripeSamples
import TestEngines
import Testing

/// A sender of forgeries has to wait, but only for deliveries that are expensive to verify.
struct BudgetTests {
  private static let stranger = "203.0.113.9"

  /// All routes that verify signatures, over their own database.
  private final class Doors {
    let database: Database
    let scratch: ScratchDatabase
    let routes: [Route]

    init(trustsProxies: Bool = false) throws {
      scratch = try ScratchDatabase(.sqlite, with: .schemas)
      database = try Database.open(scratch.location, owning: .billing)
      routes = BillingService(
        database: database, rules: LedgerRules(catalogue: AppleSample.catalogue),
        sealing: Harness.sealing, clock: .fixed(day0),
        stores: StoreList.known(
          with: StripeStore(secrets: WebhookSecrets([Harness.secret])),
          AppleStore(verifier: AppleSample.verifier)),
        clients: ClaimingDevice.policy, trustsProxies: trustsProxies
      ).routes()
    }

    deinit { database.close() }

    func post(
      _ path: String, _ body: [UInt8], _ headers: [(String, String)] = [], from address: String
    ) throws -> Int {
      let head = RequestHead(
        method: "POST", target: path, headers: Headers(headers),
        authority: ClaimingDevice.authority, remoteAddress: address)
      let route = try #require(routes.first { $0.pattern == head.target })
      do {
        return try route.admit(head, []).wait().finish(body).wait().status
      } catch {
        return problem(for: error, head).status
      }
    }

    func forge(_ path: String, from address: String) throws -> Set<Int> {
      var answers: Set<Int> = []
      for _ in 0..<300 {
        answers.insert(
          try post(
            path, Array("{}".utf8), [("Stripe-Signature", "t=1,v1=00")], from: address))
      }
      return answers
    }
  }

  @Test func `a genuine Stripe delivery is taken from an address that forges`() throws {
    let doors = try Doors()
    #expect(try doors.forge("/webhooks/stripe", from: Self.stranger) == [400])
    #expect(try doors.forge("/webhooks/apple", from: Self.stranger) == [400, 429])
    let event = Customer(tag: "t").invoice(1, "paid", 0)
    let signature = signatureHeader(body: event.body, secret: Harness.secret, at: day0)
    let answer = try doors.post(
      "/webhooks/stripe", event.body, [("Stripe-Signature", signature)], from: Self.stranger)
    #expect(answer == 200)
  }

  @Test func `claims that prove nobody are counted like forged deliveries`() throws {
    let doors = try Doors()
    #expect(try doors.forge("/v1/claims", from: Self.stranger) == [401, 429])
  }

  @Test func `behind a proxy that is trusted no address is without a budget`() throws {
    #expect(try Doors().forge("/webhooks/apple", from: "127.0.0.1") == [400])
    let doors = try Doors(trustsProxies: true)
    #expect(try doors.forge("/webhooks/apple", from: "127.0.0.1") == [400, 429])
  }

  @Test func `keys that no account has are counted as well`() throws {
    let doors = try Doors(trustsProxies: true)
    let device = try ClaimingDevice(of: Random.identifier(), doors.scratch.location)
    let sync = try Database.open(doors.scratch.location, owning: .sync)
    defer { sync.close() }
    try sync.write(for: nil) { _ = try $0.execute("DELETE FROM sync.device_keys") }
    let transaction = AppleSample.transaction("2000", day: 0, signed: day0)
    let body: JSONValue = ["provider": "apple", "transaction": .string(transaction)]
    var answers: Set<Int> = []
    for _ in 0..<300 {
      answers.insert(try device.claim(body, at: day0, through: doors.routes).status)
    }
    #expect(answers == [401, 429])
  }
}
