import HTTPMessages

extension Response {
  /// The whole message of a small response, for a connection that libmicrohttpd never sees.
  func rawBytes(requestID: String) -> [UInt8] {
    guard case .bytes(let bytes) = body else { return [] }
    var text = "HTTP/1.1 \(status) \r\nConnection: close\r\nX-Request-Id: \(requestID)\r\n"
    text += "Content-Length: \(bytes.count)\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    return Array((text + "\r\n").utf8) + bytes
  }
}
