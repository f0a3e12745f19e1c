import Base
import Crypto
import JSON
import Logs
import SeededRandom
import Storage
import TestDevices
import TestEngines
import Testing

/// A message log: what one device appends, the others read, in the order of arrival and in that of clocks.
@Suite struct LogTests {
  static let zero = "1970-01-01T00:00:00.000Z-0000-0000000000000000"

  @Test(arguments: TestEngine.available)
  func `what a device appends is read in both orders`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let log = try device.createLog()
    let (early, late) = (
      SentMessage(server.stamp(.minutes(-5))), SentMessage(server.stamp(), [9])
    )
    let answer = try device.append([late, early], to: log)
    #expect(answer.status == 200)
    #expect(try answer.json["messages"].integer == 2)
    #expect(try answer.json["added"].integer == 2)
    #expect(try device.messages(of: log) == [late, early])
    #expect(try device.messages(of: log, since: Self.zero).messages == [early, late])
    #expect(try device.messages(of: log, since: early.t).messages == [late])
    #expect(try device.messages(of: log, since: late.t).messages == [])
    let shown = try device.get(log.path).json
    #expect(shown["root"].integer == (try answer.json["root"].integer))
    #expect(shown["messages"].integer == 2)
    #expect(shown["bytes"].integer == early.charge + late.charge)
    let list = try device.get("/v1/logs").json["logs"]
    #expect(list[0]["id"].string == log.id.description)
    #expect(list[0]["epoch"].string == log.epoch.description)
    #expect(list.array?.count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `the same messages again change nothing, and the first content of a timestamp stays`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let log = try device.createLog()
    let first = SentMessage(server.stamp(), [1])
    let second = SentMessage(server.stamp(counter: 1), [2])
    let third = SentMessage(server.stamp(counter: 2), [2])
    let answer = try device.append([first, first, second, third], to: log)
    #expect(try answer.json["added"].integer == 3)
    let before = try device.get(log.path).json["root"].integer
    let usage = try device.usage()
    let others = [SentMessage(second.t, [3]), SentMessage(third.t, [2, 2]), third]
    let again = try device.append([first] + others, to: log)
    #expect(again.status == 200)
    #expect(try again.json["added"].integer == 0)
    #expect(try again.json["root"].integer == before)
    #expect(try again.json["different"].array?.compactMap(\.string) == [second.t, third.t])
    #expect(try device.messages(of: log) == [first, second, third])
    #expect(try device.usage() == usage)
  }

  @Test func `a request that gives two contents for a timestamp keeps the first`() throws {
    let server = try TestServer()
    let device = try server.register()
    let log = try device.createLog()
    let t = server.stamp()
    let answer = try device.append([SentMessage(t, [1]), SentMessage(t, [2])], to: log)
    #expect(try answer.json["different"].array?.compactMap(\.string) == [t])
    #expect(try device.messages(of: log) == [SentMessage(t, [1])])
  }

  @Test func `a timestamp ten minutes ahead passes, and a millisecond more is refused whole`()
    throws
  {
    let server = try TestServer()
    let device = try server.register()
    let log = try device.createLog()
    try device.append([SentMessage(server.stamp(.minutes(10)))], to: log).requireSuccess()
    let ahead = server.stamp(.milliseconds(600_001))
    let refused = try device.append([SentMessage(server.stamp()), SentMessage(ahead)], to: log)
    #expect(refused.status == 422)
    #expect(try refused.problem == "timestamp_ahead")
    #expect(try refused.json["t"].string == ahead)
    #expect(
      try refused.json["latest"].string == (server.clock.now + .minutes(10)).description)
    #expect(try device.messages(of: log).count == 1)
    server.clock.advance(.milliseconds(1))
    try device.append([SentMessage(ahead)], to: log).requireSuccess()
  }

  @Test func `a batch with one malformed message is refused whole, and the place is named`() throws
  {
    let server = try TestServer()
    let device = try server.register()
    let log = try device.createLog()
    let good = SentMessage(server.stamp())
    for bad in [server.stamp().lowercased(), "", Self.zero + "0"] {
      let refused = try device.append([good, SentMessage(bad)], to: log)
      #expect(refused.status == 400)
      #expect(try refused.problem == "body_invalid")
      #expect(try refused.json["errors"][0]["path"].string == "$.messages[1].t")
    }
    let long = try device.append(
      [SentMessage(server.stamp(), [UInt8](repeating: 1, count: 65_537))], to: log)
    #expect(try long.problem == "body_invalid")
    #expect(try device.append([], to: log).problem == "body_invalid")
    #expect(try device.messages(of: log).isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `pages of any size together are the whole log, and its trie is that of all messages`(
    engine: TestEngine
  ) throws {
    let seed = SeededGenerator.seed(of: "LogTests")
    var random = SeededGenerator(seed: seed)
    let server = try TestServer(engine, freeByteCount: 30_000_000)
    let device = try server.register()
    let log = try device.createLog()
    var arrived: [SentMessage] = []
    var trie = MerkleTrie()
    for _ in 0..<12 {
      let batch = (0..<Int.random(in: 1...60, using: &random)).map { _ in
        SentMessage(
          server.stamp(
            .seconds(-.random(in: 0...500_000, using: &random)),
            counter: .random(in: 0...2, using: &random)),
          random.bytes(count: .random(in: 0...9, using: &random)))
      }
      let known = Set(arrived.map(\.t))
      let answer = try device.append(batch, to: log)
      for message in batch where !known.contains(message.t) {
        guard !arrived.contains(where: { $0.t == message.t }) else { continue }
        arrived.append(message)
        try trie.add([#require(LogTimestamp(message.t))])
      }
      #expect(try answer.json["root"].integer == Int64(trie.root()), "seed \(seed)")
    }
    let sorted = arrived.sorted { $0.t < $1.t }
    for limit in [1, 7, 100, 5000] where limit > 1 || arrived.count < 500 {
      #expect(try device.messages(of: log, limit: limit) == arrived, "seed \(seed)")
      let start = try #require(sorted.randomElement(using: &random)).t
      let read = try device.messages(of: log, since: start, limit: limit)
      #expect(read.messages == sorted.filter { $0.t > start }, "seed \(seed)")
      #expect(
        try JSONValue(read.trie)?.encoded() == JSONValue(JSON.parse(trie.pruned()))?.encoded())
    }
    #expect(try MessageLogs.faults(of: device.account, in: server.database) == [])
  }

  @Test func `a page has less than a mebibyte`() throws {
    let server = try TestServer(freeByteCount: 30_000_000)
    let device = try server.register()
    let log = try device.createLog()
    let content = [UInt8](repeating: 7, count: 65_536)
    let sent = (0..<40).map { SentMessage(server.stamp(counter: $0), content) }
    for start in stride(from: 0, to: 40, by: 10) {
      try device.append(Array(sent[start..<(start + 10)]), to: log).requireSuccess()
    }
    let page = try device.get("\(log.path)/messages?limit=5000")
    #expect(page.body.count < 1 << 20)
    #expect(try page.json["messages"].array?.count == 10)
    #expect(try device.messages(of: log) == sent)
    #expect(try device.messages(of: log, since: Self.zero).messages == sent)
  }

  @Test(arguments: TestEngine.available)
  func `a walk down the trie finds the minute that a device lacks`(engine: TestEngine) throws {
    let seed = SeededGenerator.seed(of: "walks of LogTests")
    var random = SeededGenerator(seed: seed)
    let server = try TestServer(engine)
    let device = try server.register()
    let log = try device.createLog()
    let stamps = (0..<150).map { server.stamp(.minutes(-$0 * 7)) }
    try device.append(stamps.map { SentMessage($0) }, to: log).requireSuccess()
    let lacking = try #require(stamps.randomElement(using: &random))
    var own = MerkleTrie()
    try own.add(stamps.filter { $0 != lacking }.map { try #require(LogTimestamp($0)) })
    var path = ""
    while true {
      let answer = try device.get("\(log.path)/trie?path=\(path)").json
      let theirs = (answer["children"].members ?? []).map { ($0.name, $0.value.integer) }
      guard !theirs.isEmpty else { break }
      let mine = Dictionary(
        uniqueKeysWithValues: try own.children(of: #require(TriePath(path))).map {
          (String($0.digit), Int64($0.hash))
        })
      path += try #require(theirs.first { mine[$0.0] != $0.1 }).0
    }
    let minute = try #require(LogTimestamp(lacking)).minute
    #expect(path == String(minute, radix: 3), "seed \(seed)")
  }
}
