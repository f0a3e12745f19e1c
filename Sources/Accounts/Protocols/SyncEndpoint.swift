package import Base
package import Endpoints
package import HTTPMessages
package import Requests

/// An endpoint of the sync API that only reads.
package protocol SyncRead: AccountRead {
  var host: ProtocolHost { get }
}

extension SyncRead {
  package var gate: RequestGate { host.gate }
}

/// JSON with contents of an account, which count as sent.
package struct SentContents: Sendable {
  private let owner: Identifier
  private let text: [UInt8]

  package init(of owner: Identifier, _ text: [UInt8]) {
    self.owner = owner
    self.text = text
  }

  package func response(to request: AccountRequest, from host: ProtocolHost) -> Response {
    if request.head.method != "HEAD" {
      request.credentials.meter.charge(Price.content(Int64(text.count)), for: .content)
      host.transfers.sent(Int64(text.count), of: owner)
    }
    return Response(
      status: 200, headers: [("Content-Type", "application/json")], body: .bytes(text))
  }
}

/// A read whose answer counts as sent.
package protocol ContentsRead: SyncRead where Answer == SentContents {}

extension ContentsRead {
  package func respond(_ answer: SentContents, to request: AccountRequest) -> Response {
    answer.response(to: request, from: host)
  }
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

extension AccountRequest {
  /// The id that the path has at a place.
  package func id(_ index: Int = 0, otherwise refusal: some Error) throws -> Identifier {
    guard let id = Identifier(captures[index]) else { throw refusal }
    return id
  }

  /// The number after which a page begins, by the query's field `name`, and the most rows of it, by its `limit`.
  package func page(
    after name: String, from first: Int64 = 0, limit: Int = 100, max: Int,
    otherwise refusal: some Error
  ) throws -> (number: Int64, limit: Int) {
    var (number, limit) = (first, limit)
    for (field, value) in queryFields(head.query) {
      if field == name {
        guard let given = Int64(value), given >= 0 else { throw refusal }
        number = given
      } else if field == "limit" {
        limit = try pageLimit(value, max: max)
      }
    }
    return (number, limit)
  }
}
