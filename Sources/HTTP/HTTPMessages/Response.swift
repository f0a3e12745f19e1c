package import Base
package import JSON

/// Bytes of another machine, fetched block by block while they are sent.
package protocol BlockSource: Sendable {
  var blockByteCountMax: Int64 { get }

  /// Fetches exactly the bytes of `range`. Calls `done` once, from any thread, and does not block.
  func fetch(
    _ range: Range<Int64>, _ done: @escaping @Sendable (Result<[UInt8], any Error>) -> Void)
}

/// Goes on with a connection after the head of its last response.
package protocol ConnectionHeir: Sendable {
  /// Takes over the socket, which it then closes. Called on the connection's worker, so it does not block.
  func take(_ descriptor: Int32)
}

/// A response, whole, as a slice of an open file, or as blocks that are yet to be fetched.
package struct Response: Sendable {
  package enum Body: Sendable {
    case bytes([UInt8])
    /// The server sends `range` of the file without copying it through user space.
    case file(OpenFile, range: Range<Int64>)
    /// Each block is fetched once the one before it is sent. A fetch that fails ends the connection.
    case blocks(any BlockSource, range: Range<Int64>)
    /// The server sends only its length: a 304 has that of the 200 (RFC 9110, section 8.6).
    case unsent(byteCount: Int64)

    /// The server sends the head, and leaves the connection to the heir, which sends what it likes until it ends.
    case inherited(any ConnectionHeir)

    /// The number of bytes that are sent.
    package var byteCount: Int64 {
      switch self {
      case .inherited, .unsent: 0
      case .bytes(let bytes): Int64(bytes.count)
      case .file(_, let range), .blocks(_, let range): range.upperBound - range.lowerBound
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

  /// 304: the client has what a 200 would send as its body.
  package static func notModified(
    _ body: Body, headers: [(name: String, value: String)]
  ) -> Response {
    Response(status: 304, headers: headers, body: .unsent(byteCount: body.byteCount))
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
