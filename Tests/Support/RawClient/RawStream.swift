/// A client that listens to server-sent events over a connection of its own.
package final class RawStream {
  private let client: RawClient
  private var bytes: [UInt8] = []
  /// The response's head.
  package let head: String

  /// Sends a request and receives the head of its response; nil if there is none.
  package init?(
    connectingTo port: UInt16, _ method: String, _ target: String, _ headers: [(String, String)],
    bufferByteCount: Int32? = nil
  ) {
    guard let client = RawClient(connectingTo: port, bufferByteCount: bufferByteCount) else {
      return nil
    }
    self.client = client
    client.send(method, target, headers)
    let separator = Array("\r\n\r\n".utf8)
    var received: [UInt8] = []
    while true {
      let end = received.indices.first { received[$0...].starts(with: separator) }
      if let end {
        head = String(decoding: received[..<end], as: UTF8.self)
        bytes = Array(received[(end + separator.count)...])
        return
      }
      guard let part = client.receive(), !part.isEmpty else { return nil }
      received += part
    }
  }

  /// Ends the connection with a reset.
  package func reset() { client.reset() }

  package var isOpened: Bool { head.hasPrefix("HTTP/1.1 200 ") }

  /// The data of the next event; nil if the stream ends, or is silent for ten seconds.
  package func next() -> String? {
    while let block = nextBlock() {
      let data = block.split(separator: "\n").first { $0.hasPrefix("data: ") }
      if let data { return String(data.dropFirst(6)) }
    }
    return nil
  }

  /// The next lines up to an empty one: an event, a comment, or the pause before a new connection.
  package func nextBlock() -> String? {
    let separator = Array("\n\n".utf8)
    while true {
      let end = bytes.indices.first { bytes[$0...].starts(with: separator) }
      if let end {
        defer { bytes.removeFirst(end + separator.count) }
        return String(decoding: bytes[..<end], as: UTF8.self)
      }
      guard let part = client.receive(), !part.isEmpty else { return nil }
      bytes += part
    }
  }

  /// The blocks that are still to come, up to the stream's end or ten seconds of silence.
  package var rest: [String] {
    var blocks: [String] = []
    while let block = nextBlock() { blocks.append(block) }
    return blocks
  }

  /// Waits until the events have told a kind or an identifier; false if the stream ends first.
  package func hears(_ word: String) -> Bool {
    while let data = next() {
      if data.contains("\"\(word)\"") || data.contains("\"all\"") { return true }
    }
    return false
  }

  /// Whether the stream ends before ten seconds of silence, whatever comes first.
  package var ends: Bool { client.receiveAll() != nil }
}
