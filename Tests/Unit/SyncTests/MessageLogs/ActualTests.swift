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
import Tiers

/// The door for clients of Actual, over a real socket.
@Suite struct ActualTests {
  private static let file = "0f8fad5b-d9cb-469f-a165-70867728950e"

  private static func server(
    _ engine: TestEngine = .sqlite, freeByteCount: Int64 = 10_000_000
  ) throws -> TestServer {
    try TestServer(
      engine, freeByteCount: freeByteCount, actualAuthorities: [ActualClient.host])
  }

  /// The messages of an answer as bytes, and the trie behind them.
  private static func answer(_ messages: [SentMessage], _ trie: String) -> [UInt8] {
    ActualClient.envelopes(messages) + ActualClient.field(2, Array(trie.utf8))
  }

  /// An operator takes back the epoch that the account's only log had before.
  private static func restore(_ server: TestServer, _ device: TestDevice) throws {
    let (account, now) = (try device.account, server.clock.now)
    try server.database.write(for: account) { [catalogue = server.catalogue] transaction in
      let log = try transaction.first("SELECT log_id FROM sync.actual_files") { try $0.id(0) }
      let found = try MessageLog.find(transaction, log ?? account, for: account)
      if let kept = try LogRestore.find(transaction, of: found.id, now: now) {
        try LogRestore.perform(transaction, found, kept, catalogue: catalogue, now: now)
      }
    }
  }

  private static func root(_ answer: Answer) -> Substring? {
    answer.text.firstMatch(of: #/{"hash":(-?[0-9]+)/#)?.1
  }

  @Test func `the routes are there on hosts of their own, and only if the operator names some`()
    throws
  {
    let off = try TestServer()
    let server = try Self.server()
    for path in ["/account/needs-bootstrap", "/info", "/data-file-index.txt", "/health", "/mode"] {
      let client = ActualClient(stranger: server.device())
      #expect(try client.send("GET", path).status == 200)
      #expect(try client.send("GET", path, host: TestServer.authority).status == 404)
      #expect(try ActualClient(stranger: off.device()).send("GET", path).status == 404)
    }
    #expect(
      try ActualClient(stranger: server.device()).send("GET", "/account/needs-bootstrap").text
        == #"{"status":"ok","data":{"bootstrapped":true,"loginMethod":"password","availableLoginMethods":[{"method":"password","active":1,"displayName":"Password"}],"multiuser":false}}"#
    )
  }

  @Test(arguments: TestEngine.available)
  func `a password logs in until it is revoked, and a wrong one does not`(
    engine: TestEngine
  ) throws {
    let server = try Self.server(engine)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    let account = try ada.account
    let valid = try client.send("GET", "/account/validate")
    #expect(try valid.json["data"]["userId"].string == account.description)
    #expect(
      try client.logIn("cap-0000000000-00000000000000000000000000").text.contains(
        "invalid-password"))
    let password = try #require(
      try server.database.read { try AppPassword.list($0, of: account) }.first)
    #expect(password.used == server.clock.now)
    _ = try server.database.write(for: nil) { transaction in
      try AppPassword.revoke(transaction, password.id, of: account)
    }
    let refused = try client.send("GET", "/account/validate")
    #expect(refused.status == 401)
    #expect(
      refused.text == #"{"status":"error","reason":"unauthorized","details":"token-not-found"}"#)
  }

  @Test func `every request needs a token, and a token opens nothing else`() throws {
    let server = try Self.server()
    let stranger = ActualClient(stranger: server.device())
    for path in ["list-user-files", "get-user-file-info", "download-user-file"] {
      #expect(try stranger.send("GET", "/sync/\(path)").status == 401)
    }
    for path in [
      "user-get-key", "user-create-key", "update-user-filename", "reset-user-file",
      "delete-user-file",
    ] {
      #expect(try stranger.post("/sync/\(path)", ["token": "none"]).status == 401)
    }
    #expect(try stranger.upload(Self.file, [1]).status == 401)
    #expect(try stranger.sync(Self.file, group: "").status == 401)
    let client = try ActualClient(server, of: server.register())
    let answer = try client.send(
      "GET", "/v1/account", [("Authorization", "Bearer \(client.token)")],
      host: TestServer.authority)
    #expect(answer.status == 401)
  }

  @Test(arguments: TestEngine.available)
  func `a budget is uploaded, listed, downloaded, renamed and deleted`(engine: TestEngine) throws {
    let server = try Self.server(engine)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    let before = try ada.usage()
    let group = try client.create(Self.file, [7, 8, 9])
    #expect(try ada.usage() == before + server.catalogue.metadataFeeByteCount + 3)
    let listed = try client.send("GET", "/sync/list-user-files").json["data"]
    #expect(listed.array?.count == 1)
    #expect(listed[0]["deleted"].integer == 0)
    #expect(listed[0]["fileId"].string == Self.file)
    #expect(listed[0]["groupId"].string == group)
    #expect(listed[0]["name"].string == "My Finances")
    #expect(listed[0]["encryptKeyId"].isNull)
    let downloaded = try client.download(Self.file)
    #expect(downloaded.holds([7, 8, 9]))
    #expect(downloaded.header("Content-Disposition") == "attachment;filename=\(Self.file)")
    #expect(
      try client.post(
        "/sync/update-user-filename", ["fileId": .string(Self.file), "name": "Haushalt €"]
      ).text == #"{"status":"ok"}"#)
    let info = try client.send(
      "GET", "/sync/get-user-file-info", [("X-ACTUAL-FILE-ID", Self.file)]
    ).json["data"]
    #expect(info["name"].string == "Haushalt €")
    #expect(info["encryptMeta"].isNull)
    #expect(try client.post("/sync/delete-user-file", ["fileId": .string(Self.file)]).status == 200)
    #expect(try client.download(Self.file).text == "User or file not found")
    #expect(try ada.usage() == before)
    _ = try client.create(Self.file)
  }

  @Test func `a budget whose log a device deletes is gone, and its id is free`() throws {
    let server = try Self.server(.sqlite)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    _ = try client.create(Self.file)
    let log = try #require(try ada.get("/v1/logs").json["logs"][0]["id"].string)
    #expect(try ada.send(ada.sign("DELETE", "/v1/logs/\(log)")).status == 204)
    #expect(try client.download(Self.file).text == "User or file not found")
    _ = try client.create(Self.file)
    #expect(try ada.get("/v1/logs").json["logs"].array?.count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `a device appends to a budget's log, and neither replaces the budget nor begins an epoch`(
    engine: TestEngine
  ) throws {
    let server = try Self.server(engine)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    let group = try client.create(Self.file, [7, 8, 9])
    let listed = try ada.get("/v1/logs").json["logs"][0]
    let log = KnownLog(
      id: try #require(listed["id"].string.flatMap(Identifier.init)),
      epoch: try #require(listed["epoch"].string.flatMap(Identifier.init)))
    // As content a device gives what an envelope has besides the timestamp.
    let message = SentMessage(server.stamp(.seconds(-1)), ActualClient.field(3, [9]))
    try ada.append([message], to: log).requireSuccess()
    let cursor = try #require(try ada.page(of: log, "").json["cursor"].string)
    for refused in [
      try ada.putSnapshot([1], of: log, covering: cursor),
      try ada.send(ada.epochRequest(of: log, covering: cursor)),
    ] {
      #expect(refused.status == 409)
      #expect(try refused.problem == "log_is_budget")
    }
    // Clients have the budget that they can open, and the group that they know.
    #expect(try client.download(Self.file).body == [7, 8, 9])
    let synced = try client.sync(Self.file, group: group)
    #expect(synced.status == 200)
    let trie = try #require(synced.text.firstMatch(of: #/{"hash".*/#)).0
    #expect(synced.holds(Self.answer([SentMessage(message.t, [9])], String(trie))))
  }

  @Test(arguments: TestEngine.available)
  func `two clients exchange messages, and neither gets back what it just sent`(
    engine: TestEngine
  ) throws {
    let server = try Self.server(engine)
    let ada = try server.register()
    let (one, two) = (try ActualClient(server, of: ada), try ActualClient(server, of: ada))
    let group = try one.create(Self.file)
    let empty = try one.sync(Self.file, group: group)
    #expect(empty.holds(Self.answer([], "{}")))
    #expect(empty.header("Content-Type") == "application/actual-sync")
    #expect(empty.header("X-ACTUAL-SYNC-METHOD") == "simple")
    let first = SentMessage(server.stamp(), [1, 2, 3])
    let second = SentMessage(server.stamp(counter: 1, node: "fedcba9876543210"), [4])
    let sent = try one.sync(Self.file, group: group, [first])
    #expect(sent.status == 200)
    #expect(!sent.holds(Self.answer([first], "{}")) && sent.body.starts(with: [0x12]))
    let answered = try two.sync(Self.file, group: group, [second])
    #expect(answered.body.starts(with: ActualClient.envelopes([first])))
    let pulled = try one.sync(Self.file, group: group)
    #expect(pulled.body.starts(with: ActualClient.envelopes([first, second])))
    #expect(Self.root(pulled) == Self.root(answered))
    let again = try two.sync(Self.file, group: group, [second, second], since: second.t)
    #expect(Self.root(again) == Self.root(pulled))
    #expect(
      try one.sync(Self.file, group: group, since: first.t).body.starts(
        with: ActualClient.envelopes([second])))
    #expect(try MessageLogs.faults(of: ada.account, in: server.database) == [])
  }

  @Test(arguments: TestEngine.available)
  func `a long answer is sent in blocks, to its last byte`(engine: TestEngine) throws {
    let server = try Self.server(engine)
    let client = try ActualClient(server, of: server.register())
    let group = try client.create(Self.file)
    let sizes = [
      0, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 16_300, 16_330, 16_331, 16_333, 60_000,
    ]
    let messages = (0..<150).map { index in
      SentMessage(
        server.stamp(counter: index), [UInt8](repeating: 5, count: sizes[index % sizes.count]))
    }
    #expect(try client.sync(Self.file, group: group, messages).status == 200)
    let answer = try client.sync(Self.file, group: group)
    #expect(answer.status == 200)
    #expect(answer.body.count > 1 << 20)
    let whole = messages.flatMap { message in
      ActualClient.field(
        1,
        ActualClient.field(1, Array(message.t.utf8))
          + (message.c.isEmpty ? [] : ActualClient.field(3, message.c)))
    }
    #expect(answer.body.starts(with: whole))
    #expect(answer.header("Content-Length") == "\(answer.body.count)")
    #expect(answer.body[whole.count] == 0x12)
  }

  @Test(arguments: TestEngine.available)
  func `a reset waits for its upload, and other clients learn of it`(engine: TestEngine) throws {
    let server = try Self.server(engine)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    let group = try client.create(Self.file)
    let message = SentMessage(server.stamp())
    #expect(try client.sync(Self.file, group: group, [message]).status == 200)
    #expect(try client.upload(Self.file, [1]).text == "file-has-reset")
    #expect(try client.upload(Self.file, [1, 2], group: group).status == 200)
    #expect(
      try client.sync(Self.file, group: group).body.starts(
        with: ActualClient.envelopes([message])))
    #expect(try client.post("/sync/reset-user-file", ["fileId": .string(Self.file)]).status == 200)
    #expect(try client.sync(Self.file, group: group).text == "file-needs-upload")
    #expect(try client.upload(Self.file, [1], group: group).text == "file-has-reset")
    let fresh = try client.create(Self.file, [3])
    #expect(fresh != group)
    #expect(try client.sync(Self.file, group: group).text == "file-has-reset")
    #expect(try client.sync(Self.file, group: fresh).holds(Self.answer([], "{}")))
    #expect(try client.download(Self.file).holds([3]))
    #expect(try MessageLogs.faults(of: ada.account, in: server.database) == [])
  }

  @Test(arguments: TestEngine.available)
  func `a budget whose reset an operator takes back has its messages again`(engine: TestEngine)
    throws
  {
    let server = try Self.server(engine)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    let group = try client.create(Self.file)
    let message = SentMessage(server.stamp())
    #expect(try client.sync(Self.file, group: group, [message]).status == 200)
    #expect(try client.post("/sync/reset-user-file", ["fileId": .string(Self.file)]).status == 200)
    let fresh = try client.create(Self.file, [3])
    try Self.restore(server, ada)
    #expect(try client.sync(Self.file, group: fresh).text == "file-has-reset")
    #expect(
      try client.sync(Self.file, group: group).body.starts(
        with: ActualClient.envelopes([message])))
  }

  @Test(arguments: TestEngine.available)
  func `a restored budget has the key and the encryption of its own snapshot`(engine: TestEngine)
    throws
  {
    let server = try Self.server(engine)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    _ = try client.create(Self.file)
    func encrypt(_ key: String, resettingFirst: Bool) throws -> String {
      func reset() throws {
        _ = try client.post("/sync/reset-user-file", ["fileId": .string(Self.file)])
      }
      if resettingFirst { try reset() }
      _ = try client.post(
        "/sync/user-create-key",
        [
          "fileId": .string(Self.file), "keyId": .string(key), "keySalt": .string("salt of \(key)"),
          "testContent": "{}",
        ])
      if !resettingFirst { try reset() }
      return try #require(try client.upload(Self.file, [9], key: key).json["groupId"].string)
    }
    func expectEpoch(_ group: String, _ key: String) throws {
      #expect(try client.sync(Self.file, group: group, key: key).status == 200)
      let known = try client.post("/sync/user-get-key", ["fileId": .string(Self.file)])
      #expect(try known.json["data"]["salt"].string == "salt of \(key)")
      let info = try client.send(
        "GET", "/sync/get-user-file-info", [("X-ACTUAL-FILE-ID", Self.file)])
      #expect(try info.json["data"]["encryptMeta"]["keyId"].string == key)
    }
    // Actual's apps reset first. actualpy registers its key first.
    let old = try encrypt("old", resettingFirst: true)
    let new = try encrypt("new", resettingFirst: false)
    try expectEpoch(new, "new")
    try Self.restore(server, ada)
    try expectEpoch(old, "old")
    try Self.restore(server, ada)
    try expectEpoch(new, "new")
    #expect(try server.count("actual_epochs") == 2)
  }

  @Test func `a key that clients encrypt with goes along with the budget`() throws {
    let server = try Self.server()
    let client = try ActualClient(server, of: server.register())
    let group = try client.create(Self.file)
    func key() throws -> String {
      try client.post("/sync/user-get-key", ["fileId": .string(Self.file)]).text
    }
    #expect(try key() == #"{"status":"ok","data":{"id":null,"salt":null,"test":null}}"#)
    let created = try client.post(
      "/sync/user-create-key",
      ["fileId": .string(Self.file), "keyId": "k", "keySalt": "s", "testContent": "{}"])
    #expect(created.text == #"{"status":"ok"}"#)
    #expect(try key() == #"{"status":"ok","data":{"id":"k","salt":"s","test":"{}"}}"#)
    #expect(try client.sync(Self.file, group: group).text == "file-key-mismatch")
    #expect(try client.upload(Self.file, [1], group: group).text == "file-has-new-key")
    _ = try client.post("/sync/reset-user-file", ["fileId": .string(Self.file)])
    let answer = try client.upload(Self.file, [9], key: "k")
    let fresh = try #require(try answer.json["groupId"].string)
    #expect(try client.sync(Self.file, group: fresh).text == "file-has-new-key")
    #expect(try client.sync(Self.file, group: fresh, key: "k").status == 200)
    let info = try client.send(
      "GET", "/sync/get-user-file-info", [("X-ACTUAL-FILE-ID", Self.file)]
    ).json["data"]["encryptMeta"]
    #expect(info["keyId"].string == "k")
    #expect(info["algorithm"].string == "aes-256-gcm")
  }

  @Test func `another account's budget does not exist, and its id may be used`() throws {
    let server = try Self.server()
    let ada = try ActualClient(server, of: server.register())
    let bob = try ActualClient(server, of: server.register())
    let group = try ada.create(Self.file, [1])
    #expect(try bob.download(Self.file).text == "User or file not found")
    #expect(try bob.sync(Self.file, group: group).text == "file-not-found")
    #expect(
      try bob.post("/sync/delete-user-file", ["fileId": .string(Self.file)]).text
        == "file-not-found")
    #expect(try bob.send("GET", "/sync/list-user-files").json["data"].array?.isEmpty == true)
    _ = try bob.create(Self.file, [2])
    #expect(try ada.download(Self.file).holds([1]))
    #expect(try bob.download(Self.file).holds([2]))
  }

  @Test(arguments: TestEngine.available)
  func `at the cap nothing grows, and a reset makes room`(engine: TestEngine) throws {
    let server = try Self.server(engine, freeByteCount: 100_000)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    let group = try client.create(Self.file, [UInt8](repeating: 1, count: 1000))
    #expect(try client.upload("other", [UInt8](repeating: 1, count: 200_000)).text == "over-cap")
    var counter = 0
    while true {
      counter += 1
      let answer = try client.sync(
        Self.file, group: group,
        [SentMessage(server.stamp(counter: counter), [UInt8](repeating: 1, count: 60_000))])
      guard answer.status != 200 else { continue }
      #expect(answer.status == 507)
      #expect(answer.text == "over-cap")
      break
    }
    #expect(try ada.usage() > 1 << 20)
    #expect(try client.sync(Self.file, group: group).status == 200)
    #expect(try client.post("/sync/reset-user-file", ["fileId": .string(Self.file)]).status == 200)
    // It is larger than the one before, and takes the place of the messages, too.
    #expect(try client.upload(Self.file, [UInt8](repeating: 2, count: 50_000)).status == 200)
    #expect(try ada.usage() < 100_000)
  }

  @Test func `what is wrong is refused by its text, and never as a failure of the server`() throws {
    let server = try Self.server()
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    let group = try client.create(Self.file)
    let ahead = SentMessage(server.stamp(.minutes(11)))
    #expect(try client.sync(Self.file, group: group, [ahead]).text == "clock-drift")
    #expect(try client.sync(Self.file, group: group, [SentMessage("now")]).status == 422)
    #expect(try client.sync(Self.file, group: group, since: "").text.contains("since-required"))
    #expect(try client.sync("../x", group: group).text == "invalid fileId")
    #expect(try client.send("POST", "/sync/sync", [], [0xFF, 0xFF]).status == 422)
    #expect(try client.upload("a b", [1]).text == "invalid fileId")
    #expect(try client.upload(Self.file, [1], name: "%FF").text == "invalid x-actual-name")
    let empty = try client.upload(Self.file, [], group: group)
    #expect(empty.status == 400)
    #expect(empty.text == #"{"status":"error","reason":"invalid-body"}"#)
    #expect(try client.download(Self.file).holds([1, 2, 3]))
    for body in ["", "{", "[]", "null", #"{"fileId":7}"#, #"{"fileId":"none"}"#] {
      for path in ["delete-user-file", "reset-user-file", "user-get-key", "user-create-key"] {
        let answer = try client.send("POST", "/sync/\(path)", [], Array(body.utf8))
        #expect(400..<500 ~= answer.status, "\(path) \(body)")
      }
    }
    try server.suspend(ada.account, since: server.clock.now)
    let message = SentMessage(server.stamp())
    #expect(try client.sync(Self.file, group: group, [message]).text == "account-suspended")
    #expect(try client.sync(Self.file, group: group).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `budgets arrive from an archive with their keys, and passwords stay behind`(
    engine: TestEngine
  ) throws {
    let server = try Self.server(engine)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    _ = try client.create(Self.file)
    _ = try client.post(
      "/sync/user-create-key",
      ["fileId": .string(Self.file), "keyId": "k", "keySalt": "s", "testContent": "{}"])
    _ = try client.post("/sync/reset-user-file", ["fileId": .string(Self.file)])
    _ = try client.upload(Self.file, [9, 9], key: "k")
    _ = try client.upload("other", [1])
    _ = try client.post("/sync/reset-user-file", ["fileId": "other"])
    let path = "\(server.directory)/export.tar"
    let writer = try ArchiveWriter(path, kind: "test", format: 1, at: server.clock.now)
    let objects = try server.database.read { [account = try ada.account] reader in
      _ = try ActualDoor.export(account, from: reader, to: writer) { _ in }
      return try MessageLogs.export(account, from: reader, to: writer) { _ in }.objects
    }
    _ = try writer.finish()
    #expect(!(Files.text(path) ?? "cap-").contains("cap-"))
    let archive = try ArchiveReader(path, kind: "test", format: 1)
    func json(_ name: String) throws -> JSON {
      try JSON.parse(archive.bytes(of: #require(archive.file(named: name))))
    }
    let pages: ArrivingLogs.Pages = { _, _ in }
    let logs = try ArrivingLogs(
      json("logs.json"), pages: pages,
      snapshots: Dictionary(uniqueKeysWithValues: objects.map { ($0.file, $0.byteCount) }),
      sequence: 100)
    let budgets = try ArrivingBudgets(json("budgets.json"), of: logs)
    let none = try ArrivingLogs(nil, pages: pages, snapshots: [:], sequence: 1)
    #expect(throws: JSONError.self) { try ArrivingBudgets(json("budgets.json"), of: none) }
    let target = try Self.server(engine)
    let owner = try target.register()
    let account = try owner.account
    let keys = Dictionary(
      uniqueKeysWithValues: objects.map { ($0.file, Random.identifier()) })
    try target.database.write(for: nil) { transaction in
      try logs.insert(
        of: account, pages: { _, _ in }, objects: keys, at: Instant(seconds: 0), in: transaction)
      try budgets.insert(of: account, in: transaction)
    }
    let there = try ActualClient(target, of: owner)
    let listed = try there.send("GET", "/sync/list-user-files").json["data"]
    #expect(listed[0]["fileId"].string == Self.file)
    #expect(listed[0]["encryptKeyId"].string == "k")
    #expect(listed[1]["groupId"].isNull)
    let group = try #require(listed[0]["groupId"].string)
    #expect(try there.sync(Self.file, group: group, key: "k").status == 200)
    #expect(try there.sync("other", group: group).text == "file-needs-upload")
    #expect(try ActualDoor.faults(of: account, in: target.database) == [])
  }

  @Test(arguments: TestEngine.available)
  func `an account's erasure takes its passwords and budgets along`(engine: TestEngine) throws {
    let server = try Self.server(engine)
    let ada = try server.register()
    let client = try ActualClient(server, of: ada)
    _ = try client.create(Self.file)
    #expect(try ada.send(ada.sign("DELETE", "/v1/account")).status == 202)
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
    #expect(try client.send("GET", "/sync/list-user-files").status == 401)
    for table in [
      "app_passwords", "app_tokens", "actual_files", "actual_epochs", "log_snapshots",
    ] {
      let count = try server.database.read { reader in
        try reader.first("SELECT count(*) FROM sync.\(table)") { row in try row.integer(0) }
      }
      #expect(count == 0, "\(table)")
    }
  }
}
