import Base
import Glibc
import HTTPMessages
import HTTPServer
import RawClient
import Testing

/// Bodies that are fetched block by block.
@Suite struct BlockTests {
  private static let content = (0..<1_700_000).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 3) }
  private static let tag = EntityTag(version: 7)

  /// Another machine, which answers on threads of its own, and may fail from some byte on.
  private final class Source: BlockSource {
    private let failsFrom: Int64
    let fetched = Locked<[Range<Int64>]>([])

    init(failsFrom: Int64 = .max) { self.failsFrom = failsFrom }

    func fetch(
      _ range: Range<Int64>, _ done: @escaping @Sendable (Result<[UInt8], any Error>) -> Void
    ) {
      fetched.withLock { $0.append(range) }
      let fails = range.upperBound > failsFrom
      _ = Thread {
        // No one joins it.
        pthread_detach(pthread_self())
        done(
          fails
            ? .failure(Gone())
            : .success(Array(content[Int(range.lowerBound)..<Int(range.upperBound)])))
      }
    }
  }

  private struct Gone: Error {}

  private static func start(_ source: Source) throws -> HTTPServer {
    try startServer([
      .plain("GET", "/object") { head, _ in
        try .content(.blocks(source, range: 0..<Int64(content.count)), tag: tag, for: head)
      }
    ])
  }

  private static func get(_ lines: String = "", method: String = "GET") -> String {
    "\(method) /object HTTP/1.1\r\nHost: a\r\n\(lines)\r\n"
  }

  @Test func `an object is sent whole, again and again`() throws {
    let server = try Self.start(Source())
    let client = RawClient(server)
    for _ in 0..<5 {
      let response = client.exchange(Self.get())
      #expect(response?.status == 200)
      let isWhole = response?.body == Self.content
      #expect(isWhole)
    }
  }

  @Test func `many clients read one object at once`() throws {
    let server = try Self.start(Source())
    let clients = (0..<10).map { _ in RawClient(server) }
    for client in clients { client.send(Self.get()) }
    for client in clients {
      let isWhole = client.receiveResponse()?.body == Self.content
      #expect(isWhole)
    }
  }

  @Test func `only the blocks of a range are fetched`() throws {
    let source = Source()
    let server = try Self.start(source)
    let response = RawClient(server).exchange(Self.get("Range: bytes=600000-600099\r\n"))
    #expect(response?.status == 206)
    #expect(response?.body == Array(Self.content[600_000..<600_100]))
    #expect(source.fetched.withLock { $0 } == [600_000..<600_100])
  }

  @Test func `a question for the headers fetches nothing`() throws {
    let source = Source()
    let server = try Self.start(source)
    let client = RawClient(server)
    client.send(Self.get(method: "HEAD"))
    #expect(client.receiveResponse(toHead: true)?.header("content-length") == "1700000")
    #expect(source.fetched.withLock { $0 } == [])
  }

  @Test func `a block that is missing ends the connection, so that the client sees it`() throws {
    let server = try Self.start(Source(failsFrom: 1_000_000))
    let client = RawClient(server)
    client.send(Self.get())
    #expect(client.receiveResponse() == nil)
  }
}
