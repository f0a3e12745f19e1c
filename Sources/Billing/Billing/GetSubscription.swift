import Answers
import Base
import Endpoints
import JSON
import Ledger
import Requests
import Storage

/// `GET /v1/subscription`: what the account pays for, what applies, and what its customer can do now.
struct GetSubscription: AccountRead {
  let ledger: Ledger
  let gate: RequestGate
  let pattern = "/v1/subscription"

  func answer(
    _ request: AccountRequest, _ reader: Reader, now: Instant
  ) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    return try ledger.overview(of: caller.account, at: now, reading: reader).json
  }
}
