import Base
import JSON
import Stripe
import Testing

struct DeliveryOfTodayTests {
  private static let account = Identifier("0190f5c0-0000-7000-8000-0000000000aa")!

  private func today(_ body: String, at seconds: Int64 = 1_800_000_000) -> JSON? {
    DeliveryOfToday.made(
      from: Array(body.utf8), account: Self.account, now: Instant(seconds: seconds)
    ).flatMap { try? JSON.parse($0) }
  }

  @Test func `times move together, and the customer's objects become the account's`() throws {
    let event = try #require(
      today(
        #"{"object":"event","id":"evt_1Abcdefghij","created":1700000000,"data":{"object":{"#
          + #""id":"sub_1Abcdefghij","price":"price_1Abcdefghij","ends":1700000060,"#
          + #""account":"11111111-2222-4333-8444-555555555555"}}}"#))
    let object = event["data"]["object"]
    #expect(event["created"].integer == 1_800_000_000)
    #expect(object["ends"].integer == 1_800_000_060)
    #expect(event["id"].string == "evt_0000000000aa18000000001Abcdefghij")
    #expect(object["id"].string == "sub_0000000000aa1Abcdefghij")
    #expect(object["price"].string == "price_1Abcdefghij")
    #expect(object["account"].string == Self.account.description)
  }

  @Test(arguments: ["{}", "no JSON", #"{"object":"charge","created":1700000000}"#])
  func `only events are made again`(body: String) { #expect(today(body) == nil) }

  @Test func `no event is made again whose time Stripe never wrote`() {
    let body = #"{"object":"event","created":-9223372036854775808,"data":{"ends":1700000000}}"#
    #expect(today(body) == nil)
  }
}
