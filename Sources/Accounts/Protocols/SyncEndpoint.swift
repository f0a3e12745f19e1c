import Endpoints
package import HTTPMessages
package import Requests

/// An endpoint of the sync API that only reads.
package protocol SyncRead: AccountRead {
  var host: ProtocolHost { get }
}

extension SyncRead {
  package var gate: RequestGate { host.gate }
}

/// An endpoint of the sync API that changes something, at most once per signed request.
package protocol SyncWrite: AccountWrite {
  var host: ProtocolHost { get }
}

extension SyncWrite {
  package var gate: RequestGate { host.gate }
}

extension SyncWrite where Answer == Outcome {
  package func respond(_ outcome: Outcome, to input: AccountInput<Body>) -> Response {
    outcome.response
  }
}

/// A write without a body that a key must sign: a session's token alone is not enough.
package protocol SignedWrite: SyncWrite where Body == Void {}

extension SignedWrite {
  package var bodyByteCountMax: Int { 0 }

  package func parse(_ body: [UInt8], of request: AccountRequest) throws {
    _ = try request.credentials.requireSignature()
  }
}
