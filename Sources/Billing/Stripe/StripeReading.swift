import Base
import HTTPMessages
import JSON
import ProviderAPI
import Stores
import Subscriptions

/// A read in progress: its requests and their results so far.
struct StripeReading {
  private(set) var answer = StoreAnswer()

  let api: StripeAPI
  /// The payments of invoices, each with the end of the last period that it paid for.
  private var payments: [String: Instant] = [:]
  private var newest: Instant?
  private var requestCount = 0

  /// Enough for a thousand invoices; a longer list may have no end.
  private static let pageCountMax = 10
  private static let requestCountMax = 200

  /// Added to the answer's own clock: a replica may lag, and `Date` is cut to whole seconds.
  private static let lagMax = Instant.Span.seconds(6)
  private static let dateLength = Instant.Span.seconds(1)
  /// A reversal of a period that ended longer ago changes no one's access.
  private static let periodAgeMax = Instant.Span.days(400)

  init(_ api: StripeAPI) { self.api = api }

  mutating func readRest(of subscription: String, customer: String?) throws(APIFailure) {
    if let customer { try read("/v1/customers/\(PercentEncoding.encode(customer))") }
    try list("/v1/checkout/sessions", [("subscription", subscription)])
    let invoices = try list(
      "/v1/invoices", [("subscription", subscription), ("expand[]", "data.payments")])
    for invoice in invoices { try readPayments(of: invoice) }
    for payment in paymentsThatMatter { try readReversals(of: payment) }
  }

  /// The payments whose reversal can matter, newest period first.
  private var paymentsThatMatter: [String] {
    let oldest = (newest ?? .distantPast) - Self.periodAgeMax
    return payments.filter { $0.value >= oldest }
      .sorted { ($1.value, $1.key) < ($0.value, $0.key) }.map { $0.key }
  }

  /// Reads one object and adds its facts to the answer.
  @discardableResult
  mutating func read(_ path: String) throws(APIFailure) -> JSON {
    let (json, asOf) = try get(path, [])
    try decode([json], asOf)
    return json
  }

  /// Reads a list page by page and adds its objects' facts to the answer.
  @discardableResult
  mutating func list(
    _ path: String, _ parameters: StripeAPI.Form
  ) throws(APIFailure) -> [JSON] {
    var items: [JSON] = []
    for (page, asOf) in try pages(path, parameters) {
      try decode(page, asOf)
      items += page
    }
    return items
  }

  mutating func pages(
    _ path: String, _ parameters: StripeAPI.Form, after first: String? = nil
  ) throws(APIFailure) -> [(items: [JSON], asOf: AsOf)] {
    var pages: [(items: [JSON], asOf: AsOf)] = []
    var last = first
    for _ in 0..<Self.pageCountMax {
      let (json, asOf) = try get(path, StripeAPI.page(parameters, after: last))
      let items = try malformed { () throws(JSONError) in try json["data"].requireArray() }
      pages.append((items, asOf))
      last = items.last?["id"].reference
      guard json["has_more"].bool == true, last != nil else { return pages }
    }
    answer.notes.insert(StripeEvent.Note.listCutShort.rawValue)
    return pages
  }

  /// Notes the payments of an invoice. Requests them if the answer did not hold all of them.
  private mutating func readPayments(of invoice: JSON) throws(APIFailure) {
    guard let id = invoice["id"].reference, invoice["status"].string == "paid" else { return }
    let within = invoice["payments"]
    let isWhole = within.isObject && within["has_more"].bool == false
    let all =
      isWhole
      ? within["data"].array ?? [] : try list("/v1/invoice_payments", [("invoice", id)])
    let end = (invoice["lines"]["data"].array ?? [])
      .compactMap { try? $0["period"]["end"].requireInstant() }.max()
    for payment in all {
      let payment = payment["payment"]
      guard let name = payment["payment_intent"].reference ?? payment["charge"].reference,
        let end
      else { continue }
      payments[name] = max(payments[name] ?? end, end)
    }
  }

  private mutating func readReversals(of payment: String) throws(APIFailure) {
    let kind = payment.hasPrefix("pi_") ? "payment_intent" : "charge"
    try list("/v1/refunds", [(kind, payment)])
    try list("/v1/disputes", [(kind, payment)])
  }

  private mutating func decode(_ objects: [JSON], _ asOf: AsOf) throws(APIFailure) {
    var decoder = ObjectDecoder(environment: api.environment, asOf: asOf)
    for object in objects {
      if let id = object["id"].reference { decoder.rest[id] = try rest(of: object, id) }
    }
    for object in objects {
      try malformed { () throws(JSONError) in try decoder.read(object) }
    }
    answer.add(decoder)
    answer.terms += objects.flatMap { [SearchTerm](stripe: $0, in: api.environment) }
  }

  /// The entries that an object's own list leaves out: lines of an invoice, items of a subscription.
  private mutating func rest(of object: JSON, _ id: String) throws(APIFailure) -> [JSON]? {
    let (lines, items) = (object["lines"], object["items"])
    if lines["has_more"].bool == true {
      return try pages(
        "/v1/invoices/\(PercentEncoding.encode(id))/lines", [],
        after: lines["data"].array?.last?["id"].reference
      ).flatMap { $0.items }
    }
    guard items["has_more"].bool == true else { return nil }
    return try pages(
      "/v1/subscription_items", [("subscription", id)],
      after: items["data"].array?.last?["id"].reference
    ).flatMap { $0.items }
  }

  private mutating func get(
    _ path: String, _ parameters: StripeAPI.Form
  ) throws(APIFailure) -> (json: JSON, asOf: AsOf) {
    requestCount += 1
    guard requestCount <= Self.requestCountMax else {
      throw .refused(status: 0, "one read takes more than \(Self.requestCountMax) requests")
    }
    let target = StripeAPI.target(path, parameters)
    let (json, body, date, elapsed) = try api.dated(target)
    newest = max(newest ?? date, date)
    let asOf = AsOf(from: date - elapsed - Self.lagMax, to: date + Self.dateLength)
    answer.began = min(answer.began ?? asOf.from, asOf.from)
    answer.keep(
      body,
      asked: [
        "target": .string(target), "from": .integer(asOf.from.milliseconds),
        "to": .integer(asOf.to.milliseconds),
      ])
    return (json, asOf)
  }
}

extension APIReply {
  /// The body of a success. Texts of Stripe's errors may repeat a key, so only their code is
  /// reported. An error that is not Stripe's says nothing about what was asked.
  func stripeBody() throws(APIFailure) -> [UInt8] {
    let isRepeatable = headers.text("stripe-should-retry") == "true"
    if isRepeatable || status == 409 || status == 424 {
      throw .transient("Stripe answers \(status)", retryAfter: retryAfter)
    }
    do { return try successful().body } catch {
      guard error.isAboutObject else { throw error }
      guard let json = try? JSON.parseForeign(body)["error"], json.isObject else {
        throw .stranger(inPlaceOf: "Stripe's API", status)
      }
      guard case .refused(let status, let reason) = error else { throw error }
      throw .refused(status: status, Self.code(json) ?? reason)
    }
  }

  private static func code(_ error: JSON) -> String? {
    guard let code = error["code"].string, code.utf8.count <= 64,
      code.utf8.allSatisfy({ 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == 0x5F })
    else { return nil }
    return code
  }
}
