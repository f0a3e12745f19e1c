import DescribedAPI
import JSON
import TestFiles
import Testing

/// The examples of docs/buying.md and docs/refunds.md, as the description of the API promises them.
struct BuyingGuideTests {
  /// The requests in the order of their examples.
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

  /// The fields of an answer.
  private static func fields(_ target: String, _ status: Int) -> [(String, String)] {
    let type = status < 400 ? "application/json" : "application/problem+json"
    var fields = [("Content-Type", type)]
    if target == "/v1/plans" {
      fields += [("ETag", "\"1\""), ("Cache-Control", "public, no-cache")]
    }
    if target.hasPrefix("/v1/stripe/"), status < 400 { fields += [("Location", "/v1/flows/id")] }
    return fields
  }

  @Test(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
  func `what the pages show is described as it is shown`() throws {
    var exchanges: [JSONValue] = []
    // The last body that was shown of a request.
    var bodies: [String: [UInt8]] = [:]
    for example in try GuideExample.all(of: "buying", "refunds", in: Self.order) {
      if let body = example.body {
        bodies[example.request] = try #require(JSONValue(body)).encoded()
      }
      let shown = try #require(example.answer)
      let answer = try #require(JSONValue(shown)).encoded()
      exchanges.append(
        OpenAPIValidator.exchange(
          example.method, example.target, requestBody: bodies[example.request] ?? [],
          status: example.status, headers: Self.fields(example.target, example.status),
          body: answer))
    }
    try expectDescribed(exchanges)
  }
}
