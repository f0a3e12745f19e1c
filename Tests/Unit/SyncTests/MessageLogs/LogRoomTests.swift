import Accounts
import Archive
import Base
import Crypto
import JSON
import Logs
import Storage
import Sync
import TestDevices
import TestEngines
import TestFiles
import Testing

/// What message logs bring to coffer-sync besides their routes: charges, upkeep, erasure, checks, exports.
@Suite struct LogRoomTests {
  /// A device with two logs of some messages.
  private struct Scene {
    let server: TestServer
    let device: TestDevice
    let logs: [KnownLog]

    init(_ engine: TestEngine) throws {
      server = try TestServer(engine)
      device = try server.register()
      logs = [try device.createLog(), try device.createLog()]
      for (index, log) in logs.enumerated() {
        let messages = [0, 1, 500, 700].map {
          SentMessage(
            server.stamp(.hours(-$0), counter: index), [UInt8](repeating: 1, count: Int($0)))
        }
        try device.append(messages, to: log).requireSuccess()
      }
    }

    func finding() throws -> UsageFinding? {
      try Recount(
        server.database, catalogue: server.catalogue,
        protocols: [FileTrees.self, MessageLogs.self]
      ).audit(device.account)
    }

    func kept() throws -> Int64? {
      try server.database.read { [account = try device.account] reader in
        try reader.first(
          "SELECT kept_bytes FROM sync.accounts WHERE id = $1", .id(account)
        ) { row in try row.integer(0) }
      }
    }

    func faults() throws -> [String] {
      try MessageLogs.faults(of: device.account, in: server.database)
    }

    func rowCounts() throws -> [Int64] {
      try ["logs", "log_epochs", "log_messages", "log_trie_pages"].map { try server.count($0) }
    }

    func change(_ statement: String) throws {
      try server.database.write(for: nil) { transaction in
        _ = try transaction.execute(statement)
      }
    }
  }

  @Test(arguments: TestEngine.available)
  func `the charge of logs is what a recount finds`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let finding = try #require(try scene.finding())
    #expect(finding.isRight, "\(finding)")
    #expect(
      finding.weights["log"]
        == UsageWeight(recordCount: 2, contentByteCount: 2 * (1201 + 4 * 64)))
    #expect(try scene.device.remove(scene.logs[0].path).status == 204)
    let after = try #require(try scene.finding())
    #expect(after.isRight, "\(after)")
    #expect(after.weights["log"]?.recordCount == 1)
  }

  @Test(arguments: TestEngine.available)
  func `a deleted log's rows go in slices, and count as kept meanwhile`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    #expect(try scene.device.remove(scene.logs[0].path).status == 204)
    #expect(try scene.kept() == 1201 + 4 * 64)
    #expect(try scene.device.get(scene.logs[0].path).status == 404)
    try scene.server.sweepDeletions()
    #expect(try scene.kept() == 0)
    #expect(try scene.rowCounts().prefix(3) == [1, 1, 4])
    #expect(try scene.device.messages(of: scene.logs[1]).count == 4)
    #expect(try scene.device.remove(scene.logs[1].path).status == 204)
    try scene.server.sweepDeletions()
    #expect(try scene.rowCounts() == [0, 0, 0, 0])
  }

  @Test(arguments: TestEngine.available)
  func `an erased account leaves nothing of its logs`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let other = try scene.server.register()
    let log = try other.createLog()
    try other.append([SentMessage(scene.server.stamp())], to: log).requireSuccess()
    #expect(try scene.device.remove("/v1/account").status == 202)
    scene.server.clock.advance(.days(8))
    try scene.server.sweeper().sweepErasures()
    #expect(try scene.rowCounts().prefix(3) == [1, 1, 1])
    #expect(try other.messages(of: log).count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `an erasure of logs says that it is over once nothing is left of them`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (account, now) = (try scene.device.account, scene.server.clock.now)
    while try scene.server.database.write(
      for: account, { try MessageLogs.erase(account, in: $0, now: now) })
    {}
    #expect(try scene.rowCounts() == [0, 0, 0, 0])
  }

  @Test(arguments: TestEngine.available)
  func `each log whose rows disagree is found`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    #expect(try scene.faults() == [])
    let damages = [
      "UPDATE sync.log_epochs SET bytes = bytes + 1",
      "UPDATE sync.log_epochs SET message_count = message_count + 1, bytes = bytes - 1",
      "DELETE FROM sync.log_trie_pages WHERE path = ''",
    ]
    for damage in damages {
      try scene.change(damage)
      #expect(try scene.faults().count == scene.logs.count, "\(damage)")
    }
  }

  @Test(arguments: TestEngine.available)
  func `a recount puts a log's row and trie right by its messages`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let recount = Recount(
      scene.server.database, catalogue: scene.server.catalogue,
      protocols: [FileTrees.self, MessageLogs.self])
    let usage = try scene.device.usage()
    let root = try scene.device.get(scene.logs[0].path).json["root"].integer
    let notes = Locked(0)
    let damages = [
      "UPDATE sync.log_epochs SET bytes = bytes + 1",
      "UPDATE sync.log_epochs SET message_count = message_count + 1, bytes = bytes - 1",
      "DELETE FROM sync.log_trie_pages WHERE path = ''",
    ]
    for damage in damages {
      try scene.change(damage)
      _ = try recount.correct(scene.device.account, now: scene.server.clock.now) { _, _ in
        notes.withLock { $0 += 1 }
      }
      #expect(try scene.faults() == [], "\(damage)")
      #expect(try scene.finding()?.isRight == true, "\(damage)")
    }
    #expect(notes.withLock { $0 } == 3)
    #expect(try scene.device.usage() == usage)
    #expect(try scene.device.get(scene.logs[0].path).json["root"].integer == root)
    let message = SentMessage(scene.server.stamp(counter: 9))
    #expect(try scene.device.append([message], to: scene.logs[0]).json["messages"].integer == 5)
  }

  @Test func `logs that lost a message are not made to fit`() throws {
    let scene = try Scene(.sqlite)
    try scene.change("DELETE FROM sync.log_messages WHERE number = 2")
    let recount = Recount(
      scene.server.database, catalogue: scene.server.catalogue,
      protocols: [FileTrees.self, MessageLogs.self])
    _ = try recount.correct(scene.device.account, now: scene.server.clock.now)
    #expect(try scene.faults().count == scene.logs.count)
  }

  @Test func `an export has every message, page by page`() throws {
    let scene = try Scene(.sqlite)
    let cursor = try scene.device.page(of: scene.logs[0], "").json["cursor"].string
    try scene.device.putSnapshot([1, 2], of: scene.logs[0], covering: #require(cursor))
      .requireSuccess()
    let path = "\(scene.server.directory)/export.tar"
    let writer = try ArchiveWriter(path, kind: "test", format: 1, at: scene.server.clock.now)
    let export = try scene.server.database.read { [account = try scene.device.account] reader in
      try MessageLogs.export(account, from: reader, to: writer) { _ in }
    }
    _ = try writer.finish()
    #expect(export.counts.map(\.name) == ["logs", "messages"])
    #expect(export.counts.map(\.count) == [2, 8])
    #expect(export.objects.map(\.file) == ["snapshots/\(scene.logs[0].id)"])
    #expect(export.objects.map(\.byteCount) == [2])
    let archive = try ArchiveReader(path, kind: "test", format: 1)
    try archive.verify { _ in }
    let list = try JSON.parse(archive.bytes(of: #require(archive.file(named: "logs.json"))))
    // Both were created in the same millisecond.
    #expect(
      list["logs"].array?.compactMap { $0["id"].string }
        == scene.logs.map(\.id).sorted().map(\.description))
    for log in scene.logs {
      let pages = archive.files.filter { $0.name.hasPrefix("logs/\(log.id)/") }
      #expect(pages.count == 1)
      let page = try JSON.parse(archive.bytes(of: #require(pages.first)))
      #expect(
        try (page["messages"].array ?? []).compactMap { SentMessage($0) }
          == scene.device.messages(of: log))
    }
  }

  private static func pages(of archive: ArchiveReader) -> ArrivingLogs.Pages {
    { folder, each in
      for file in archive.files where file.name.hasPrefix(folder) {
        try each(JSON.parse(archive.bytes(of: file)))
      }
    }
  }

  @Test(arguments: TestEngine.available)
  func `an archive's logs arrive with their snapshots, and with none that it lacks`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (log, device) = (scene.logs[0], scene.device)
    let cursor = try device.page(of: log, "limit=2").json["cursor"].string
    try device.putSnapshot([1, 2], of: log, covering: #require(cursor)).requireSuccess()
    let path = "\(scene.server.directory)/export.tar"
    let writer = try ArchiveWriter(path, kind: "test", format: 1, at: scene.server.clock.now)
    _ = try scene.server.database.read { [account = try device.account] reader in
      try MessageLogs.export(account, from: reader, to: writer) { _ in }
    }
    _ = try writer.finish()
    let archive = try ArchiveReader(path, kind: "test", format: 1)
    let list = try JSON.parse(archive.bytes(of: #require(archive.file(named: "logs.json"))))
    let name = "snapshots/\(log.id)"
    func arriving(_ snapshots: [String: Int64], sequence: Int64 = 100) throws -> ArrivingLogs {
      try ArrivingLogs(
        list, pages: Self.pages(of: archive), snapshots: snapshots, sequence: sequence)
    }
    let other = "snapshots/\(scene.logs[1].id)"
    let wrong: [[String: Int64]] = [[:], [name: 3], [name: 2, other: 2]]
    for snapshots in wrong {
      #expect(throws: JSONError.self) { try arriving(snapshots) }
    }
    #expect(throws: JSONError.self) { try arriving([name: 2], sequence: 2) }
    let logs = try arriving([name: 2])
    #expect(logs.weight.contentByteCount == 2 * (1201 + 4 * 64) + 2)
    let target = try TestServer(engine)
    let owner = try target.register()
    let account = try owner.account
    try target.database.write(for: nil) { transaction in
      try logs.insert(
        of: account, pages: Self.pages(of: archive), objects: [name: Identifier(high: 1, low: 2)],
        at: Instant(seconds: 0), in: transaction)
    }
    let (before, after) = (try device.get(log.path).json, try owner.get(log.path).json)
    #expect(after["snapshot"]["bytes"].integer == 2)
    #expect(after["snapshot"]["version"].integer == before["snapshot"]["version"].integer)
    let covers = try #require(after["snapshot"]["covers"].string)
    #expect(try owner.page(of: log, "cursor=\(covers)").messages.count == 2)
    #expect(try MessageLogs.faults(of: account, in: target.database) == [])
  }

  @Test func `a log of an archive with a negative number of messages is refused`() throws {
    let listed: JSONValue = [
      "id": .string(Random.identifier().description), "name": "AQ==", "key": .null, "created_ms": 0,
      "messages": .integer(-1), "bytes": 0, "horizon": .null,
      "snapshot": ["version": 1, "bytes": 0, "messages": 0],
    ]
    let list = try JSON.parse(JSONValue.object([.init("logs", .array([listed]))]).encoded())
    let error = #expect(throws: JSONError.self) {
      try ArrivingLogs(list, pages: { _, _ in }, snapshots: [:], sequence: 1)
    }
    #expect(error?.message == "has a size that no epoch can have")
  }

  @Test func `a timestamp of an archive is as far ahead as one of a request, at most`() throws {
    let timestamp = "2026-05-28T20:26:40.000Z-0000-0123456789abcdef"
    let log: JSONValue = [
      "id": .string(Random.identifier().description), "name": "AQ==", "key": .null,
      "created_ms": 0, "messages": 1, "bytes": 65, "horizon": .null, "snapshot": .null,
    ]
    let message: JSONValue = ["t": .string(timestamp), "c": "AQ=="]
    let logs = try ArrivingLogs(
      JSON.parse(JSONValue.object([.init("logs", .array([log]))]).encoded()),
      pages: { _, each in
        try each(JSON.parse(JSONValue.object([.init("messages", .array([message]))]).encoded()))
      }, snapshots: [:], sequence: 1)
    let moment = try #require(Instant(rfc3339: "2026-05-28T20:16:40Z"))
    #expect(logs.ahead(of: moment) == nil)
    #expect(logs.ahead(of: moment - .milliseconds(1))?.description == timestamp)
  }

  @Test func `a budget in an archive has only messages that its clients can read`() throws {
    let log = Identifier(high: 1, low: 2)
    let timestamp = "2026-05-28T20:26:40.000Z-0000-0123456789abcdef"
    func json(_ name: String, _ value: JSONValue) throws -> JSON {
      try JSON.parse(JSONValue.object([.init(name, .array([value]))]).encoded())
    }
    func arrive(_ content: [UInt8]) throws {
      let listed: JSONValue = [
        "id": .string(log.description), "name": "AQ==", "key": .null, "created_ms": 0,
        "messages": 1, "bytes": .integer(Int64(content.count) + 64), "horizon": .null,
        "snapshot": .null,
      ]
      let message: JSONValue = [
        "t": .string(timestamp), "c": .string(Base64.standard.encode(content)),
      ]
      let budget: JSONValue = [
        "file": "b", "log": .string(log.description), "name": "Budget", "reset": false, "format": 2,
        "key": .null, "meta": .null,
      ]
      let logs = try ArrivingLogs(
        json("logs", listed), pages: { _, each in try each(json("messages", message)) },
        snapshots: [:], sequence: 1)
      _ = try ArrivingBudgets(json("budgets", budget), of: logs)
    }
    try arrive([])
    try arrive([0x1A, 1, 7])
    // The second has a timestamp of its own.
    for content: [UInt8] in [[1, 2, 3], [0x0A, 1, 65]] {
      let error = #expect(throws: JSONError.self) { try arrive(content) }
      #expect(
        error?.message
          == "has a budget whose message \(timestamp) is no Actual envelope, in the log \(log)")
    }
  }

  @Test func `a budget of an archive has a name, and encryption that its clients can read`() throws
  {
    let log = Random.identifier()
    func json(_ name: String, _ value: JSONValue) throws -> JSON {
      try JSON.parse(JSONValue.object([.init(name, .array([value]))]).encoded())
    }
    let listed: JSONValue = [
      "id": .string(log.description), "name": "AQ==", "key": .null, "created_ms": 0,
      "messages": 0, "bytes": 0, "horizon": .null, "snapshot": .null,
    ]
    let logs = try ArrivingLogs(
      json("logs", listed), pages: { _, _ in }, snapshots: [:], sequence: 1)
    func arrive(name: String = "Budget", meta: String) throws {
      let budget: JSONValue = [
        "file": "b", "log": .string(log.description), "name": .string(name), "reset": false,
        "format": 2, "key": .null, "meta": ["text": .string(meta), "key": "k"],
      ]
      _ = try ArrivingBudgets(json("budgets", budget), of: logs)
    }
    try arrive(meta: #"{"keyId":"k"}"#)
    for meta in ["", "[]", "{}", #"{"keyId":"another"}"#] {
      let error = #expect(throws: JSONError.self) { try arrive(meta: meta) }
      #expect(error?.path == "$.budgets[0].meta", "\(meta)")
    }
    let error = #expect(throws: JSONError.self) {
      try arrive(name: "", meta: #"{"keyId":"k"}"#)
    }
    #expect(error?.path == "$.budgets[0].name")
  }
}
