internal import Base
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import Storage

/// An endpoint that only reads. Who asks is told by the headers, and what its rows cost is charged.
protocol SyncRead: ReadEndpoint where Request == SyncAPI.Request, Input == SyncAPI.Request {
  var api: SyncAPI { get }

  func answer(_ request: SyncAPI.Request, _ reader: Reader, now: Instant) throws -> Answer
}

extension SyncRead {
  var method: String { "GET" }
  var bodyByteCountMax: Int { 0 }
  var isLong: Bool { false }

  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> SyncAPI.Request {
    try SyncAPI.Request(head, captures, api)
  }

  func lane(_ request: SyncAPI.Request) -> Identifier? { request.credentials.lane }

  func prepare(_ request: SyncAPI.Request, _ body: [UInt8]) -> SyncAPI.Request { request }

  func read(_ reader: Reader, _ request: SyncAPI.Request) throws -> Answer {
    defer { request.credentials.meter.charge(Price.rows(reader.work.rowCount), for: .reading) }
    return try answer(request, reader, now: api.clock.now())
  }
}

/// What is asked of an endpoint that changes something: by whom, and what the body says.
struct SyncInput<Body: Sendable>: Sendable {
  let request: SyncAPI.Request
  let body: Body
}

/// An endpoint that changes something, at most once per signed request. Whose the key or session is,
/// is asked before the body is read, and again in the transaction.
protocol SyncWrite: WriteEndpoint where Request == SyncAPI.Request, Input == SyncInput<Body> {
  associatedtype Body: Sendable

  var api: SyncAPI { get }

  /// What the body says, once it is known to be the one that was signed.
  func parse(_ body: [UInt8], of request: SyncAPI.Request) throws -> Body
  func write(
    _ body: Body, of request: SyncAPI.Request, in transaction: Transaction, now: Instant
  ) throws -> Answer
}

extension SyncWrite {
  var bodyByteCountMax: Int { SyncAPI.bodyByteCountMax }

  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> SyncAPI.Request {
    try SyncAPI.Request(head, captures, api)
  }

  func inquire(_ request: SyncAPI.Request) -> Inquiry? { api.inquiry(request.credentials) }

  func lane(_ request: SyncAPI.Request) -> Identifier? { request.credentials.lane }

  func prepare(_ request: SyncAPI.Request, _ body: [UInt8]) throws -> SyncInput<Body> {
    SyncInput(request: request, body: try parse(request.checked(body), of: request))
  }

  func transact(_ transaction: Transaction, _ input: SyncInput<Body>) throws -> Answer {
    defer {
      input.request.credentials.meter.charge(
        Price.rows(transaction.work.rowCount), for: .writing)
    }
    return try write(input.body, of: input.request, in: transaction, now: api.clock.now())
  }
}

extension SyncWrite where Answer == Outcome {
  func respond(_ outcome: Outcome, to input: SyncInput<Body>) -> Response { outcome.response }
}
