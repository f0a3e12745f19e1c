package import Base
package import Endpoints
package import HTTPMessages
import HTTPServer
package import JSON
package import Storage

/// An endpoint that only reads. The headers identify the caller, and the rows that it reads are charged.
package protocol AccountRead: ReadEndpoint
where Request == AccountRequest, Input == AccountRequest {
  var gate: RequestGate { get }

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> Answer
}

extension AccountRead {
  package var method: String { "GET" }
  package var bodyByteCountMax: Int { 0 }
  package var isLong: Bool { false }

  package func admit(_ head: RequestHead, _ captures: [Substring]) throws -> AccountRequest {
    try AccountRequest(head, captures, gate)
  }

  package func lane(_ request: AccountRequest) -> Identifier? { request.credentials.lane }

  package func prepare(_ request: AccountRequest, _ body: [UInt8]) -> AccountRequest { request }

  package func read(_ reader: Reader, _ request: AccountRequest) throws -> Answer {
    defer { request.credentials.meter.charge(Price.rows(reader.work.rowCount), for: .reading) }
    return try answer(request, reader, now: gate.clock.now())
  }
}

extension AccountRead where Answer == JSONValue {
  package func respond(_ answer: JSONValue, to request: AccountRequest) -> Response {
    .json(200, answer)
  }
}

/// The input of an endpoint that changes something: the caller's request, and the content of the body.
package struct AccountInput<Body: Sendable>: Sendable {
  package let request: AccountRequest
  package let body: Body
}

/// An endpoint with a body. The owner of the key or session is looked up before the body is read.
package protocol AccountEndpoint: Endpoint where Request == AccountRequest {
  var gate: RequestGate { get }
}

extension AccountEndpoint {
  package func admit(_ head: RequestHead, _ captures: [Substring]) throws -> AccountRequest {
    try AccountRequest(head, captures, gate)
  }

  package func inquire(_ request: AccountRequest) -> Inquiry? { gate.inquiry(request.credentials) }

  package func lane(_ request: AccountRequest) -> Identifier? { request.credentials.lane }
}

/// An endpoint that changes something. The owner of the key or session is looked up again in the transaction.
package protocol AccountWrite: AccountEndpoint, WriteEndpoint where Input == AccountInput<Body> {
  associatedtype Body: Sendable

  /// Parses the body, once it is known to be the one that was signed.
  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body
  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Answer
}

extension AccountWrite {
  /// The longest JSON body that an endpoint accepts, unless it declares another length.
  package var bodyByteCountMax: Int { 16 * 1024 }

  package func prepare(_ request: AccountRequest, _ body: [UInt8]) throws -> AccountInput<Body> {
    AccountInput(request: request, body: try parse(request.checked(body), of: request))
  }

  package func transact(_ transaction: Transaction, _ input: AccountInput<Body>) throws -> Answer {
    defer {
      input.request.credentials.meter.charge(Price.rows(transaction.work.rowCount), for: .writing)
    }
    return try write(input.body, of: input.request, in: transaction, now: gate.clock.now())
  }
}
