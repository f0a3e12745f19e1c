import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import Requests
import Storage

/// `GET /v1/updates/stream`: events that say which kind of the account's data has changed, until the client goes.
///
/// The connection leaves libmicrohttpd, where a suspended one keeps its memory and is looked at by each resumption.
struct GetStream: AccountRead {
  let host: ProtocolHost
  let loop: StreamLoop
  let seats: Seats
  let pattern = "/v1/updates/stream"

  var gate: RequestGate { host.gate }

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> Identifier {
    let account = try Caller(reader, request.credentials, now: now).account
    let state = try Look.states(of: [account], reader, now: now)[account]?.state
    guard state?.isShut == false else {
      throw AccountRefusal.accountSuspended(isCallers: true)
    }
    return account
  }

  func respond(_ account: Identifier, to request: AccountRequest) throws -> Response {
    // Proxies neither collect events nor keep them.
    var response = Response(
      status: 200, headers: [("Content-Type", "text/event-stream"), ("X-Accel-Buffering", "no")],
      body: .bytes([]))
    guard request.head.method != "HEAD" else { return response }
    response.body = .inherited(
      Heir(
        loop: loop, account: account, credential: Credential(request.credentials.proof),
        seat: try seats.take(for: account, from: request.head.remoteAddress)))
    return response
  }

  private struct Heir: ConnectionHeir {
    let loop: StreamLoop
    let account: Identifier
    let credential: Credential
    let seat: Seats.Seat

    func take(_ descriptor: Int32) {
      loop.add(
        StreamLoop.Arrival(
          socket: descriptor, account: account, credential: credential, seat: seat))
    }
  }
}
