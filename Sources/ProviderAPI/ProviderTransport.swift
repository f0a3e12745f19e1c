/// Sends requests to a provider's API.
///
/// `send` blocks its thread until the whole reply is there, at most until its own deadline. It returns every
/// status except 408, 429 and 5xx, which it throws as `.transient`. Any thread may call it.
package protocol ProviderTransport: Sendable {
  func send(_ request: APIRequest) throws(APIFailure) -> APIReply
}
