import Base
import JSON

/// Stripe's answers to reads, from one world.
struct StripeReads {
  let rendering: StripeRendering
  let now: Instant

  typealias Parameters = [(name: String, value: String)]

  /// A refusal as described in https://docs.stripe.com/api/errors.
  struct Refusal: Error {
    let status: Int
    let code: String?
    let message: String
    var parameter: String?
    var type: String?
    var declineCode: String?

    var json: JSONValue {
      var members: [JSONValue.Member] = []
      if let code {
        members.append(.init("code", .string(code)))
        members.append(.init("doc_url", .string("https://stripe.com/docs/error-codes/\(code)")))
      }
      if let declineCode { members.append(.init("decline_code", .string(declineCode))) }
      members.append(.init("message", .string(message)))
      if let parameter { members.append(.init("param", .string(parameter))) }
      let type = type ?? (status >= 500 ? "api_error" : "invalid_request_error")
      return ["error": .object(members + [.init("type", .string(type))])]
    }
  }

  /// A row of a collection: its id, its fields for filters, and its JSON.
  struct Row {
    let id: String
    let fields: [String: String]
    let json: JSONValue
  }

  private var world: StripeWorld { rendering.world }
  private static let retention = Instant.Span.days(30)

  func answer(_ segments: [String], _ parameters: Parameters) throws(Refusal) -> JSONValue {
    let path = "/" + segments.joined(separator: "/")
    guard segments.first == "v1" else { throw unknown(path) }
    let rest = Array(segments.dropFirst())
    let isNested = rest.first == "checkout"
    let kind = rest.prefix(isNested ? 2 : 1).joined(separator: "/")
    let tail = rest.dropFirst(isNested ? 2 : 1)
    if kind == "customers", tail.first == "search" { return try search(parameters, path) }
    guard let allowed = Self.filters[kind] else { throw unknown(path) }
    let expands = parameters.contains {
      $0.name.hasPrefix("expand[") && $0.value.hasSuffix("payments")
    }
    guard let id = tail.first else {
      return try list(kind, path, parameters, allowed, expands)
    }
    if kind == "customers", world.customers[optional: id]?.deletedAt != nil, tail.count == 1 {
      return rendering.deletedCustomer(id)
    }
    guard let row = rows(of: kind, expands).last(where: { $0.id == id }) else {
      throw Refusal(
        status: 404, code: "resource_missing", message: "No such \(kind.dropLast()): '\(id)'",
        parameter: "id")
    }
    if tail.count == 1 { return rendering.expanded(row.json, parameters) }
    guard kind == "invoices", tail.count == 2, tail.last == "lines",
      case .array(let lines)? = row.json["lines"]?["data"]
    else { throw unknown(path) }
    return try page(
      lines.map { Row(id: $0["id"].text, fields: [:], json: $0) }, path, parameters, allowed: [])
  }

  /// Searches by the metadata that our server looks for: of an account's customers one or all.
  private func search(_ parameters: Parameters, _ path: String) throws(Refusal) -> JSONValue {
    let query = parameters.value(of: "query")
    let found = world.customers.rows.filter { customer in
      guard customer.deletedAt == nil, let account = customer.account else { return false }
      let all = "metadata['coffer_account']:'\(account)'"
      let one = customer.number.map { "\(all) AND metadata['coffer_customer']:'\($0)'" }
      return query == all || query == one
    }
    return rendering.list(found.map { rendering.customer($0) }, url: path)
  }

  private func unknown(_ path: String) -> Refusal {
    Refusal(status: 404, code: nil, message: "Unrecognized request URL (GET: \(path)).")
  }

  // MARK: Lists

  /// The filters of each collection.
  private static let filters: [String: Set<String>] = [
    "subscriptions": ["customer", "price", "status"],
    "invoices": ["customer", "status", "subscription"],
    "invoice_payments": ["invoice", "payment[payment_intent]", "payment[type]", "status"],
    "refunds": ["charge", "payment_intent"], "disputes": ["charge", "payment_intent"],
    "charges": ["customer", "payment_intent"], "customers": ["email"],
    "checkout/sessions": ["customer", "subscription", "status"],
    "setup_intents": ["customer"], "subscription_schedules": ["customer"],
    "events": ["type", "types[]", "created[gt]", "created[gte]", "created[lt]", "created[lte]"],
  ]

  private func list(
    _ kind: String, _ path: String, _ parameters: Parameters, _ allowed: Set<String>,
    _ expands: Bool
  ) throws(Refusal) -> JSONValue {
    var newestFirst = Array(rows(of: kind, expands).reversed())
    var parameters = parameters
    switch kind {
    case "subscriptions":
      newestFirst.removeAll { !Self.isListed($0, parameters.value(of: "status")) }
      parameters.removeAll { $0.name == "status" }
    case "customers": newestFirst.removeAll { world.customers[$0.id].deletedAt != nil }
    case "events":
      newestFirst.removeAll { !isListed(event: $0.id, parameters) }
      parameters.removeAll { allowed.contains($0.name) }
    case "invoice_payments":
      if parameters.value(of: "payment[type]") != nil,
        parameters.value(of: "payment[payment_intent]") == nil
      {
        throw Refusal(
          status: 400, code: "parameter_missing",
          message: "Missing required param: payment[payment_intent].",
          parameter: "payment[payment_intent]")
      }
      parameters.removeAll { $0.name == "payment[type]" }
    default: break
    }
    return try page(newestFirst, path, parameters, allowed: allowed)
  }

  /// Without a status, all but the canceled ones.
  private static func isListed(_ row: Row, _ status: String?) -> Bool {
    let own = row.fields["status"]
    return switch status {
    case "all": true
    case nil: own != "canceled"
    case "ended": own == "canceled" || own == "incomplete_expired"
    default: own == status
    }
  }

  private func isListed(event id: String, _ parameters: Parameters) -> Bool {
    let event = world.events[id]
    let types = parameters.filter { $0.name == "type" || $0.name == "types[]" }.map { $0.value }
    let matches =
      types.isEmpty
      || types.contains { type in
        type.hasSuffix("*") ? event.type.hasPrefix(type.dropLast()) : event.type == type
      }
    func bound(_ name: String) -> Int64? {
      parameters.value(of: "created[\(name)]").flatMap { Int64($0) }
    }
    let created = event.created.seconds
    return matches && event.created > now - Self.retention
      && created > bound("gt") ?? .min && created >= bound("gte") ?? .min
      && created < bound("lt") ?? .max && created <= bound("lte") ?? .max
  }

  private func page(
    _ rows: [Row], _ path: String, _ parameters: Parameters, allowed: Set<String>
  ) throws(Refusal) -> JSONValue {
    var rows = rows
    var limit = 10
    var first = 0
    for (name, value) in parameters where name != "starting_after" {
      if name == "limit" {
        guard let number = Int(value), 1...100 ~= number else {
          throw Refusal(
            status: 400, code: "parameter_invalid_integer", message: "Invalid integer: \(value)",
            parameter: "limit")
        }
        limit = number
      } else if allowed.contains(name) {
        rows.removeAll { $0.fields[name] != value }
      } else if !name.hasPrefix("expand[") {
        throw Refusal(
          status: 400, code: "parameter_unknown",
          message: "Received unknown parameter: \(name)", parameter: name)
      }
    }
    if let last = parameters.value(of: "starting_after") {
      guard let place = rows.firstIndex(where: { $0.id == last }) else {
        throw Refusal(
          status: 400, code: "resource_missing", message: "No such object: '\(last)'",
          parameter: "starting_after")
      }
      first = place + 1
    }
    let shown = rows.dropFirst(first).prefix(limit)
    return rendering.list(
      shown.map { $0.json }, url: path, hasMore: first + shown.count < rows.count)
  }
}

extension StripeReads.Parameters {
  func value(of name: String) -> String? { last { $0.name == name }?.value }
}

extension JSONValue? {
  /// The text; empty if there is none.
  var text: String {
    guard case .string(let text)? = self else { return "" }
    return text
  }
}
