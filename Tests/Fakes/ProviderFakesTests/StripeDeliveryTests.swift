import Base
import Crypto
import ProviderFakes
import Testing

@Suite struct `A delivery of a fake Stripe` {
  private func signature(_ request: FakeRequest) -> [String: [String]] {
    let elements = (request.header("Stripe-Signature") ?? "").split(separator: ",")
    return Dictionary(
      grouping: elements.map { $0.split(separator: "=", maxSplits: 1) }, by: { String($0[0]) }
    ).mapValues { $0.map { String($0[1]) } }
  }

  @Test func `is signed with the endpoint's secret over time and body`() throws {
    let stripe = makeStripe()
    _ = stripe.buy(account: stripeAccount)
    let delivery = try #require(stripe.deliveries.first)
    let request = stripe.request(for: delivery, at: stripeStart + .seconds(2))
    let digits = String(stripeStart.seconds + 2)
    let code = HMACSHA256.code(
      key: stripe.secrets[0], Array(digits.utf8), Array(".".utf8), request.body)
    #expect(signature(request) == ["t": [digits], "v1": [Hex.encode(code)]])
  }

  @Test func `carries a code of each secret during a rotation`() throws {
    let secrets = [Secret("whsec_new"), Secret("whsec_old")]
    let stripe = FakeStripe(FakeClock(stripeStart), secrets: secrets)
    _ = stripe.buy(account: stripeAccount)
    let delivery = try #require(stripe.deliveries.first)
    let request = stripe.request(for: delivery, at: stripeStart)
    #expect(signature(request)["v1"]?.count == 2)
  }

  @Test func `comes again with the same body and a new signature`() throws {
    let stripe = makeStripe()
    _ = stripe.buy(account: stripeAccount)
    let delivery = try #require(stripe.deliveries.first)
    let first = stripe.request(for: delivery, at: stripeStart)
    let second = stripe.request(for: delivery, at: stripeStart + .hours(1))
    #expect(first.body == second.body)
    #expect(first.header("Stripe-Signature") != second.header("Stripe-Signature"))
  }

  @Test func `has an id of its own and a time no earlier than the one before`() {
    let stripe = makeStripe { $0.events = .all }
    let sub = stripe.buy(account: stripeAccount)
    stripe.run(for: .days(100))
    stripe.refund(invoice: stripe.latestInvoice(of: sub))
    let deliveries = stripe.deliveries
    #expect(Set(deliveries.map(\.id)).count == deliveries.count)
    #expect(deliveries.map(\.emitted) == deliveries.map(\.emitted).sorted())
  }

  @Test func `is the same in every run`() {
    func bodies() -> [[UInt8]] {
      let stripe = makeStripe()
      let sub = stripe.buy(account: stripeAccount)
      stripe.run(for: .days(40))
      stripe.cancel(sub)
      return stripe.deliveries.map { stripe.request(for: $0, at: $0.emitted).body }
    }
    let (first, second) = (bodies(), bodies())
    let areEqual = first == second
    #expect(areEqual)
  }

  @Test func `is made when due though somebody else moved the clock`() {
    let stripe = makeStripe()
    let sub = stripe.buy(account: stripeAccount)
    let end = stripe.periodEnd(of: sub)
    stripe.clock.set(end + .days(2))
    #expect(stripe.deliveries.last?.emitted == end + .hours(1))
  }
}
