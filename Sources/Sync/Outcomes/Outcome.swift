internal import HTTPMessages
internal import JSON

/// The response of a write, small enough to be recorded with its effect.
package struct Outcome: Sendable, Equatable {
  package struct Header: Sendable, Equatable {
    let name: String
    let value: String
  }

  let status: Int
  let headers: [Header]
  let body: [UInt8]

  init(status: Int, headers: [(String, String)] = [], body: [UInt8]) {
    self.status = status
    self.headers = headers.map { Header(name: $0.0, value: $0.1) }
    self.body = body
  }

  init(_ status: Int, headers: [(String, String)] = [], _ value: JSONValue) {
    self.init(status: status, headers: headers, body: value.encoded())
  }

  var response: Response {
    var fields = headers.map { (name: $0.name, value: $0.value) }
    if !body.isEmpty { fields.append(("Content-Type", "application/json")) }
    return Response(status: status, headers: fields, body: .bytes(body))
  }
}
