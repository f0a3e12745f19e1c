import Base
import DescribedAPI
import HTTPMessages
import JSON
import TestDevices

/// Requests and answers as sent over the wire, for a validator outside of this program.
final class Exchanges: Sendable {
  struct Exchange: Sendable {
    let request: TestDevice.Signed
    let answer: Answer

    var code: String? { (try? answer.problem) ?? nil }
  }

  private let recorded = Locked<[Exchange]>([])

  var all: [Exchange] { recorded.withLock { $0 } }

  func record(_ request: TestDevice.Signed, _ answer: Answer) {
    recorded.withLock { $0.append(Exchange(request: request, answer: answer)) }
  }

  /// The complaints about the description or the exchanges; empty if there are none.
  func complaints(about description: [UInt8]) throws -> [Substring] {
    try OpenAPIValidator.complaints(about: description, all.map(\.json))
  }
}

extension Exchanges.Exchange {
  fileprivate var json: JSONValue {
    let headers = answer.headers.fields.map {
      ($0.name, String(decoding: $0.value, as: UTF8.self))
    }
    return OpenAPIValidator.exchange(
      request.method, request.target, requestHeaders: request.headers, requestBody: request.body,
      status: answer.status, headers: headers, body: answer.body)
  }
}
