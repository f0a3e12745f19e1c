import Base
import Crypto
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage
import Tiers

/// `POST /v1/stripe/…`: begins a flow for what an account wants done at Stripe, and returns it. A
/// repeated request returns the same flow.
struct BeginFlow: AccountWrite {
  let operation: Operation
  let flows: Flows
  let gate: RequestGate
  let sealing: SealingKeys

  /// One endpoint of the API, and the members of its body.
  struct Operation: Sendable {
    let kind: Intention.Kind
    let pattern: String
    let members: Set<String>

    static let all: [Operation] = [
      Operation(
        kind: .checkout, pattern: "/v1/stripe/checkout",
        members: ["plan", "interval", "success_url", "cancel_url"]),
      Operation(kind: .portal, pattern: "/v1/stripe/portal", members: ["return_url"]),
      Operation(
        kind: .subscribe, pattern: "/v1/stripe/subscription",
        members: ["plan", "interval", "payment_method"]),
      Operation(kind: .change, pattern: "/v1/stripe/change", members: ["plan", "interval"]),
      Operation(kind: .cancel, pattern: "/v1/stripe/cancel", members: []),
      Operation(kind: .uncancel, pattern: "/v1/stripe/uncancel", members: []),
      Operation(kind: .resume, pattern: "/v1/stripe/resume", members: []),
      Operation(kind: .card, pattern: "/v1/stripe/card", members: ["payment_method"]),
      Operation(kind: .pay, pattern: "/v1/stripe/pay", members: []),
      Operation(
        kind: .migrate, pattern: "/v1/stripe/migrate",
        members: ["plan", "interval", "payment_method"]),
    ]
  }

  let method = "POST"
  var pattern: String { operation.pattern }

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
    var intention = Intention(operation.kind)
    guard !(body.isEmpty && operation.members.isEmpty) else { return intention }
    let json = try JSON.parse(body).requireObject()
    try CardNumber.refuse(in: json)
    for member in json.members ?? [] where !operation.members.contains(member.name) {
      throw JSONError(
        code: .wrongType, path: "$.\(member.name)", message: "is no member of this request")
    }
    if operation.members.contains("plan") {
      intention.plan = try text(json["plan"], byteCountMax: 100)
    }
    if operation.members.contains("interval") {
      let word = try json["interval"].requireString()
      guard let interval = Plan.Interval(rawValue: word) else {
        throw JSONError(
          code: .wrongType, path: "$.interval", message: "must be month or year")
      }
      intention.interval = interval
    }
    if operation.members.contains("payment_method") {
      intention.paymentMethod = try paymentMethod(json["payment_method"])
    }
    if operation.members.contains("success_url") {
      intention.returnURL = try address(json["success_url"])
      if json["cancel_url"].exists { intention.cancelURL = try address(json["cancel_url"]) }
    }
    if operation.members.contains("return_url") {
      intention.returnURL = try address(json["return_url"])
    }
    return intention
  }

  private func text(_ json: JSON, byteCountMax: Int) throws(JSONError) -> String {
    let text = try json.requireString()
    guard (1...byteCountMax).contains(text.utf8.count), !text.contains("\0") else {
      throw JSONError(
        code: .wrongType, path: json.path, message: "must have 1 to \(byteCountMax) bytes")
    }
    return text
  }

  /// The id of a payment method that the client made with Stripe's library.
  private func paymentMethod(_ json: JSON) throws(JSONError) -> String {
    let text = try text(json, byteCountMax: 100)
    let isWord = text.utf8.allSatisfy { byte in
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
        || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || byte == UInt8(ascii: "_")
    }
    guard text.hasPrefix("pm_"), isWord else {
      throw JSONError(
        code: .wrongType, path: json.path,
        message: "must be the id of a payment method of Stripe's, pm_…")
    }
    return text
  }

  private func address(_ json: JSON) throws(JSONError) -> String {
    let text = try text(json, byteCountMax: 2000)
    guard flows.allowsReturn(to: text) else {
      throw JSONError(
        code: .wrongType, path: json.path,
        message: "must begin with an origin that the operator allows")
    }
    return text
  }
}
