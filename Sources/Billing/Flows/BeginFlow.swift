import Base
import Crypto
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage
import Stores
import Stripe
import Tiers

/// `POST /v1/stripe/…`: begins a flow for what an account wants done at Stripe, and returns it. A
/// repeated request returns the same flow.
struct BeginFlow: AccountWrite {
  let kind: Intention.Kind
  let flows: Flows
  let gate: RequestGate
  let sealing: SealingKeys

  let method = "POST"
  var pattern: String { "/v1/stripe/\(kind == .subscribe ? "subscription" : kind.rawValue)" }

  private var members: Set<String> {
    switch kind {
    case .checkout: ["plan", "interval", "success_url", "cancel_url"]
    case .subscribe, .migrate: ["plan", "interval", "payment_method"]
    case .change: ["plan", "interval"]
    case .card: ["payment_method"]
    case .portal: ["return_url"]
    case .cancel, .uncancel, .resume, .pay: []
    }
  }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Intention {
    do throws(JSONError) { return try intention(body) } catch {
      throw RequestRefusal.bodyInvalid(path: error.path, rule: error.message)
    }
  }

  func write(
    _ intention: Intention, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Flow {
    let caller = try Caller(transaction, request.credentials, now: now)
    return try flows.begin(
      intention, of: caller.account, trace: request.head.trace, at: now, in: transaction)
  }

  func respond(_ flow: Flow, to input: AccountInput<Intention>) throws -> Response {
    var response = Response.json(flow.isOpen ? 202 : 200, flow.answer(sealing))
    response.headers.append(("Location", "/v1/flows/\(flow.id)"))
    return response
  }

  // MARK: the body

  private func intention(_ body: [UInt8]) throws(JSONError) -> Intention {
    var intention = Intention(kind)
    guard !(body.isEmpty && members.isEmpty) else { return intention }
    let json = try JSON.parse(body).requireObject()
    try CardNumber.refuse(in: json)
    for member in json.members ?? [] where !members.contains(member.name) {
      throw member.value.failure("is no member of this request")
    }
    if members.contains("plan") {
      intention.plan = try text(json["plan"], byteCountMax: 100)
      guard let interval = Plan.Interval(rawValue: try json["interval"].requireString()) else {
        throw json["interval"].failure("must be month or year")
      }
      intention.interval = interval
    }
    if members.contains("payment_method") {
      intention.paymentMethod = try paymentMethod(json["payment_method"])
    }
    if members.contains("success_url") {
      intention.returnURL = try address(json["success_url"])
      if json["cancel_url"].exists { intention.cancelURL = try address(json["cancel_url"]) }
    }
    if members.contains("return_url") {
      intention.returnURL = try address(json["return_url"])
    }
    return intention
  }

  private func text(_ json: JSON, byteCountMax: Int) throws(JSONError) -> String {
    let text = try json.requireString()
    guard (1...byteCountMax).contains(text.utf8.count), !text.contains("\0") else {
      throw json.failure("must have 1 to \(byteCountMax) bytes")
    }
    return text
  }

  /// The id of a payment method that the client made with Stripe's library.
  private func paymentMethod(_ json: JSON) throws(JSONError) -> String {
    let text = try text(json, byteCountMax: 100)
    guard isStripeID(text, "pm_") else {
      throw json.failure("must be the id of a payment method of Stripe's, pm_…")
    }
    return text
  }

  private func address(_ json: JSON) throws(JSONError) -> String {
    let text = try text(json, byteCountMax: 2000)
    guard flows.allowsReturn(to: text) else {
      throw json.failure("must begin with an origin that the operator allows")
    }
    return text
  }
}
