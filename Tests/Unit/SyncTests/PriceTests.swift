import Base
import Crypto
import JSON
import Sync
import TestDevices
import TestEngines
import Testing

/// The price of requests in their account's limit, by the work that they caused.
@Suite struct PriceTests {
  /// A server whose time does not move, so that the limit does not refill.
  private static func server(
    _ engine: TestEngine = .sqlite, burst: Int64 = 10_000, freeByteCount: Int64 = 10_000_000
  ) throws -> TestServer {
    let start = MonotonicTime.now()
    return try TestServer(
      engine, freeByteCount: freeByteCount, requestBurst: burst, uptime: { start })
  }

  /// The requests left after an answer, according to its header.
  private static func left(_ answer: Answer) throws -> Int {
    let field = try #require(answer.header("RateLimit"))
    let part = try #require(field.split(separator: ";").first { $0.hasPrefix("r=") })
    return try #require(Int(part.dropFirst(2)))
  }

  /// The price of the request that `send` makes.
  private static func cost(_ device: TestDevice, _ send: () throws -> Answer) throws -> Int {
    let before = try left(device.get("/v1/account"))
    return before - (try left(send()))
  }

  @Test(arguments: TestEngine.available)
  func `a full page costs by its rows, and an empty one like any request`(
    engine: TestEngine
  ) throws {
    let server = try Self.server(engine)
    let device = try server.register()
    for _ in 0..<2 {
      try device.batch(files: (0..<500).map { _ in try device.creation() }).requireSuccess()
    }
    let page = try Self.cost(device) { try device.get("/v1/updates?limit=1000") }
    #expect(11...13 ~= page)
    let cursor = try device.get("/v1/updates?limit=1000").json["cursor"].string
    let next = try device.get("/v1/updates?since=\(try #require(cursor))").json["cursor"].string
    let empty = try Self.cost(device) {
      try device.get("/v1/updates?since=\(try #require(next))")
    }
    #expect(empty == 1)
  }

  @Test(arguments: TestEngine.available)
  func `a batch costs by its bytes and rows, taken or refused`(engine: TestEngine) throws {
    let server = try Self.server(engine)
    let device = try server.register()
    let files = try (0..<500).map { _ in try device.creation() }
    let byteCount = device.batchBody(files: files).encoded().count
    let parsing = byteCount / (32 << 10)
    #expect(parsing >= 5)
    let taken = try Self.cost(device) { try device.batch(files: files) }
    #expect(taken >= 1 + parsing + 500 / 100)
    let refused = try Self.cost(device) { try device.batch(files: files) }
    #expect(refused >= 1 + parsing)
  }

  @Test func `content costs a unit for each MiB, sent and received, and nothing unread`() throws {
    let server = try Self.server()
    let device = try server.register()
    let id = try device.add()
    let content = Random.bytes(3 << 20)
    #expect(try Self.cost(device) { try device.put(id, content, ifMatch: "*") } == 4)
    #expect(try Self.cost(device) { try device.get("/v1/files/\(id)/content") } == 4)
    let part = try Self.cost(device) {
      try device.get("/v1/files/\(id)/content", headers: [("Range", "bytes=0-9")])
    }
    #expect(part == 1)
    let head = try Self.cost(device) {
      try device.send(device.sign("HEAD", "/v1/files/\(id)/content"))
    }
    #expect(head == 1)
  }

  @Test func `who cannot pay for a page gets it, and waits for the next request`() throws {
    let server = try Self.server(burst: 60)
    let device = try server.register()
    try device.batch(files: (0..<300).map { _ in try device.creation() }).requireSuccess()
    var statuses: [Int] = []
    while statuses.last != 429, statuses.count < 60 {
      statuses.append(try device.get("/v1/updates?limit=1000").status)
    }
    #expect(2...15 ~= statuses.count)
    #expect(statuses.dropLast().allSatisfy { $0 == 200 })
  }
}
