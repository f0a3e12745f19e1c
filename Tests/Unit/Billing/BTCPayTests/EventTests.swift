import BTCPay
import Base
import JSON
import Stores
import Testing

struct EventTests {
  private func event(
    _ body: [UInt8], store: String = Samples.store
  ) throws -> Result<BTCPayEvent, UndecodableDelivery> {
    let secrets = try #require(BTCPaySecrets([Samples.secret]))
    let delivery = try secrets.verify(
      headers: [Array(Signing.header(body, Samples.secret).utf8)], body: body)
    return Result { () throws(UndecodableDelivery) in try BTCPayEvent(delivery, store: store) }
  }

  private func event(_ changes: [(String, JSONValue?)]) throws -> BTCPayEvent {
    try event(Self.body(changes)).get()
  }

  private static func body(_ changes: [(String, JSONValue?)]) -> [UInt8] {
    var members: [(String, JSONValue?)] = [
      ("deliveryId", "D1"), ("webhookId", "W1"), ("originalDeliveryId", "D0"),
      ("isRedelivery", false), ("type", "InvoiceProcessing"), ("timestamp", 1_790_001_893),
      ("storeId", .string(Samples.store)), ("invoiceId", "I1"),
      ("metadata", ["orderId": .string(Samples.account.description), "itemCode": "x"]),
    ]
    for (name, value) in changes {
      members.removeAll { $0.0 == name }
      members.append((name, value))
    }
    let present = members.compactMap { name, value in value.map { JSONValue.Member(name, $0) } }
    return JSONValue.object(present).encoded()
  }

  @Test func `a settled invoice is named`() throws {
    let event = try event(Samples.settled).get()
    #expect(event.id == "Hq7mZs4TnVbXc2RkPw9DyJ:Rb8YtGwXn4KcZ7mQpVd2Js")
    #expect(event.type == "InvoiceSettled")
    #expect(event.invoice == Samples.invoice)
    #expect(!event.isForeign)
    // The sample's shop names its orders differently from us.
    #expect(event.account == nil)
    #expect(event.notes == [.malformedAccount])
  }

  @Test func `an order that is named by an account is that account's`() throws {
    let event = try event([("type", "InvoiceSettled")])
    #expect(event.account == Samples.account)
    #expect(
      event.settlement
        == BTCPaySettlement(Samples.account, at: Instant(seconds: 1_790_001_893)))
    #expect(event.notes.isEmpty)
  }

  @Test(
    arguments: [
      nil, .null, [:], ["orderId": 7], ["orderId": "coffer-ord-1"], ["orderId": ["a": "b"]],
    ] as [JSONValue?])
  func `an order that is named otherwise is nobody's`(metadata: JSONValue?) throws {
    let event = try event([("metadata", metadata)])
    #expect(event.account == nil)
    #expect(event.settlement == nil)
    #expect(event.notes == [.malformedAccount])
  }

  @Test func `a redelivery is the same event`() throws {
    #expect(try event(Samples.settled).get() == event(Samples.redelivered).get())
  }

  @Test func `a payment alone says nothing of when the invoice settled`() throws {
    let event = try event(Samples.paymentSettledLate).get()
    #expect(event.invoice == "Wd6QbNxKv2TpZr8MhYc4Gs")
    #expect(event.settlement == nil)
  }

  @Test func `the same delivery of two webhooks is two`() throws {
    #expect(try event([]).id == "W1:D0")
    #expect(try event([("webhookId", "W2")]).id == "W2:D0")
  }

  @Test func `a delivery that names no first one is its own`() throws {
    #expect(try event([("originalDeliveryId", nil)]).id == "W1:D1")
    #expect(try event([("originalDeliveryId", .null), ("webhookId", nil)]).id == ":D1")
  }

  @Test func `an event of a type that nobody knew is read all the same`() throws {
    let event = try event([("type", "InvoiceTeleported")])
    #expect(event.invoice == "I1")
    #expect(event.notes == [.unknownType])
  }

  @Test func `a test invoice does not exist`() throws {
    let event = try event([("invoiceId", "__test__0c6f2b__test__")])
    #expect(event.invoice == nil)
    #expect(event.notes.isEmpty)
  }

  @Test func `what concerns no invoice asks for no read`() throws {
    #expect(try event([("type", "PayoutCompleted"), ("invoiceId", nil)]).invoice == nil)
    #expect(try event([("type", "PayoutUpdated"), ("invoiceId", nil)]).notes.isEmpty)
  }

  @Test func `an offered refund is told`() throws {
    #expect(try event([("type", "InvoiceRefund")]).notes == [.refundOffered])
  }

  @Test func `another store is foreign`() throws {
    #expect(try event([("storeId", "another")]).isForeign)
  }

  @Test func `members that nobody knows, and all that may be missing, are no matter`() throws {
    #expect(
      try event([("isRedelivery", nil), ("payment", ["x": [1, 2]])]).invoice == "I1")
  }

  @Test(
    arguments: [
      (body([("type", nil)]), "W1:D0"), (body([("type", 3)]), "W1:D0"),
      (body([("timestamp", "soon")]), "W1:D0"), (body([("timestamp", -1)]), "W1:D0"),
      (body([("timestamp", .integer(.max))]), "W1:D0"), (body([("storeId", nil)]), "W1:D0"),
      (body([("invoiceId", "")]), "W1:D0"), (body([("invoiceId", ["id": "I1"])]), "W1:D0"),
      (body([("deliveryId", nil), ("originalDeliveryId", nil)]), nil),
      (Array("{".utf8), nil), (Array("[]".utf8), nil), ([], nil), ([0xFF, 0xFE], nil),
      (Array(#"{"type":"a","type":"b"}"#.utf8), nil),
    ] as [([UInt8], String?)])
  func `what cannot be read is kept under its name`(body: [UInt8], id: String?) throws {
    guard case .failure(let error) = try event(body) else {
      Issue.record("was read")
      return
    }
    #expect(error.id == id)
  }
}
