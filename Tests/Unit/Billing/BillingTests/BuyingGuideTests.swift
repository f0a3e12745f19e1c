import JSON
import TestEngines
import TestFiles
import Testing

/// The examples of docs/buying.md and docs/refunds.md, as the description of the API promises them.
struct BuyingGuideTests {
  /// The requests in the order of their examples. That of a body comes before that of the answer.
  private static let order = """
    GET /v1/plans 200
    POST /v1/stripe/checkout body 202
    POST /v1/stripe/subscription body 202
    POST /v1/stripe/portal body 202
    POST /v1/stripe/change body 202
    POST /v1/stripe/card body 202
    POST /v1/stripe/cancel body 202
    GET /v1/flows/id 200
    GET /v1/flows/id 200
    GET /v1/flows/id 200
    GET /v1/flows/id 200
    POST /v1/flows/id/continue 202
    DELETE /v1/flows/id 202
    POST /v1/stripe/subscription 409
    GET /v1/subscription 200
    GET /v1/payments 200
    POST /v1/claims body 200
    PUT /v1/refund-consent body 200
    """

  /// The JSON examples of a page, in their order.
  private static func examples(of page: String) throws -> [JSONValue] {
    let text = try #require(Files.text("\(Files.repository)/docs/\(page).md"))
    return try text.matches(of: #/\n```json\n([^`]+)\n```/#).map { match in
      let example = try JSON.parse(Array(match.1.utf8))
      return try #require(JSONValue(example))
    }
  }

  /// The fields of an answer.
  private static func fields(_ target: String, _ status: Int64) -> [JSONValue] {
    let type = status < 400 ? "application/json" : "application/problem+json"
    var fields: [JSONValue] = [["Content-Type", .string(type)]]
    if target == "/v1/plans" {
      fields += [["ETag", "\"1\""], ["Cache-Control", "public, no-cache"]]
    }
    if target.hasPrefix("/v1/stripe/"), status < 400 { fields += [["Location", "/v1/flows/id"]] }
    return fields
  }

  @Test(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
  func `what the pages show is described as it is shown`() throws {
    var examples = try (Self.examples(of: "buying") + Self.examples(of: "refunds"))[...]
    var exchanges: [JSONValue] = []
    // The last body that was shown of a request.
    var bodies: [String: JSONValue] = [:]
    for line in Self.order.split(separator: "\n") {
      let words = line.split(separator: " ").map { String($0) }
      let (method, target) = (words[0], words[1])
      let status = Int64(words[words.count - 1]) ?? 0
      if words.contains("body") { bodies[target] = examples.popFirst() }
      let sent: JSONValue = method == "GET" ? .null : bodies[target] ?? .null
      let shown = examples.popFirst()
      let answer = try #require(shown, "\(line)")
      exchanges.append([
        "method": .string(method), "target": .string(target), "request_headers": [],
        "request_byte_count": .integer(sent == .null ? 0 : 1), "request_body": sent,
        "status": .integer(status), "headers": .array(Self.fields(target, status)),
        "byte_count": .integer(Int64(answer.encoded().count)), "body": answer,
      ])
    }
    #expect(examples.isEmpty)
    try expectDescribed(exchanges)
  }
}
