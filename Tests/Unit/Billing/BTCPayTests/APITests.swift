import BTCPay
import Base
import HTTPMessages
import JSON
import ProviderAPI
import Testing

/// The read client, with answers made here.
struct APITests {
  private static let date = "Sat, 10 Jan 2026 00:00:00 GMT"
  private static let dateMoment = Instant(httpDate: date)!
  private static let root =
    "https://pay.test/api/v1/stores/4kTzQ9wYbJm3VxRr7NpHs2uDfCgE8aLqX6nWoKiMvB1P/invoices"

  private func api(_ transport: Transport) -> BTCPayAPI {
    BTCPayAPI(
      base: "https://pay.test", store: Samples.store, key: Secret("key-0123456789"),
      transport: transport)
  }

  private func failure(_ answer: Transport.Answer) -> APIFailure? {
    let api = api(Transport([Self.page(0): answer]))
    do throws(APIFailure) {
      _ = try api.invoices(of: Samples.account)
      return nil
    } catch {
      return error
    }
  }

  private static func page(_ skip: Int) -> String {
    "\(root)?orderId=\(Samples.account)&orderId=\(Samples.account.description.uppercased())"
      + "&includeArchived=true&skip=\(skip)&take=100"
  }

  /// A list of one invoice, with some of its members changed.
  private func read(_ changes: [(String, JSONValue?)] = []) throws -> BTCPayAnswer {
    let answer = Transport.Answer.json(.array([Samples.json(changes)]))
    return try api(Transport([Self.page(0): answer])).invoices(of: Samples.account)
  }

  @Test func `an account's invoices are read with the key, and nothing but read`() throws {
    let transport = Transport([Self.page(0): .json(.array([Samples.json()]))])
    let answer = try api(transport).invoices(of: Samples.account)
    #expect(answer.invoices.map(\.id) == [Samples.invoice])
    #expect(answer.invoices.map(\.content) == [Samples.invoice(paid: "3")])
    let requests = transport.requests.withLock { $0 }
    #expect(requests.map(\.method) == ["GET"])
    #expect(requests[0].headers.contains { $0 == ("Authorization", "token key-0123456789") })
    #expect(answer.notes.isEmpty)
  }

  @Test func `an order may write its account's name in upper case`() throws {
    let name = JSONValue.string(Samples.account.description.uppercased())
    let answer = try read([("metadata", ["orderId": name, "itemCode": "premium-month"])])
    #expect(answer.invoices.map(\.content) == [Samples.invoice(paid: "3")])
  }

  @Test func `what is settled had settled when the server said so`() throws {
    let shown = try read().invoices[0]
    #expect(shown.shownAt == Self.dateMoment)
    #expect(shown.settlement == BTCPaySettlement(Samples.account, at: Self.dateMoment))
    #expect(try read([("status", "Processing")]).invoices[0].settlement == nil)
  }

  @Test func `lists are read page by page`() throws {
    let first = (0..<100).map { Samples.json(id: "A\($0)") }
    let second = [Samples.json(id: "A99"), Samples.json(id: "A100")]
    let transport = Transport([
      Self.page(0): .json(.array(first)), Self.page(100): .json(.array(second)),
    ])
    let answer = try api(transport).invoices(of: Samples.account)
    #expect(Set(answer.invoices.map(\.id)).count == 101)
    #expect(transport.requests.withLock { $0.count } == 2)
    #expect(answer.notes.isEmpty)
  }

  @Test func `an account without invoices is an answer`() throws {
    let answer = try api(Transport([Self.page(0): .json([])])).invoices(of: Samples.account)
    #expect(answer.invoices.isEmpty)
  }

  @Test func `a list without an end is cut short, and said to be`() throws {
    let page = Transport.Answer.json(.array((0..<100).map { Samples.json(id: "A\($0)") }))
    let pages = (0..<10).map { (Self.page($0 * 100), page) }
    let transport = Transport(Dictionary(uniqueKeysWithValues: pages))
    let answer = try api(transport).invoices(of: Samples.account)
    #expect(answer.notes == [.listCutShort])
    #expect(transport.requests.withLock { $0.count } == 10)
  }

  @Test func `the transcript holds nothing about the payer`() throws {
    let transcript = try read().transcript
    let text = String(decoding: transcript, as: UTF8.self)
    #expect(text.contains(#""amount":"3.00""#))
    #expect(text.contains(Samples.account.description))
    #expect(!text.contains("somebody@example.org"))
    #expect(!text.contains("checkoutLink"))
    #expect(try JSON.parse(transcript)[0]["invoices"][0]["status"].string == "Settled")
  }

  @Test(
    arguments: [("x", "x"), (7, nil), ("a b", nil), (nil, nil), (.null, nil)]
      as [(JSONValue?, String?)])
  func `a product may be anything`(code: JSONValue?, product: String?) throws {
    let order = JSONValue.Member("orderId", .string(Samples.account.description))
    let metadata = [order] + (code.map { [.init("itemCode", $0)] } ?? [])
    let answer = try read([("metadata", .object(metadata))])
    #expect(answer.invoices[0].content.product == product)
  }

  @Test func `a top-up asks for no amount`() throws {
    for changes in [[("type", "TopUp")], [("amount", .null)]] as [[(String, JSONValue?)]] {
      #expect(try read(changes).invoices[0].content.amount == nil)
    }
  }

  @Test func `a whole number is an amount`() throws {
    let answer = try read([("amount", 3), ("paidAmount", nil)])
    #expect(answer.invoices[0].content == Samples.invoice())
  }

  @Test(arguments: ["-0.05", "much", [:]] as [JSONValue])
  func `an invoice of which less came than the fees is read all the same`(paid: JSONValue) throws {
    let answer = try read([("paidAmount", paid)])
    #expect(answer.invoices[0].content == Samples.invoice())
  }

  @Test(
    arguments: [
      [("storeId", "another")], [("storeId", nil)], [("amount", "3,00")], [("amount", "-3")],
      [("currency", nil)], [("status", nil)], [("createdTime", "yesterday")],
      [("createdTime", .integer(-1))], [("id", nil)], [("metadata", nil)], [("metadata", .null)],
      [("metadata", ["orderId": .string(Samples.other.description)])],
      [("metadata", ["orderId": "coffer-ord-1"])],
    ] as [[(String, JSONValue?)]])
  func `a list with what was not asked for is malformed`(changes: [(String, JSONValue?)]) {
    guard case .malformed? = failure(.json(.array([Samples.json(changes)]))) else {
      Issue.record("was taken")
      return
    }
  }

  @Test func `an answer without a date, or that is no list, is malformed`() {
    for answer in [
      Transport.Answer(status: 200, body: Array("[]".utf8), hasDate: false),
      Transport.Answer(status: 200, body: Array("<html>".utf8)), Transport.Answer(status: 200),
      .json(Samples.json()), .json(["x"]),
    ] {
      guard case .malformed? = failure(answer) else {
        Issue.record("was taken")
        continue
      }
    }
  }

  @Test func `a wrong address and a wrong key are ours to repair`() {
    for answer in [
      Transport.Answer(status: 404), Transport.Answer(status: 404, body: Array("<html>".utf8)),
      Transport.Answer(status: 404, body: Array(#"{"code":"store-not-found"}"#.utf8)),
      Transport.Answer(status: 301), Transport.Answer(status: 307), Transport.Answer(status: 410),
      Transport.Answer(status: 401),
      Transport.Answer(status: 403, body: Array(#"{"code":"missing-permission"}"#.utf8)),
    ] {
      guard case .misconfigured? = failure(answer) else {
        Issue.record("\(answer.status) was taken otherwise")
        continue
      }
    }
  }

  @Test func `what the server cannot now is tried again, what it refuses is not`() {
    guard case .transient? = failure(Transport.Answer(status: 503)) else {
      Issue.record("503")
      return
    }
    guard case .refused(422, _)? = failure(Transport.Answer(status: 422)) else {
      Issue.record("422")
      return
    }
  }
}

/// Gives the scripted answers and refuses other requests.
private struct Transport: ProviderTransport {
  struct Answer: Sendable {
    var status: Int
    var body: [UInt8] = []
    var hasDate = true

    static func json(_ value: JSONValue) -> Answer {
      Answer(status: 200, body: value.encoded())
    }
  }

  let answers: [String: Answer]
  let requests = Shared()

  init(_ answers: [String: Answer]) { self.answers = answers }

  final class Shared: Sendable {
    private let all = Locked<[APIRequest]>([])
    func withLock<Value>(_ body: (inout [APIRequest]) -> Value) -> Value { all.withLock(body) }
  }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    requests.withLock { $0.append(request) }
    guard let answer = answers[request.url] else {
      throw .refused(status: 0, "nobody scripted \(request.url)")
    }
    return APIReply(
      status: answer.status,
      headers: Headers(answer.hasDate ? [("Date", "Sat, 10 Jan 2026 00:00:00 GMT")] : []),
      body: answer.body, elapsed: .milliseconds(250))
  }
}
