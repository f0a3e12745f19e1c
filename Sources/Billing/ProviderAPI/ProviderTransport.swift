/// The way to a provider's API and back.
///
/// `send` blocks its thread until the reply is whole, at most until a deadline of its own. It
/// answers every status but 408, 429 and 5xx, which are `.transient`. Any thread may call it.
package protocol ProviderTransport: Sendable {
  func send(_ request: APIRequest) throws(APIFailure) -> APIReply
}
