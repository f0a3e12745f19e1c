import Base
import Glibc
import HTTPMessages
import HTTPServer
import RawClient
import Testing

@Suite struct FileTests {
  private static let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) }
  private static let tag = EntityTag(version: 7)

  /// An open file that no longer has a name.
  private static func makeFile(_ content: [UInt8] = content) throws -> OpenFile {
    var path = Array("/tmp/coffer-http-XXXXXX".utf8CString)
    let descriptor = unsafe mkstemp(&path)
    try #require(descriptor >= 0)
    unsafe unlink(path)
    let count = unsafe write(descriptor, content, content.count)
    try #require(count == content.count)
    return OpenFile(owning: descriptor, byteCount: Int64(count))
  }

  private static func start(
    _ file: OpenFile? = nil, limits: ServerLimits = usualLimits
  ) throws -> HTTPServer {
    let file = try file ?? makeFile()
    return try startServer(
      [
        .plain("GET", "/file") { head, _ in
          try .content(.file(file, range: 0..<file.byteCount), tag: tag, for: head)
        }
      ], limits: limits)
  }

  private static func get(_ lines: String = "", method: String = "GET") -> String {
    "\(method) /file HTTP/1.1\r\nHost: a\r\n\(lines)\r\n"
  }

  @Test func `a file is sent whole, again and again`() throws {
    let server = try Self.start()
    let client = RawClient(server)
    for _ in 0..<20 {
      let response = client.exchange(Self.get())
      #expect(response?.status == 200)
      #expect(response?.body == Self.content)
      #expect(response?.header("etag") == "\"7\"")
      #expect(response?.header("accept-ranges") == "bytes")
    }
  }

  @Test func `many clients read one file at once`() throws {
    let server = try Self.start()
    let clients = (0..<30).map { _ in RawClient(server) }
    for client in clients { client.send(Self.get()) }
    for client in clients { #expect(client.receiveResponse()?.body == Self.content) }
  }

  @Test(arguments: [
    ("0-0", 0..<1), ("0-99", 0..<100), ("99990-", 99_990..<100_000), ("-10", 99_990..<100_000),
    ("500-200000", 500..<100_000), ("-200000", 0..<100_000),
  ])
  func `a range is sent alone`(_ text: String, _ range: Range<Int>) throws {
    let server = try Self.start()
    let response = RawClient(server).exchange(Self.get("Range: bytes=\(text)\r\n"))
    #expect(response?.status == 206)
    #expect(response?.body == Array(Self.content[range]))
    #expect(
      response?.header("content-range")
        == "bytes \(range.lowerBound)-\(range.upperBound - 1)/100000")
  }

  @Test func `a range behind the end is 416 with the length`() throws {
    let server = try Self.start()
    let response = RawClient(server).exchange(Self.get("Range: bytes=100000-\r\n"))
    #expect(response?.problem == "range_not_satisfiable")
    #expect(response?.header("content-range") == "bytes */100000")
  }

  @Test func `HEAD of a file says its length and sends nothing`() throws {
    let server = try Self.start()
    let client = RawClient(server)
    client.send(Self.get("Connection: close\r\n", method: "HEAD"))
    let bytes = try #require(client.receiveAll())
    #expect(RawResponse(bytes, toHead: true)?.header("content-length") == "100000")
    #expect(bytes.count < 1000)
  }

  @Test func `an empty file is an empty answer`() throws {
    let file = try Self.makeFile()
    let server = try startServer([
      .plain("GET", "/file") { _, _ in Response(status: 200, body: .file(file, range: 5..<5)) }
    ])
    let response = RawClient(server).exchange(Self.get())
    #expect(response?.status == 200)
    #expect(response?.header("content-length") == "0")
  }

  @Test func `a large file waits until its client has room, again and again`() throws {
    let large = (0..<50).flatMap { _ in Self.content }
    let server = try Self.start(Self.makeFile(large))
    let client = try #require(
      RawClient(connectingTo: server.port, bufferByteCount: 8192))
    for _ in 0..<2 {
      let response = client.exchange(Self.get())
      #expect(response?.head.lowercased().ranges(of: "content-length:").count == 1)
      #expect(response?.body == large)
    }
    let range = client.exchange(Self.get("Range: bytes=100000-4999999\r\n"))
    #expect(range?.body == Array(large[100_000...]))
  }

  @Test func `a client that does not read a file is closed`() throws {
    let large = [UInt8](repeating: 0x61, count: 30_000_000)
    var limits = quickLimits
    limits.byteRateMin = 100_000_000
    let server = try Self.start(Self.makeFile(large), limits: limits)
    let client = RawClient(server)
    client.send(Self.get())
    pause(milliseconds: 1600)
    #expect(try #require(client.receiveAll()).count < large.count)
  }

  @Test func `a file that has lost its end ends the connection`() throws {
    let file = try Self.makeFile()
    ftruncate(file.descriptor, 50_000)
    let client = RawClient(try Self.start(file))
    client.send(Self.get())
    let received = try #require(client.receiveAll())
    #expect(received.count < 51_000)
  }

  @Test func `no descriptor of the file is left open behind its answers`() throws {
    let file = try Self.makeFile()
    let server = try startServer([
      .plain("GET", "/file") { head, _ in
        try .content(.file(file, range: 0..<file.byteCount), tag: Self.tag, for: head)
      }
    ])
    let client = RawClient(server)
    for _ in 0..<20 { _ = client.exchange(Self.get("Range: bytes=0-9\r\n")) }
    #expect(poll { Self.descriptorCount(of: file) == 1 })
  }

  /// The number of descriptors of this process that are open on the same file.
  private static func descriptorCount(of file: OpenFile) -> Int {
    var wanted = stat()
    unsafe fstat(file.descriptor, &wanted)
    return (0..<1024).count { descriptor in
      var found = stat()
      return unsafe fstat(Int32(descriptor), &found) == 0 && found.st_ino == wanted.st_ino
        && found.st_dev == wanted.st_dev
    }
  }
}
