import Base
import JSON
import RawClient
import Storage
import TestDevices
import TestEngines
import Testing

/// The worst that devices and clients of Actual can send, and the slowest that they can read. Counted, not timed.
@Suite struct ActualWorstCaseTests {
  private static let file = "0f8fad5b-d9cb-469f-a165-70867728950e"

  /// A client with a budget.
  private struct Scene {
    let server: TestServer
    let device: TestDevice
    let client: ActualClient
    let group: String

    init(_ engine: TestEngine = .sqlite) throws {
      server = try TestServer(
        engine, freeByteCount: 100_000_000, actualAuthorities: [ActualClient.host])
      device = try server.register()
      client = try ActualClient(server, of: device)
      group = try client.create(ActualWorstCaseTests.file)
    }

    func sync(_ messages: [SentMessage] = []) throws -> Answer {
      try client.sync(ActualWorstCaseTests.file, group: group, messages)
    }

    func head(_ byteCount: Int) -> String {
      "POST /sync/sync HTTP/1.1\r\nHost: \(ActualClient.host)\r\nX-ACTUAL-TOKEN: \(client.token)\r\n"
        + "Content-Type: application/actual-sync\r\nContent-Length: \(byteCount)\r\n\r\n"
    }
  }

  @Test(arguments: TestEngine.available)
  func `timestamps from all times since 1970 cost rows of their own, and no long answer`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let count = 5000
    let messages = (0..<count).map {
      SentMessage(scene.server.stamp(.seconds(-355_000 * Int64($0))))
    }
    #expect(messages.last?.t.hasPrefix("1970-") == true)
    let before = scene.server.database.writeWork
    let answer = try scene.sync(messages)
    #expect(answer.status == 200)
    // Of each message its own row, and at most four pages of the trie.
    let work = scene.server.database.writeWork - before
    #expect(work.changedRowCount <= Int64(count * 5 + 100), "\(work)")
    // The two latest branches at each level, from the level on at which times lie apart.
    #expect(answer.body.count < 100_000, "\(answer.body.count) bytes of trie")
    let again = scene.server.database.writeWork
    #expect(try scene.sync(messages).status == 200)
    #expect((scene.server.database.writeWork - again).changedRowCount < 100)
  }

  @Test(arguments: TestEngine.available)
  func `a device cannot append to a budget what its clients would not understand`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (server, ada) = (scene.server, scene.device)
    let listed = try ada.get("/v1/logs").json["logs"][0]
    let log = KnownLog(
      id: try #require(listed["id"].string.flatMap(Identifier.init)),
      epoch: try #require(listed["epoch"].string.flatMap(Identifier.init)))
    let before = try scene.sync()
    let right = ActualClient.field(3, [9])
    let timestamp = ActualClient.field(1, Array(LogTests.zero.utf8))
    for wrong in [[7], [0x1A, 200], timestamp + right, right + right] {
      let message = SentMessage(server.stamp(.seconds(-1)), wrong)
      #expect(try ada.append([message], to: log).problem == "body_invalid")
    }
    #expect(try scene.sync().body == before.body)
    // To an app's own log they are what the app takes them for.
    try ada.append([SentMessage(server.stamp(), [7])], to: ada.createLog()).requireSuccess()
  }

  @Test func `timestamps of the year 9999 are refused before anything is stored`() throws {
    let scene = try Scene()
    let messages = (0..<5000).map {
      SentMessage("9999-12-31T23:59:59.999Z-FFFF-\(String(1_000_000_000_000_000 + $0))")
    }
    let before = scene.server.database.writeWork
    #expect(try scene.sync([SentMessage(scene.server.stamp())] + messages).text == "clock-drift")
    #expect((scene.server.database.writeWork - before).changedRowCount == 0)
  }

  @Test func `a body that is too long is refused by its head, and junk by its form`() throws {
    let scene = try Scene()
    let client = try #require(RawClient(connectingTo: scene.server.port))
    #expect(client.exchange(scene.head(20 << 20))?.status == 413)
    // Envelopes without a timestamp, the shortest that there are.
    let envelopes = (0..<4 << 20).map { UInt8($0 % 2 == 0 ? 0x0A : 0) }
    let bodies: [[UInt8]] = [
      [UInt8](repeating: 0, count: 14 << 20), [UInt8](repeating: 0xFF, count: 14 << 20),
      [UInt8](repeating: 0x55, count: 14 << 20), envelopes,
    ]
    for body in bodies {
      let answer = try scene.client.send("POST", "/sync/sync", [], body)
      #expect(answer.status == 422)
    }
    #expect(try scene.sync().status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `a reader that stops reading lets the server read no further`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let count = 600
    for part in 0..<3 {
      let messages = (0..<200).map {
        SentMessage(
          scene.server.stamp(counter: part * 200 + $0), [UInt8](repeating: 7, count: 60_000))
      }
      #expect(try scene.sync(messages).status == 200)
    }
    let question =
      ActualClient.field(2, Array(Self.file.utf8))
      + ActualClient.field(3, Array(scene.group.utf8))
      + ActualClient.field(6, Array(LogTests.zero.utf8))
    let before = scene.server.database.readWork
    let slow = try #require(RawClient(connectingTo: scene.server.port))
    slow.send(Array(scene.head(question.count).utf8) + question)
    var received = 0
    while received < 1 << 20, let part = slow.receive() { received += part.count }
    // Others are served meanwhile. What was read for the slow one fits the buffers of its connection.
    for _ in 0..<20 { #expect(try scene.client.send("GET", "/health").status == 200) }
    let read = (scene.server.database.readWork - before).returnedRowCount
    #expect(read < Int64(count * 2 / 3), "\(read) rows")
    while received < count * 60_000, let part = slow.receive(), !part.isEmpty {
      received += part.count
    }
    #expect(received >= count * 60_000)
  }
}
