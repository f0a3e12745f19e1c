import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// `POST /v1/documents/pull`: the current versions that a clock lacks. Writes nothing, however often a client asks; it
/// has a body because a clock is longer than a query may be.
struct PostPull: AccountEndpoint, ReadEndpoint {
  let host: ProtocolHost
  var gate: RequestGate { host.gate }
  let method = "POST"
  let pattern = "/v1/documents/pull"
  let bodyByteCountMax = Pull.bodyByteCountMax
  let isLong = true

  struct Input: Sendable {
    let request: AccountRequest
    let pull: Pull
  }

  func prepare(_ request: AccountRequest, _ body: [UInt8]) throws -> Input {
    let body = try request.checked(body)
    request.credentials.meter.charge(Price.json(body.count), for: .json)
    return Input(request: request, pull: try Pull(body))
  }

  func read(_ reader: Reader, _ input: Input) throws -> DocumentAnswer {
    let credentials = input.request.credentials
    defer { credentials.meter.charge(Price.rows(reader.work.rowCount), for: .reading) }
    let caller = try Caller(reader, credentials, now: host.clock.now())
    return DocumentAnswer(account: caller.account, try input.pull.read(reader, for: caller))
  }

  func respond(_ answer: DocumentAnswer, to input: Input) -> Response {
    answer.response(to: input.request, host)
  }
}

/// Versions with their contents, which count as sent.
struct DocumentAnswer: Sendable {
  private let account: Identifier
  private let text: [UInt8]

  init(account: Identifier, _ value: JSONValue) {
    self.account = account
    text = value.encoded()
  }

  func response(to request: AccountRequest, _ host: ProtocolHost) -> Response {
    if request.head.method != "HEAD" {
      request.credentials.meter.charge(Price.content(Int64(text.count)), for: .content)
      host.transfers.sent(Int64(text.count), of: account)
    }
    return Response(
      status: 200, headers: [("Content-Type", "application/json")], body: .bytes(text))
  }
}
