import BTCPay
import Base
import JSON
import Subscriptions
import Testing

struct StoredObjectTests {
  private static let statuses: [BTCPayInvoice.Status] = [
    .new, .processing, .settled, .expired, .invalid, .other("Frozen"),
  ]

  @Test(arguments: statuses, BTCPayInvoice.AdditionalStatus.allCases)
  func `an invoice comes back as it was stored`(
    status: BTCPayInvoice.Status, additional: BTCPayInvoice.AdditionalStatus
  ) throws {
    let whole = Samples.invoice(paid: "2.9999", status, additional)
    let bare = Samples.invoice(nil, account: nil, amount: nil, status, additional)
    for invoice in [whole, bare] {
      let bytes = BTCPayObject.invoice(invoice).stored().encoded()
      let back = try BTCPayObject(stored: JSON.parse(bytes), kind: .prepaidInvoice)
      #expect(back == .invoice(invoice))
      #expect(back.stored().encoded() == bytes)
    }
  }

  @Test func `a settlement comes back as it was stored`() throws {
    let settlement = BTCPaySettlement(Samples.account, at: Samples.start + .milliseconds(700))
    let bytes = BTCPayObject.settlement(settlement).stored().encoded()
    #expect(
      try BTCPayObject(stored: JSON.parse(bytes), kind: .settlement) == .settlement(settlement))
  }

  @Test func `a row of before reads as it did`() throws {
    let row = Array(
      """
      {"account":"0b7c0000-0000-4000-8000-000000000001","product":"premium-month","amount":"3",\
      "currency":"EUR","paid":"3","status":"Settled","created":1767607200000}
      """.utf8)
    let invoice = BTCPayObject.invoice(Samples.invoice(paid: "3"))
    #expect(try BTCPayObject(stored: JSON.parse(row), kind: .prepaidInvoice) == invoice)
    #expect(invoice.stored().encoded() == row)
  }

  @Test(arguments: [
    "{}", #"{"currency":"EUR","status":"New"}"#, #"{"amount":"x","currency":"EUR"}"#,
  ])
  func `what is no stored object is refused`(text: String) {
    for kind in [ObjectKey.Kind.prepaidInvoice, .settlement, .prepaid] {
      #expect(throws: JSONError.self) {
        try BTCPayObject(stored: JSON.parse(Array(text.utf8)), kind: kind)
      }
    }
  }
}
