import BTCPay
import Base
import HTTPMessages
import HTTPServer
import JSON
import ProviderAPI
import Stores
import Subscriptions
import Testing
import Tiers

/// The interface through which the ledger uses the store.
struct StoreTests {
  private static let key = ObjectKey(
    provider: .btcpay, environment: .live, kind: .prepaid, id: Samples.account.description)

  private func store(_ answers: [JSONValue] = []) -> BTCPayStore {
    BTCPayStore(
      secrets: BTCPaySecrets([Samples.secret]),
      api: BTCPayAPI(
        base: "https://pay.test", store: Samples.store, key: Secret("key"),
        transport: Lists(answers)))
  }

  private func request(_ key: ObjectKey = key, _ number: Int64 = 1) -> StoreRead {
    StoreRead(key, readNumber: number, secret: nil) { .init(reasons: [], parts: []) }
  }

  private func deliver(_ body: [UInt8], _ header: String) throws -> DecodedDelivery? {
    let webhook = try #require(store().webhook)
    let head = RequestHead(
      method: "POST", target: "/webhooks/btcpay", headers: Headers([("btcpay-sig", header)]),
      authority: "billing")
    guard case .ready(let prepare) = try webhook.admit(head, Samples.start),
      case .decoded(let delivery) = try prepare(body, Samples.start).content
    else { return nil }
    return delivery
  }

  private static func event(_ type: String, store: String = Samples.store) -> [UInt8] {
    let json: JSONValue = [
      "deliveryId": "D1", "webhookId": "W1", "originalDeliveryId": "D0", "type": .string(type),
      "timestamp": 1_790_001_893, "storeId": .string(store), "invoiceId": "I1",
      "metadata": ["orderId": .string(Samples.account.description)],
    ]
    return json.encoded()
  }

  @Test func `a delivery asks for the account's invoices, and tells when one settled`() throws {
    let body = Self.event("InvoiceSettled")
    let delivery = try #require(try deliver(body, Signing.header(body, Samples.secret)))
    #expect(delivery.requests.map(\.object) == [Self.key])
    #expect(delivery.facts.map(\.key.description) == ["btcpay:live:settlement:I1"])
    #expect(delivery.facts.flatMap(\.links) == [Link(delivery.facts[0].key, .part, of: Self.key)])
    #expect(delivery.disposition == .joined)
    #expect(delivery.deliveryID == "W1:D0")
  }

  @Test func `a kept answer from before all calendars is refused when it is read again`() {
    let invoices: JSONValue = .array([Samples.json([("status", "Settled")])])
    let answer: JSONValue = .array([["date": .integer(.min), "invoices": invoices]])
    let kept = KeptMessage(
      deliveryID: DecodedDelivery.answerID(to: 1, of: Self.key), environment: .live,
      received: Samples.start, isForeign: false, body: answer.encoded())
    #expect(throws: JSONError.self) { try BTCPayStore().decoded(again: kept) }
  }

  @Test func `an answer to a read of another store is refused when it is read again`() {
    let kept = KeptMessage(
      deliveryID: "read:apple:live:subscription:1:1", environment: .live, received: Samples.start,
      isForeign: false, body: Array("[]".utf8))
    #expect(throws: JSONError.self) { try BTCPayStore().decoded(again: kept) }
  }

  @Test func `any other delivery asks for a read and tells nothing`() throws {
    let body = Self.event("InvoiceProcessing")
    let delivery = try #require(try deliver(body, Signing.header(body, Samples.secret)))
    #expect(delivery.requests.map(\.object) == [Self.key])
    #expect(delivery.facts.isEmpty)
    #expect(delivery.disposition == .recorded)
  }

  @Test func `another store's delivery is kept and asks for nothing`() throws {
    let body = Self.event("InvoiceSettled", store: "another")
    let delivery = try #require(try deliver(body, Signing.header(body, Samples.secret)))
    #expect(delivery.requests.isEmpty && delivery.facts.isEmpty && delivery.notes.isEmpty)
    #expect(delivery.disposition == .foreign)
  }

  @Test func `a forged delivery is refused, and told nothing but that`() throws {
    let body = Self.event("InvoiceSettled")
    let right = Signing.header(body, Samples.secret)
    for header in [
      "", "sha256=00", String(right.dropLast()) + "g", Signing.header(body, Secret("x")),
    ] {
      let refusal = #expect(throws: WebhookRefusal.self) { try deliver(body, header) }
      #expect(refusal?.isForgery == true)
      #expect(refusal?.problem.status == 401)
      #expect(refusal?.problem.code == "signature_refused")
    }
    #expect(throws: WebhookRefusal.self) { try deliver(body + [10], right) }
  }

  @Test func `a delivery without a signature is refused before its body`() throws {
    let webhook = try #require(store().webhook)
    let head = RequestHead(
      method: "POST", target: "/webhooks/btcpay", headers: Headers([]), authority: "billing")
    #expect(throws: WebhookRefusal.self) { _ = try webhook.admit(head, Samples.start) }
    #expect(webhook.bodyByteCountMax == 256 << 10)
  }

  @Test func `a read shows invoices as of its number, and when they had settled`() throws {
    let answer = try store([
      Samples.json(id: "I1"), Samples.json(id: "I2", [("status", "Expired")]),
    ]).read(request(Self.key, 7))
    #expect(
      answer.facts.map(\.key.description) == [
        "btcpay:live:prepaid_invoice:I1", "btcpay:live:settlement:I1",
        "btcpay:live:prepaid_invoice:I2",
      ])
    #expect(answer.facts[0].asOf == .readNumber(7))
    #expect(answer.facts.flatMap(\.links).allSatisfy { $0.kind == .part && $0.target == Self.key })
    #expect(answer.requests.isEmpty)
  }

  @Test func `while an invoice is open it is looked at again, but not for ever`() throws {
    let open = Samples.json([("status", "Processing"), ("createdTime", 1_768_000_000)])
    let requests = try store([open]).read(request()).requests
    #expect(requests.map(\.object) == [Self.key])
    #expect(requests.map(\.delay) == [.minutes(10)])
    let old = Samples.json([("status", "Processing"), ("createdTime", 1_766_000_000)])
    #expect(try store([old]).read(request()).requests.isEmpty)
  }

  @Test func `what is no account's cannot be read, nor anything of a store that is off`() {
    func failure(_ store: BTCPayStore, _ key: ObjectKey) -> APIFailure? {
      do throws(APIFailure) {
        _ = try store.read(request(key))
        return nil
      } catch {
        return error
      }
    }
    let invoice = ObjectKey(
      provider: .btcpay, environment: .live, kind: .prepaidInvoice, id: "I1")
    let nobody = ObjectKey(provider: .btcpay, environment: .live, kind: .prepaid, id: "x")
    for key in [invoice, nobody] {
      guard case .refused? = failure(store(), key) else {
        Issue.record("\(key) was read")
        continue
      }
    }
    guard case .misconfigured? = failure(BTCPayStore(), Self.key) else {
      Issue.record("was read")
      return
    }
    #expect(BTCPayStore().webhook == nil)
    #expect(!BTCPayStore().isReadable)
  }
}

/// The same page for every request.
private struct Lists: ProviderTransport {
  let items: [JSONValue]

  init(_ items: [JSONValue]) { self.items = items }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    APIReply(
      status: 200, headers: Headers([("Date", "Sat, 10 Jan 2026 00:00:00 GMT")]),
      body: JSONValue.array(items).encoded(), elapsed: .milliseconds(1))
  }
}
