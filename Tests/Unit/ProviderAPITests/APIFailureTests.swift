import ProviderAPI
import Testing

struct APIFailureTests {
  @Test(
    arguments: [
      (.transient("the provider answers 503", retryAfter: nil), .silence),
      (.transient("no connection", retryAfter: nil), .silence),
      (.misconfigured("the provider answers 401"), .configuration), (.sealedToken, .sealing),
      (.stranger(inPlaceOf: "Stripe's API", 404), .configuration),
      (.refused(status: 400, "amount_too_large"), .object),
      (.refused(status: 0, "the purchase's token was never delivered"), .object),
      (.notFound, .object),
      (.gone, .object), (.malformed("it is no JSON"), .answer),
    ] as [(APIFailure, APIFailure.Cause)])
  func `what is kept of a failure says who has to do something about it`(
    failure: APIFailure, cause: APIFailure.Cause
  ) {
    #expect(APIFailure.Cause(told: failure.description) == cause)
  }

  @Test func `what was never sent was refused with no status`() {
    let failure = APIFailure.refused(status: 0, "it ends at another time")
    #expect(failure.description == "refused: it ends at another time")
  }
}
