import Accounts
import Base
import Crypto
import JSON
import Logs
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers

/// What a log refuses, and that nothing of it is stored.
@Suite struct LogRefusalTests {
  @Test(arguments: TestEngine.available)
  func `another account's log is not found, whatever is asked`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let log = try alice.createLog()
    for answer in [
      try bob.get(log.path), try bob.get("\(log.path)/messages"), try bob.get("\(log.path)/trie"),
      try bob.append([SentMessage(server.stamp())], to: log), try bob.remove(log.path),
      try alice.get("/v1/logs/\(Random.identifier())"), try alice.get("/v1/logs/none"),
    ] {
      #expect(answer.status == 404)
      #expect(try answer.problem == "log_not_found")
    }
    #expect(try bob.get("/v1/logs").json["logs"].array?.isEmpty == true)
    #expect(try bob.postLog(log.id).problem == "log_exists")
    #expect(try alice.messages(of: log).isEmpty)
  }

  @Test func `messages for another epoch are refused with the one that is`() throws {
    let server = try TestServer()
    let device = try server.register()
    let log = try device.createLog()
    let refused = try device.append(
      [SentMessage(server.stamp())], to: log, epoch: Random.identifier())
    #expect(refused.status == 409)
    #expect(try refused.problem == "epoch_changed")
    #expect(try refused.json["epoch"].string == log.epoch.description)
    #expect(try device.messages(of: log).isEmpty)
  }

  @Test func `a cursor of another log, of another history or of none is refused`() throws {
    let server = try TestServer()
    let device = try server.register()
    let (log, other) = (try device.createLog(), try device.createLog())
    let cursor = try #require(try device.page(of: log, "").json["cursor"].string)
    func problem(_ query: String, of log: KnownLog) throws -> String? {
      try device.get("\(log.path)/messages?\(query)").problem
    }
    #expect(try problem("cursor=\(cursor)", of: other) == "epoch_changed")
    for bad in ["", "x", String(cursor.dropLast(4)), cursor + "AAAA"] {
      #expect(try problem("cursor=\(bad)", of: log) == "cursor_invalid")
    }
    for query in ["since=", "since=now", "cursor=\(cursor)&since=\(LogTests.zero)"] {
      #expect(try problem(query, of: log) == "since_invalid")
    }
    for limit in ["0", "5001", "x", ""] {
      #expect(try problem("limit=\(limit)", of: log) == "limit_invalid")
    }
    #expect(try device.get("\(log.path)/trie?path=3").problem == "path_invalid")
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.history SET history_id = $1", .id(Random.identifier()))
    }
    #expect(try problem("cursor=\(cursor)", of: log) == "history_changed")
  }

  @Test(arguments: TestEngine.available)
  func `messages alone may go a mebibyte above the cap, and a deletion goes at any usage`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, freeByteCount: 100_000)
    let device = try server.register()
    let log = try device.createLog()
    let content = [UInt8](repeating: 1, count: 65_000)
    var counter = 0
    func append() throws -> Answer {
      counter += 1
      return try device.append(
        [SentMessage(server.stamp(counter: counter), content)], to: log)
    }
    var before = try device.usage()
    while before + 65_064 <= 100_000 + 1 << 20 {
      try append().requireSuccess()
      let after = try device.usage()
      #expect(after == before + 65_064)
      before = after
    }
    let refused = try append()
    #expect(refused.status == 507)
    #expect(try refused.problem == "over_cap")
    #expect(try refused.json["cap"].integer == 100_000)
    #expect(try device.usage() == before)
    #expect(try device.create().answer.problem == "over_cap")
    #expect(try device.postLog(Random.identifier()).problem == "over_cap")
    #expect(try device.remove(log.path).status == 204)
    // The root stays.
    #expect(try device.usage() == server.catalogue.metadataFeeByteCount)
    _ = try device.add()
  }

  @Test(arguments: TestEngine.available)
  func `an account far above a lowered cap appends a mebibyte, and again what its epoch freed`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, freeByteCount: 10_000_000)
    let device = try server.register()
    let log = try device.createLog()
    let content = [UInt8](repeating: 1, count: 65_000)
    var counter = 0
    func append(to log: KnownLog) throws -> Answer {
      counter += 1
      return try device.append([SentMessage(server.stamp(counter: counter), content)], to: log)
    }
    func overdraft() throws -> Int64 {
      try server.database.read { [account = try device.account] reader in
        try LogOverdraft.byteCount(reader, of: account)
      }
    }
    let start = try #require(try device.page(of: log, "").json["cursor"].string)
    try device.putSnapshot([1], of: log, covering: start).requireSuccess()
    for _ in 0..<3 { try append(to: log).requireSuccess() }
    #expect(try overdraft() == 0)
    try server.setCap(device.account, 100_000, plan: "free", reason: "never_subscribed")
    for count in Int64(1)...16 {
      try append(to: log).requireSuccess()
      #expect(try overdraft() == count * 65_064)
    }
    #expect(try append(to: log).problem == "over_cap")
    #expect(try overdraft() == 16 * 65_064)
    let cursor = try #require(try device.page(of: log, "limit=10").json["cursor"].string)
    let epoch = try log.next(device.beginEpoch(of: log, covering: cursor, snapshot: [2]))
    #expect(try overdraft() == 6 * 65_064)
    for _ in 0..<10 { try append(to: epoch).requireSuccess() }
    #expect(try append(to: epoch).problem == "over_cap")
    try server.setCap(device.account, 10_000_000, plan: "free", reason: "never_subscribed")
    try append(to: epoch).requireSuccess()
    #expect(try overdraft() == 0)
  }

  @Test(arguments: TestEngine.available)
  func `an epoch that is taken back frees what the larger one took above the cap`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (log, account) = (try device.createLog(), try device.account)
    func overdraft() throws -> Int64 {
      try server.database.read { try LogOverdraft.byteCount($0, of: account) }
    }
    try device.append([SentMessage(server.stamp(), [1])], to: log).requireSuccess()
    let cursor = try #require(try device.page(of: log, "").json["cursor"].string)
    let epoch = try log.next(device.beginEpoch(of: log, covering: cursor))
    try server.setCap(account, 1000, plan: "free", reason: "never_subscribed")
    let large = SentMessage(server.stamp(counter: 1), [UInt8](repeating: 1, count: 65_000))
    try device.append([large], to: epoch).requireSuccess()
    #expect(try overdraft() == 65_064)
    let now = server.clock.now
    try server.database.write(for: account) { [catalogue = server.catalogue] transaction in
      let found = try MessageLog.find(transaction, log.id, for: account)
      if let kept = try LogRestore.find(transaction, of: log.id, now: now) {
        try LogRestore.perform(transaction, found, kept, catalogue: catalogue, now: now)
      }
    }
    #expect(try overdraft() == 65)
  }

  @Test(arguments: TestEngine.available)
  func `a suspended account appends nothing, and reads and deletes`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let log = try device.createLog()
    let message = SentMessage(server.stamp())
    try device.append([message], to: log).requireSuccess()
    try server.suspend(device.account, since: server.clock.now)
    let refused = try device.append([SentMessage(server.stamp(counter: 1))], to: log)
    #expect(refused.status == 403)
    #expect(try refused.problem == "account_suspended")
    #expect(try device.postLog(Random.identifier()).problem == "account_suspended")
    #expect(try device.messages(of: log) == [message])
    #expect(try device.remove(log.path).status == 204)
  }

  @Test func `an epoch takes a million messages and 400 MB`() throws {
    let server = try TestServer(freeByteCount: 1_000_000_000)
    let device = try server.register()
    let log = try device.createLog()
    let (first, second) = (
      SentMessage(server.stamp()), SentMessage(server.stamp(counter: 1))
    )
    for (column, full) in [("message_count", Int64(999_999)), ("bytes", 400_000_000 - 67)] {
      try server.database.write(for: nil) { transaction in
        _ = try transaction.execute(
          "UPDATE sync.log_epochs SET \(column) = $1", .integer(full))
      }
      let refused = try device.append([first, second], to: log)
      #expect(refused.status == 409)
      #expect(try refused.problem == "log_full")
      try server.database.write(for: nil) { transaction in
        _ = try transaction.execute("UPDATE sync.log_epochs SET \(column) = 0")
      }
    }
    #expect(try device.messages(of: log).isEmpty)
  }

  @Test func `an account has at most 200 logs, and creation happens once`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = Random.identifier()
    let request = device.sign(
      "POST", "/v1/logs",
      body: JSONValue.object([
        .init("id", .string(id.description)), .init("name", .base64([1])),
      ]).encoded())
    let first = try device.send(request)
    #expect(first.status == 201)
    #expect(first.header("Location") == "/v1/logs/\(id)")
    #expect(try device.send(request).holds(first.body))
    for _ in 1..<200 { _ = try device.createLog() }
    #expect(try device.postLog(Random.identifier()).problem == "too_many_logs")
    #expect(try device.remove("/v1/logs/\(id)").status == 204)
    _ = try device.createLog()
  }
}
