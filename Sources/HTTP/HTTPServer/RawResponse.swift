import HTTPMessages

extension Response {
  /// The whole message of a small response, for a connection that libmicrohttpd never sees.
  func rawBytes(requestID: String) -> [UInt8] {
    guard case .bytes(let bytes) = body else { return [] }
    return rawHead("Content-Length: \(bytes.count)\r\n", requestID: requestID) + bytes
  }

  /// The head of a response whose content ends with the connection (RFC 9112, section 6.3).
  func rawHead(_ framing: String = "", requestID: String) -> [UInt8] {
    var text = "HTTP/1.1 \(status) \r\nConnection: close\r\nX-Request-Id: \(requestID)\r\n"
    text += framing
    for (name, value) in headers where !value.isEmpty { text += "\(name): \(value)\r\n" }
    return Array((text + "\r\n").utf8)
  }
}
