package import Base
package import JSON

/// A response, whole or as a slice of an open file.
package struct Response: Sendable {
  package enum Body: Sendable {
    case bytes([UInt8])
    /// The server sends `range` of the file without copying it through user space.
    case file(OpenFile, range: Range<Int64>)

    package var byteCount: Int64 {
      switch self {
      case .bytes(let bytes): Int64(bytes.count)
      case .file(_, let range): range.upperBound - range.lowerBound
      }
    }
  }

  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: Body

  package init(status: Int, headers: [(name: String, value: String)] = [], body: Body) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  package static func empty(_ status: Int) -> Response {
    Response(status: status, body: .bytes([]))
  }

  package static func json(_ status: Int, _ value: JSONValue) -> Response {
    Response(
      status: status, headers: [("Content-Type", "application/json")],
      body: .bytes(value.encoded()))
  }
}
