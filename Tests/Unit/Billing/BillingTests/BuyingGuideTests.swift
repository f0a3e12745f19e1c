import JSON
import TestEngines
import TestFiles
import Testing

/// The examples of docs/buying.md, as the description of the API promises them.
struct BuyingGuideTests {
  /// Whose answers the page shows, in its order.
  private static let requests: [(method: String, target: String, body: JSONValue, status: Int64)] =
    [
      ("GET", "/v1/plans", .null, 200),
      (
        "POST", "/v1/stripe/subscription",
        ["plan": "premium", "interval": "month", "payment_method": "pm_1"], 409
      ),
      ("GET", "/v1/subscription", .null, 200),
      ("GET", "/v1/payments", .null, 200),
      ("POST", "/v1/claims", ["provider": "google", "token": "aohj"], 200),
    ]

  /// The JSON examples of the page, in their order.
  private static func examples() throws -> [JSON] {
    let page = try #require(Files.text("\(Files.repository)/docs/buying.md"))
    return try page.matches(of: #/\n```json\n([^`]+)\n```/#).map {
      try JSON.parse(Array($0.1.utf8))
    }
  }

  @Test(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
  func `what the page shows is described as it is shown`() throws {
    let examples = try Self.examples()
    try #require(examples.count == Self.requests.count)
    let exchanges = try zip(Self.requests, examples).map { request, example -> JSONValue in
      let body = try #require(JSONValue(example))
      let type = request.status == 200 ? "application/json" : "application/problem+json"
      var headers: [JSONValue] = [["Content-Type", .string(type)]]
      if request.target == "/v1/plans" {
        headers += [["ETag", "\"1\""], ["Cache-Control", "public, no-cache"]]
      }
      return [
        "method": .string(request.method), "target": .string(request.target),
        "request_headers": [],
        "request_byte_count": .integer(request.body == .null ? 0 : 1),
        "request_body": request.body, "status": .integer(request.status),
        "headers": .array(headers), "byte_count": .integer(Int64(body.encoded().count)),
        "body": body,
      ]
    }
    try expectDescribed(exchanges)
  }
}
