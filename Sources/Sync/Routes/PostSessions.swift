import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import Requests
import Storage

/// `POST /v1/sessions`: a bearer token for an hour. Takes no body. Each request is answered once.
struct PostSessions: SignedWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/sessions"

  func write(
    _ body: Void, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Sessions.New {
    try Sessions.create(transaction, request.credentials, now: now)
  }

  func respond(_ session: Sessions.New, to input: AccountInput<Void>) -> Response {
    Outcome(201, session.json).response
  }
}
