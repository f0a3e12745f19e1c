internal import Accounts
internal import Base
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import Requests

/// An endpoint of the sync API that only reads.
protocol SyncRead: AccountRead {
  var host: ProtocolHost { get }
}

extension SyncRead {
  var gate: RequestGate { host.gate }
}

/// An endpoint of the sync API that changes something, at most once per signed request.
protocol SyncWrite: AccountWrite {
  var host: ProtocolHost { get }
}

extension SyncWrite {
  var gate: RequestGate { host.gate }
}

extension SyncWrite where Answer == Outcome {
  func respond(_ outcome: Outcome, to input: AccountInput<Body>) -> Response { outcome.response }
}
