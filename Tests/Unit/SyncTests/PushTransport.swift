import Base
import HTTPMessages
import ProviderAPI
import PushGateway

/// The way to a push gateway without sockets. Without a gateway, no one answers.
struct PushTransport: ProviderTransport {
  let gateway: PushGateway?

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let headers = Dictionary(request.headers) { first, _ in first }
    let status = gateway?.receive({ headers[$0] }, request.body ?? []) ?? 503
    let reply = APIReply(
      status: status, headers: Headers([]), body: [], elapsed: .milliseconds(1))
    if let failure = reply.transientFailure { throw failure }
    return reply
  }
}
