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
    let blockByteCountMax: Int64
    let fetched = Locked<[Range<Int64>]>([])

    init(failsFrom: Int64 = .max, blockByteCountMax: Int64 = 4 << 20) {
      self.failsFrom = failsFrom
      self.blockByteCountMax = blockByteCountMax
    }

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

  private static func start(
    _ source: Source, limits: ServerLimits = usualLimits
  ) throws -> HTTPServer {
    try startServer(
      [
        .plain("GET", "/object") { head, _ in
          try .content(.blocks(source, range: 0..<Int64(content.count)), tag: tag, for: head)
        }
      ], limits: limits)
  }

  /// The blocks of one download by a client that takes each within `quickSeconds`, however long it needs.
  private static func blocks(
    of source: Source, quickSeconds: Int64 = 60, heldByteCountMax: Int = 1 << 30
  ) throws -> [Range<Int64>] {
    var limits = usualLimits
    limits.quickBlockSpan = .seconds(quickSeconds)
    limits.heldByteCountMax = heldByteCountMax
    let server = try start(source, limits: limits)
    let isWhole = RawClient(server).exchange(get())?.body == content
    #expect(isWhole)
    return source.fetched.withLock { $0 }
  }

  private static let smallBlocks: [Range<Int64>] = [
    0..<524_288, 524_288..<1_048_576, 1_048_576..<1_572_864, 1_572_864..<1_700_000,
  ]

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

  @Test func `a quick client gets larger blocks, which end at multiples of their size`() throws {
    #expect(
      try Self.blocks(of: Source()) == [
        0..<524_288, 524_288..<1_048_576, 1_048_576..<1_700_000,
      ])
  }

  @Test func `a slow client gets small blocks`() throws {
    #expect(try Self.blocks(of: Source(), quickSeconds: 0) == Self.smallBlocks)
  }

  @Test func `blocks stay small if half of the memory would not be left for others`() throws {
    #expect(try Self.blocks(of: Source(), heldByteCountMax: 4_000_000) == Self.smallBlocks)
  }

  @Test func `blocks do not grow beyond what their source gives at once`() throws {
    #expect(try Self.blocks(of: Source(blockByteCountMax: 1 << 19)) == Self.smallBlocks)
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
