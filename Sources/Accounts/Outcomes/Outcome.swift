package import HTTPMessages
package import JSON

/// The response of a write, small enough to be recorded with its effect.
package struct Outcome: Sendable, Equatable {
  package struct Header: Sendable, Equatable {
    package let name: String
    package let value: String
  }

  package let status: Int
  package let headers: [Header]
  package let body: [UInt8]

  package init(status: Int, headers: [(String, String)] = [], body: [UInt8]) {
    self.status = status
    self.headers = headers.map { Header(name: $0.0, value: $0.1) }
    self.body = body
  }

  package init(_ status: Int, headers: [(String, String)] = [], _ value: JSONValue) {
    self.init(status: status, headers: headers, body: value.encoded())
  }

  /// An outcome as it was recorded.
  package init(status: Int64, headerText: String, body: [UInt8]) {
    let headers = headerText.split(separator: "\n").compactMap { line in
      line.firstIndex(of: ":").map { colon in
        (String(line[..<colon]), String(line[colon...].dropFirst(2)))
      }
    }
    self.init(status: Int(status), headers: headers, body: body)
  }

  /// The headers in the form in which they are recorded.
  package var headerText: String { headers.map { "\($0.name): \($0.value)\n" }.joined() }

  package var response: Response {
    var fields = headers.map { (name: $0.name, value: $0.value) }
    if !body.isEmpty { fields.append(("Content-Type", "application/json")) }
    return Response(status: status, headers: fields, body: .bytes(body))
  }
}
