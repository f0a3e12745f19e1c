import Base
import HTTPMessages
package import JSON
package import ProviderAPI

/// The calls to Stripe that flows make, and their answers.
extension StripeAPI {
  package typealias Form = [(name: String, value: String)]

  /// The result of a call that Stripe has decided on.
  package enum Outcome: Sendable {
    case answered(JSON)
    case refused(StripeRefusal)
  }

  /// Makes a change. With the same key it is made once, and refused if the form differs.
  /// https://docs.stripe.com/api/idempotent_requests
  package func post(
    _ path: String, _ form: Form, key name: String
  ) throws(APIFailure) -> Outcome {
    try call(change("POST", path, form, key: name))
  }

  /// Reads an object or a list.
  package func get(_ path: String, _ query: Form = []) throws(APIFailure) -> Outcome {
    try call(APIRequest("GET", base + Self.target(path, query), headers: headers))
  }

  static func target(_ path: String, _ query: Form) -> String {
    query.isEmpty ? path : "\(path)?\(encoded(query))"
  }

  /// Ends or deletes an object. When repeated, the object is not found.
  package func delete(_ path: String) throws(APIFailure) -> Outcome {
    try call(change("DELETE", path))
  }

  /// The request of a change. Orders of operators send it themselves, because a refusal is shown to them in Stripe's
  /// words, which no account may see.
  func change(
    _ method: String, _ path: String, _ form: Form = [], key name: String? = nil
  ) -> APIRequest {
    var headers = self.headers(Self.orderVersion)
    if let name { headers.append(("Idempotency-Key", name)) }
    guard !form.isEmpty else { return APIRequest(method, base + path, headers: headers) }
    headers.append(("Content-Type", "application/x-www-form-urlencoded"))
    return APIRequest(
      method, base + path, headers: headers, body: Array(Self.encoded(form).utf8))
  }

  /// The query for the page of a list that follows that object, or for the first one.
  static func page(_ parameters: Form, after last: String?) -> Form {
    var query = parameters
    query.append(("limit", "100"))
    if let last { query.append(("starting_after", last)) }
    return query
  }

  private static func encoded(_ form: Form) -> String {
    form.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
      .joined(separator: "&")
  }

  private var headers: [(String, String)] { headers(Self.version) }

  private static let limits = JSONLimits(
    byteCountMax: CurlTransport.bodyByteCountMax, valueCountMax: 1 << 19)

  /// An answer with its time by Stripe's clock, without which nothing says what the answer outdates.
  typealias DatedAnswer = (json: JSON, body: [UInt8], date: Instant, elapsed: Instant.Span)

  func dated(_ target: String) throws(APIFailure) -> DatedAnswer {
    let reply = try transport.send(APIRequest("GET", base + target, headers: headers))
    let body = try reply.stripeBody()
    guard let date = reply.date else { throw .malformed("the answer has no date") }
    let json = try malformed { () throws(JSONError) in
      try JSON.parseForeign(body, limits: Self.limits).requireObject()
    }
    return (json, body, date, reply.elapsed)
  }

  private func headers(_ version: String) -> [(String, String)] {
    [
      ("Authorization", "Bearer " + String(decoding: key.exposed, as: UTF8.self)),
      ("Stripe-Version", version),
    ]
  }

  private func call(_ request: APIRequest) throws(APIFailure) -> Outcome {
    let reply = try transport.send(request)
    let body: [UInt8]
    do { body = try reply.stripeBody() } catch {
      switch error {
      case .refused, .notFound:
        guard let refusal = StripeRefusal(status: reply.status, reply.body) else { throw error }
        return .refused(refusal)
      case .transient, .gone, .misconfigured, .malformed: throw error
      }
    }
    return .answered(
      try malformed { () throws(JSONError) in try JSON.parseForeign(body).requireObject() })
  }
}

/// Why Stripe refused a request, in its own codes. Its texts are left out, because they may repeat
/// what was sent. https://docs.stripe.com/api/errors
package struct StripeRefusal: Sendable, Equatable {
  package let status: Int
  package let type: String?
  package let code: String?
  package let declineCode: String?
  package let parameter: String?

  init?(status: Int, _ body: [UInt8]) {
    guard let error = (try? JSON.parseForeign(body))?["error"], error.isObject else { return nil }
    func word(_ name: String) -> String? {
      guard let word = error[name].string, word.utf8.count <= 100,
        word.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
      else { return nil }
      return word
    }
    self.status = status
    type = word("type")
    code = word("code")
    declineCode = word("decline_code")
    parameter = word("param")
  }

  /// Whether the bank, or Stripe on its behalf, declined the card.
  package var isOfCard: Bool { type == "card_error" || status == 402 }

  /// Whether the bank asks the customer to confirm first.
  package var asksCustomer: Bool {
    switch code {
    case "authentication_required", "subscription_payment_intent_requires_action",
      "invoice_payment_intent_requires_action":
      true
    default: declineCode == "authentication_required"
    }
  }
}
