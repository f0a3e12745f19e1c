import Base
import Billing
import Crypto
import Jobs
import Ledger
import Storage
import Testing

/// Answers that do not come from Google's purchases API settle nothing and take nothing away.
struct MisleadingAnswerTests {
  private let ada = Random.identifier()

  /// A purchase that was read a day ago and is read again after `spoil`.
  private func read(_ spoil: (PlayShop) -> Void) throws -> (shop: PlayShop, job: JobSummary) {
    let shop = try PlayShop()
    shop.play.sell("p", at: shop.now, account: ada)
    #expect(try shop.push("p", 4) == 200)
    try shop.runDue()
    shop.now = shop.now + .days(1)
    try shop.runDue()
    spoil(shop)
    #expect(try shop.push("p", 2) == 200)
    for _ in 0..<60 {
      try shop.runDue()
      shop.now = shop.now + .minutes(10)
    }
    let job = try #require(try shop.job("read", "p"))
    return (shop, job)
  }

  @Test(arguments: [404, 405, 410, 400, 403])
  func `no answer of the token endpoint is taken for that of the purchase`(status: Int) throws {
    let (shop, job) = try read { shop in
      shop.play.answerToken(status, "{}")
      // The earlier token has expired after its hour.
      shop.now = shop.now + .hours(2)
    }
    #expect(job.state == .waiting)
    #expect(job.refusals == 0)
    #expect(try shop.cap(of: ada) == 1000)
    shop.play.answerToken(200, #"{"access_token":"a","expires_in":3599}"#)
    shop.now = shop.now + .hours(1)
    try shop.runDue()
    #expect(try shop.job("read", "p")?.failingSince == nil)
  }

  @Test func `reads given up of a subscription that would renew are an alarm`() throws {
    let (shop, job) = try read { shop in
      shop.play.answer("p", 400, ScriptedPlay.error(400, "invalid"))
    }
    #expect(job.refusals > 0)
    let (now, object) = (shop.now, job.object)
    let leases = try shop.database.write(for: nil) { transaction in
      try Jobs.request("read", object, due: now, in: transaction)
      return try Jobs.lease("read", limit: 1, now: now + .hours(1), in: transaction)
    }
    let lease = try #require(leases.first)
    let handler = try #require(shop.service.jobHandlers.first { $0.kind == "read" })
    handler.died(lease)
    #expect(
      Metrics.shared.render().contains(
        "coffer_billing_alarms_total{alarm=\"renewal_unread\"} 1\n"))
    let renewing = try shop.database.read { try Ledger.renewing([job.object], reading: $0) }
    #expect(renewing == [job.object])
  }

  @Test func `an app that Google does not know is a mistake in the settings`() throws {
    let (_, job) = try read { shop in
      shop.play.answer("p", 404, ScriptedPlay.error(404, "applicationNotFound"))
    }
    #expect(job.state == .waiting)
    #expect(job.refusals == 0)
  }

  @Test(arguments: [404, 410])
  func `what no API of Google's answers is a mistake in the settings`(status: Int) throws {
    let (_, job) = try read { shop in
      shop.play.answer("p", status, Array("<html>Not Found</html>".utf8))
    }
    #expect(job.state == .waiting)
    #expect(job.refusals == 0)
  }

  @Test(arguments: [
    "{}", #"{"kind":"androidpublisher#subscriptionPurchaseV2"}"#,
    #"{"subscriptionState":"SUBSCRIPTION_STATE_ACTIVE","lineItems":[]}"#,
    #"{"lineItems":[{"productId":"premium"}]}"#,
  ])
  func `an answer without a purchase in it is read again and ends nothing`(body: String) throws {
    let (shop, job) = try read { $0.play.answer("p", 200, Array(body.utf8)) }
    #expect(job.state == .waiting)
    #expect(try shop.cap(of: ada) == 1000)
  }
}
