import Base
import HTTPMessages
package import ProviderAPI
package import ProviderFakes

/// A store's API, called without a socket.
package struct FakeTransport: ProviderTransport {
  private let base: String
  private let answer: @Sendable (FakeRequest) -> FakeAnswer?

  package init(base: String, answer: @escaping @Sendable (FakeRequest) -> FakeAnswer?) {
    self.base = base
    self.answer = answer
  }

  package func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let path = String(request.url.dropFirst(base.utf8.count))
    let fake = FakeRequest(
      method: request.method, path: path, headers: request.headers.map { ($0.0, $0.1) },
      body: request.body ?? [])
    guard let answer = answer(fake) else { throw .transient("timeout", retryAfter: nil) }
    let reply = APIReply(
      status: answer.status, headers: Headers(answer.headers.map { ($0.name, $0.value) }),
      body: answer.body, elapsed: .milliseconds(20))
    if let failure = reply.transientFailure { throw failure }
    return reply
  }
}

extension FakeFaults.Failure {
  /// The failure as our client reports it.
  var apiFailure: APIFailure {
    switch self {
    case .timeout: .transient("timeout", retryAfter: nil)
    case .status(let status, let seconds):
      .transient("status \(status)", retryAfter: seconds.map { .seconds($0) })
    }
  }
}
