internal import Accounts
internal import Base
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import Requests

/// An endpoint of the sync API that only reads.
protocol SyncRead: AccountRead {
  var api: SyncAPI { get }
}

extension SyncRead {
  var gate: RequestGate { api.gate }
}

/// An endpoint of the sync API that changes something, at most once per signed request.
protocol SyncWrite: AccountWrite {
  var api: SyncAPI { get }
}

extension SyncWrite {
  var gate: RequestGate { api.gate }
}

extension SyncWrite where Answer == Outcome {
  func respond(_ outcome: Outcome, to input: AccountInput<Body>) -> Response { outcome.response }
}
