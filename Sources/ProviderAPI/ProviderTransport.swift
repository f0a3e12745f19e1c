/// Sends requests to a provider's API.
///
/// `send` blocks, at most until its own deadline. It throws 408, 429 and 5xx as `.transient`. Any thread may call it.
package protocol ProviderTransport: Sendable {
  func send(_ request: APIRequest) throws(APIFailure) -> APIReply
}
