import Base
import HTTPMessages
package import ProviderAPI
import ProviderFakes
package import RecordedStories

/// The stores' APIs, with the answers that a story has recorded so far.
package final class RecordedAPI: ProviderTransport {
  private struct State {
    var reads: [String: RecordedStory.Read] = [:]
    var acknowledged: Set<String> = []
    /// The step's time, which is the store's own clock.
    var now = Instant(seconds: 0)
  }

  private let state = Locked(State())

  package init() {}

  /// Gives the step's answers from now on.
  package func show(_ step: RecordedStory.Step) {
    state.withLock { state in
      state.reads.merge(step.reads) { $1 }
      state.now = step.at
    }
  }

  /// The purchase tokens that were acknowledged to Google.
  package var acknowledged: Set<String> { state.withLock { $0.acknowledged } }

  /// The store's time, as in an answer's header.
  package var date: String { state.withLock { $0.now }.httpDate }

  package func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let (status, body) = answer(request.method, request.url)
    return APIReply(
      status: status, headers: Headers([("Date", date)]), body: body, elapsed: .milliseconds(1))
  }

  /// `path` may also be a whole address.
  package func answer(_ method: String, _ path: String) -> (status: Int, body: [UInt8]) {
    let last = path.split(separator: "/").last.map(String.init) ?? ""
    switch (method, last) {
    case (_, "certs"): return (200, StoryKeys.googleKeySet)
    case (_, "token"): return (200, Array(#"{"access_token":"a","expires_in":3599}"#.utf8))
    case ("POST", _) where last.hasSuffix(":acknowledge"):
      let token = String(last.dropLast(":acknowledge".count))
      state.withLock { _ = $0.acknowledged.insert(token) }
      return (200, Array("{}".utf8))
    default:
      // For a list, its owner: an account's invoices.
      let order = last.split { "?&".contains($0) }.first { $0.hasPrefix("orderId=") }
      let name = order.map { String($0.dropFirst("orderId=".count)) } ?? last
      switch state.withLock({ $0.reads[name] }) {
      case .found(let body): return (200, body)
      case .refused(let status): return (status, Self.unknown)
      case nil: return (404, Self.unknown)
      }
    }
  }

  /// The answer that there is no such object, in the forms of all stores at once.
  private static let unknown = Array(
    #"{"error":{"code":"resource_missing","status":"NOT_FOUND"},"errorCode":4040010}"#.utf8)
}
