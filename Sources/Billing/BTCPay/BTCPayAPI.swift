package import Base
import JSON
package import ProviderAPI
import Stores

/// Reads invoices from the Greenfield API of one BTCPay server.
///
/// Every call blocks. The transport bounds each request in time and size, and each answer here is bounded in
/// requests. Any thread may call it. https://docs.btcpayserver.org/API/Greenfield/v1
package struct BTCPayAPI: Sendable {
  let root: String
  /// The id of the store that sells.
  let store: String
  private let key: Secret
  private let transport: any ProviderTransport

  /// Enough for eighty years of monthly invoices; a longer list may have no end.
  private static let pageCountMax = 10
  static let pageLength = 100
  private static let limits = JSONLimits(
    byteCountMax: CurlTransport.bodyByteCountMax, valueCountMax: 1 << 17)

  /// `base` has no slash at its end.
  package init(base: String, store: String, key: Secret, transport: any ProviderTransport) {
    root = "\(base)/api/v1/stores/\(PercentEncoding.encode(store))/invoices"
    self.store = store
    self.key = key
    self.transport = transport
  }

  /// Every invoice whose order has the account's name, including archived ones.
  ///
  /// A missing invoice says nothing, because the server deletes unpaid ones. The server finds an order only by its
  /// exact name, and shops write UUIDs in either case.
  package func invoices(of account: Identifier) throws(APIFailure) -> BTCPayAnswer {
    var answer = BTCPayAnswer()
    for page in 0..<Self.pageCountMax {
      // The newest come first, so an invoice that is created in the meantime repeats one and hides none.
      let path =
        "?orderId=\(account)&orderId=\(account.description.uppercased())&includeArchived=true"
        + "&skip=\(page * Self.pageLength)&take=\(Self.pageLength)"
      let (json, date) = try get(path)
      let items = try malformed { () throws(JSONError) in try json.requireArray() }
      for item in items {
        let (id, invoice) = try malformed { () throws(JSONError) in
          (try item["id"].requireID(), try BTCPayInvoice(item, store: store))
        }
        guard invoice.account == account else {
          throw .malformed("an invoice of another order is in the list")
        }
        answer.invoices.append(.init(id: id, content: invoice, shownAt: date))
      }
      answer.keep(path, items.map { BTCPayInvoice.kept(of: $0) }, date)
      if items.count < Self.pageLength { return answer }
    }
    answer.notes.insert(.listCutShort)
    return answer
  }

  func get(_ path: String) throws(APIFailure) -> (json: JSON, date: Instant) {
    let reply = try transport.send(
      APIRequest("GET", root + path, by: key, scheme: "token", json: nil))
    let body = try accepted(reply).body
    // This clock gives the time at which invoices settled if their deliveries are lost.
    guard let date = reply.date else { throw .malformed("the answer has no date") }
    return (
      try malformed { () throws(JSONError) in try JSON.parseForeign(body, limits: Self.limits) },
      date
    )
  }

  /// A reply with a 2xx status. If the store exists, so does its list; anything else is not our server.
  func accepted(_ reply: APIReply) throws(APIFailure) -> APIReply {
    switch reply.status {
    case 300..<400, 404, 410:
      throw .misconfigured("there is no such store, or no BTCPay server: \(reply.status)")
    default: return try reply.successful()
    }
  }
}

/// The result of a read, with the server's answers.
package struct BTCPayAnswer: Sendable {
  package struct Shown: Hashable, Sendable {
    package let id: String
    package let content: BTCPayInvoice
    /// By the server's clock.
    package let shownAt: Instant

    /// The latest moment at which it can have settled; nil if it is not settled.
    package var settlement: BTCPaySettlement? {
      guard content.status == .settled, let account = content.account else { return nil }
      return BTCPaySettlement(account, at: shownAt)
    }
  }

  package fileprivate(set) var invoices: [Shown] = []
  package fileprivate(set) var notes: Set<BTCPayNote> = []
  /// The answers in a JSON array with their requests and times, reduced to members that may ever be read.
  package var transcript: [UInt8] { JSONValue.array(parts).encoded() }

  private var parts: [JSONValue] = []

  fileprivate init() {}

  fileprivate mutating func keep(_ path: String, _ invoices: [JSONValue], _ date: Instant) {
    parts.append([
      "target": .string(path), "date": .integer(date.milliseconds), "invoices": .array(invoices),
    ])
  }
}
