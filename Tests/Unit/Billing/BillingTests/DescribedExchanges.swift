import DescribedAPI
import JSON
import TestFiles
import Testing

/// Expects of requests and their answers that the description of the billing API allows them.
func expectDescribed(_ exchanges: [JSONValue]) throws {
  let path = "\(Files.repository)/Sources/OpenAPI/billing.json"
  let description = try #require(Files.bytes(path))
  let complaints = try OpenAPIValidator.complaints(about: description, exchanges)
  #expect(complaints == [])
}
