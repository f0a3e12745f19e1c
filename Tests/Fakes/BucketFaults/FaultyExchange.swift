import Base
import Glibc

/// One request and its answer, on a thread of its own.
struct FaultyExchange {
  let client: Int32
  let upstream: UInt16
  let late: Locked<[[UInt8]]>
  let choose: (_ method: String, _ target: String) -> FaultProxy.Fault?

  func run() {
    defer { close(client) }
    guard let (head, rest) = readHead() else { return }
    let words = head.prefix { $0 != 13 }.split(separator: 32).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard words.count >= 2 else { return }
    switch choose(words[0], words[1]) {
    case .busy: answer("503 Slow Down", Self.error("SlowDown"))
    case .badDigest: answer("400 Bad Request", Self.error("BadDigest"))
    case .errorIn200: answer("200 OK", "   \n  " + Self.error("InternalError"))
    case .emptyList:
      answer("200 OK", "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
    case .brokenList:
      answer("200 OK", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")
    case .list(let elements):
      answer("200 OK", "<ListBucketResult>\(elements)</ListBucketResult>")
    case .page: answer("200 OK", "<html><body>Sign in to this network</body></html>")
    case .noSuchUpload: answer("404 Not Found", Self.error("NoSuchUpload"))
    case .cut(let count): relay(head, rest, answerCountMax: count)
    case .slow(let milliseconds):
      usleep(UInt32(milliseconds * 1000))
      relay(head, rest)
    case .altered: relay(head, rest, alters: true)
    case .lostAnswer: relay(head, rest, answerCountMax: 0)
    case .late: keep(head, rest)
    case .expired: answer("400 Bad Request", Self.error("ExpiredToken"))
    case nil: relay(head, rest)
    }
  }

  private static func error(_ code: String) -> String { "<Error><Code>\(code)</Code></Error>" }

  private func readHead() -> (head: [UInt8], rest: [UInt8])? {
    var bytes: [UInt8] = []
    while bytes.count < 1 << 16 {
      guard let part = Self.read(client), !part.isEmpty else { return nil }
      bytes += part
      for end in 3..<max(3, bytes.count) where Array(bytes[(end - 3)...end]) == [13, 10, 13, 10] {
        return (Array(bytes[...(end - 2)]), Array(bytes[(end + 1)...]))
      }
    }
    return nil
  }

  private func answer(_ status: String, _ body: String) {
    let text =
      "HTTP/1.1 \(status)\r\nConnection: close\r\nContent-Type: application/xml\r\n"
      + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    Self.write(Array(text.utf8), to: client)
    shutdown(client, Int32(SHUT_WR))
    // What the client still sends is read, or it might not see the answer.
    while let part = Self.read(client), !part.isEmpty {}
  }

  /// Takes the whole request and answers nothing.
  private func keep(_ head: [UInt8], _ rest: [UInt8]) {
    let fields = String(decoding: head, as: UTF8.self).lowercased().split(separator: "\r\n")
    let length = fields.first { $0.hasPrefix("content-length:") }?.split(separator: " ").last
    guard let length = length.flatMap({ Int($0) }) else { return }
    Self.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), to: client)
    var body = rest
    while body.count < length, let part = Self.read(client), !part.isEmpty { body += part }
    guard body.count == length else { return }
    late.withLock { $0.append(head + Array("Connection: close\r\n\r\n".utf8) + body) }
  }

  /// Sends a whole request and returns the status of its answer; 0 if there is none.
  static func status(of request: [UInt8], _ upstream: UInt16) -> Int {
    guard let server = connected(to: upstream) else { return 0 }
    defer { close(server) }
    write(request, to: server)
    var answer: [UInt8] = []
    while let part = read(server), !part.isEmpty { answer += part }
    let text = String(decoding: answer, as: UTF8.self)
    let final = text.hasPrefix("HTTP/1.1 100") ? text.dropFirst(25) : text[...]
    return final.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  }

  private static func connected(to upstream: UInt16) -> Int32? {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var name = FaultProxy.local(port: upstream)
    let isConnected = unsafe withUnsafePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe connect(server, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    if isConnected { return server }
    close(server)
    return nil
  }

  /// Passes the request on and its answer back, up to a number of bytes.
  private func relay(
    _ head: [UInt8], _ rest: [UInt8], answerCountMax: Int = .max, alters: Bool = false
  ) {
    guard let server = Self.connected(to: upstream) else { return }
    defer { close(server) }
    let start = alters ? Self.altered(rest) : rest
    Self.write(head + Array("Connection: close\r\n\r\n".utf8) + start, to: server)
    let client = client
    let sender = Thread {
      var alters = alters && rest.isEmpty
      while let part = Self.read(client), !part.isEmpty {
        Self.write(alters ? Self.altered(part) : part, to: server)
        alters = false
      }
    }
    var left = answerCountMax
    while let part = Self.read(server), !part.isEmpty {
      // Permission to send is no answer.
      let isInterim = part.starts(with: Array("HTTP/1.1 100".utf8))
      Self.write(isInterim ? part : Array(part.prefix(left)), to: client)
      if !isInterim { left -= min(left, part.count) }
    }
    shutdown(client, Int32(SHUT_RDWR))
    sender.join()
  }

  private static func altered(_ bytes: [UInt8]) -> [UInt8] {
    bytes.prefix(1).map { ~$0 } + bytes.dropFirst()
  }

  private static func read(_ socket: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = unsafe recv(socket, &buffer, buffer.count, 0)
    return count < 0 ? nil : Array(buffer.prefix(count))
  }

  private static func write(_ bytes: [UInt8], to socket: Int32) {
    var start = 0
    while start < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe send(socket, buffer.baseAddress! + start, bytes.count - start, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      start += count
    }
  }
}
