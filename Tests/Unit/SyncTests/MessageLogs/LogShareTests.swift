import Accounts
import Base
import Crypto
import JSON
import Logs
import RawClient
import Requests
import Storage
import Streams
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers

/// Logs that other accounts may read, or append to.
@Suite struct LogShareTests {
  /// Alice's log with one message, and Bob.
  private struct Scene {
    let server: TestServer
    let alice: TestDevice
    let bob: TestDevice
    let log: KnownLog
    let message: SentMessage

    init(
      _ engine: TestEngine = .sqlite, freeByteCount: Int64 = 1_000_000,
      limits: SyncLimits = SyncLimits(), freeLimits: Plan.Limits = .init()
    ) throws {
      server = try TestServer(
        engine, freeByteCount: freeByteCount, freeLimits: freeLimits, limits: limits)
      (alice, bob) = (try server.register(), try server.register())
      log = try alice.createLog()
      message = SentMessage(server.stamp(.seconds(-1)))
      try alice.append([message], to: log).requireSuccess()
    }

    /// Everything that a refused request could have changed.
    func state() throws -> String {
      let rows = try server.database.read { reader in
        try reader.rows(
          """
          SELECT log_id, account_id, share_key, state FROM sync.log_shares
          ORDER BY log_id, account_id
          """
        ) { row in
          try "\(row.id(0)) \(row.id(1)) \(row.blob(2)) \(row.text(3))"
        }
      }
      return try server.state() + "\n\(rows)\n\(alice.messages(of: log))"
    }
  }

  @Test(arguments: TestEngine.available)
  func `a log is offered, accepted, read and given up`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    let granted = try alice.grantLog(log, to: bob.account)
    #expect(granted.status == 200)
    #expect(try granted.json["state"].string == "pending")
    let offered = try bob.get("/v1/logs").json
    #expect(offered["logs"].array?.isEmpty == true)
    let invitation = offered["invitations"][0]
    #expect(invitation["log"].string == log.id.description)
    #expect(invitation["owner"].string == (try alice.account.description))
    #expect(invitation["name"].base64 == [1, 2, 3])
    #expect(invitation["key"].base64 == [7])
    // An invitation shows no more than itself.
    for part in ["", "/messages", "/trie", "/shares", "/snapshot"] {
      #expect(try bob.get(log.path + part).problem == "log_not_found")
    }
    #expect(try bob.acceptLog(log).json["state"].string == "accepted")
    let list = try bob.get("/v1/logs").json
    #expect(list["invitations"].array?.isEmpty == true)
    #expect(list["logs"][0]["owner"].string == (try alice.account.description))
    #expect(list["logs"][0]["access"].string == "read")
    #expect(list["logs"][0]["key"].base64 == [7])
    #expect(try bob.messages(of: log) == [scene.message])
    #expect(try bob.messages(of: log, since: LogTests.zero).messages == [scene.message])
    #expect(try bob.get("\(log.path)/trie").holds(alice.get("\(log.path)/trie").body))
    #expect(try bob.get(log.path).json["root"].integer == alice.get(log.path).json["root"].integer)
    #expect(try bob.endLogShare(log, with: bob.account).status == 204)
    #expect(try bob.get(log.path).problem == "log_not_found")
    #expect(try alice.shareStates(of: log) == [])
  }

  @Test(arguments: TestEngine.available)
  func `what a sharee appends is read by all, and the owner is charged`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    try alice.shareLog(log, with: bob, mode: "write")
    let before = (try alice.usage(), try bob.usage())
    let written = SentMessage(scene.server.stamp(), [9, 9])
    try bob.append([written], to: log).requireSuccess()
    #expect(try alice.messages(of: log) == [scene.message, written])
    #expect(try bob.messages(of: log) == [scene.message, written])
    #expect(try alice.usage() == before.0 + written.charge)
    #expect(try bob.usage() == before.1)
    #expect(try MessageLogs.faults(of: alice.account, in: scene.server.database) == [])
  }

  @Test(arguments: TestEngine.available)
  func `what a share does not permit is refused, and nothing is written`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    let cursor = try #require(try alice.page(of: log, "").json["cursor"].string)
    try alice.putSnapshot([1], of: log, covering: cursor).requireSuccess()
    let append = [SentMessage(scene.server.stamp())]
    for mode in ["read", "write"] {
      try alice.shareLog(log, with: bob, mode: mode)
      let state = try scene.state()
      var refused = [
        try bob.remove(log.path), try bob.putSnapshot([2], of: log, covering: cursor),
        try bob.send(bob.epochRequest(of: log, covering: cursor)),
        try bob.send(bob.sign("PUT", "\(log.path)/key", body: Array("{\"key\":null}".utf8))),
        try bob.grantLog(log, to: Random.identifier()),
        try bob.endLogShare(log, with: alice.account),
      ]
      if mode == "read" { refused.append(try bob.append(append, to: log)) }
      for answer in refused {
        #expect(answer.status == 403)
        #expect(try answer.problem == "not_permitted")
      }
      #expect(try scene.state() == state)
    }
    #expect(try bob.get("\(log.path)/snapshot").holds([1]))
    try bob.append(append, to: log).requireSuccess()
  }

  @Test(arguments: TestEngine.available)
  func `a stranger, an invited account and a former sharee append and change nothing`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    let eve = try scene.server.register()
    func isShutOut(_ device: TestDevice) throws {
      let state = try scene.state()
      for answer in [
        try device.append([SentMessage(scene.server.stamp())], to: log),
        try device.remove(log.path), try device.get("\(log.path)/messages"),
        try device.grantLog(log, to: eve.account, mode: "write"),
        try device.endLogShare(log, with: alice.account),
      ] {
        #expect(answer.status == 404)
        #expect(try answer.problem == "log_not_found")
      }
      #expect(try scene.state() == state)
    }
    try isShutOut(eve)
    #expect(try eve.acceptLog(log).problem == "log_not_found")
    try alice.grantLog(log, to: bob.account, mode: "write").requireSuccess()
    try isShutOut(bob)
    #expect(try eve.putShare(log, bob.account, ["state": "accepted"]).problem == "log_not_found")
    try bob.acceptLog(log).requireSuccess()
    try bob.append([SentMessage(scene.server.stamp())], to: log).requireSuccess()
    #expect(try alice.endLogShare(log, with: bob.account).status == 204)
    try isShutOut(bob)
    #expect(try bob.acceptLog(log).problem == "log_not_found")
    #expect(try alice.endLogShare(log, with: bob.account).problem == "share_not_found")
  }

  @Test func `a grant that its author did not sign is refused`() throws {
    let scene = try Scene()
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    let account = try bob.account
    let other = try alice.createLog()
    for forged in [
      alice.logGrant(log, to: account, signer: bob), alice.logGrant(other, to: account),
      try alice.logGrant(log, to: alice.account),
      alice.logGrant(log, to: account).setting("$.mode", to: "write"),
      alice.logGrant(log, to: account).setting("$.key", to: .base64([8])),
    ] {
      let refused = try alice.putShare(log, account, forged)
      #expect(refused.status == 400)
      #expect(try refused.json["errors"][0]["path"].string == "$.signature")
    }
    #expect(try alice.shareStates(of: log) == [])
    try alice.grantLog(log, to: account).requireSuccess()
  }

  @Test func `a grant again changes mode and key, and the share stays accepted`() throws {
    let scene = try Scene()
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    try alice.shareLog(log, with: bob)
    let again = try alice.putShare(
      log, bob.account, alice.logGrant(log, to: bob.account, mode: "write", key: [8]))
    #expect(try again.json["state"].string == "accepted")
    #expect(try bob.get(log.path).json["access"].string == "write")
    #expect(try bob.get(log.path).json["key"].base64 == [8])
    // Another account that reads the log does not learn who else does.
    let carol = try scene.server.register()
    try alice.shareLog(log, with: carol)
    #expect(try alice.shareStates(of: log) == ["accepted", "accepted"])
    #expect(try bob.shareStates(of: log) == ["accepted"])
  }

  @Test func `an owner shares with others that exist`() throws {
    let scene = try Scene()
    let (alice, log) = (scene.alice, scene.log)
    #expect(try alice.grantLog(log, to: alice.account).problem == "share_with_owner")
    #expect(try alice.grantLog(log, to: Random.identifier()).problem == "account_not_found")
    #expect(
      try alice.send(alice.sign("DELETE", "\(log.path)/shares/none")).problem
        == "account_not_found")
  }

  @Test(arguments: TestEngine.available)
  func `neither a suspended owner's log nor a suspended sharee is written for`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    try alice.shareLog(log, with: bob, mode: "write")
    for suspended in [alice, bob] {
      try scene.server.suspend(suspended.account, since: scene.server.clock.now)
      let refused = try bob.append([SentMessage(scene.server.stamp())], to: log)
      #expect(refused.status == 403)
      #expect(try refused.problem == "account_suspended")
      #expect(try bob.messages(of: log) == [scene.message])
      try scene.server.suspend(suspended.account, since: nil)
    }
    try scene.server.suspend(alice.account, since: scene.server.clock.now)
    #expect(try alice.grantLog(log, to: bob.account).problem == "account_suspended")
    #expect(try alice.endLogShare(log, with: bob.account).status == 204)
  }

  @Test(arguments: TestEngine.available)
  func `a sharee that fills the owner's cap is told no more than that`(engine: TestEngine) throws {
    let scene = try Scene(engine, freeByteCount: 10_000)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    try alice.shareLog(log, with: bob, mode: "write")
    var (counter, answer) = (0, try bob.get(log.path))
    while answer.status == 200 {
      counter += 1
      let content = [UInt8](repeating: 1, count: 65_000)
      answer = try bob.append(
        [SentMessage(scene.server.stamp(counter: counter), content)], to: log)
    }
    #expect(answer.status == 507)
    #expect(try answer.json["owner"].string == (try alice.account.description))
    #expect(try !answer.json["usage"].exists)
    // Messages alone may go a mebibyte above the cap, whoever appends them.
    #expect(counter == 17)
  }

  // MARK: Strangers

  @Test(arguments: TestEngine.available)
  func `invitations to logs and to files count together`(engine: TestEngine) throws {
    var limits = SyncLimits()
    limits.openInvitationCountMax = 2
    let scene = try Scene(engine, limits: limits)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    let strangers = try (0..<2).map { _ in try scene.server.register() }
    try alice.grant(alice.add(), to: strangers[0].account).requireSuccess()
    try alice.grantLog(log, to: bob.account).requireSuccess()
    let file = try alice.add()
    let state = try scene.state()
    let refused = try alice.grantLog(log, to: strangers[1].account)
    #expect(refused.status == 409)
    #expect(try refused.problem == "too_many_invitations")
    #expect(try alice.grant(file, to: strangers[1].account).rules == ["too_many_invitations"])
    #expect(try scene.state() == state)
    // A contact is no stranger, whatever was shared first.
    try bob.acceptLog(log).requireSuccess()
    for _ in 0..<3 { try alice.grant(alice.add(), to: bob.account).requireSuccess() }
    try alice.grantLog(log, to: strangers[1].account).requireSuccess()
  }

  @Test func `an account invites a limited number of strangers a day`() throws {
    var limits = SyncLimits()
    limits.invitationsPerDay = 1
    let scene = try Scene(limits: limits)
    try scene.alice.grantLog(scene.log, to: scene.bob.account).requireSuccess()
    try scene.alice.endLogShare(scene.log, with: scene.bob.account).requireSuccess()
    let refused = try scene.alice.grantLog(scene.log, to: scene.bob.account)
    #expect(refused.status == 429)
    #expect(try refused.problem == "sharing_limited")
  }

  @Test(arguments: TestEngine.available)
  func `a blocked account invites no more, and its accepted share stays`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    let (offered, other) = (try alice.createLog(), try alice.createLog())
    try alice.shareLog(log, with: bob)
    try alice.grantLog(offered, to: bob.account).requireSuccess()
    try bob.send(bob.sign("PUT", "/v1/blocks/\(try alice.account)")).requireSuccess()
    let state = try scene.state()
    for refused in [
      try alice.grantLog(other, to: bob.account),
      try alice.grantLog(offered, to: bob.account, mode: "write"),
    ] {
      #expect(refused.status == 409)
      #expect(try refused.problem == "invitation_not_taken")
    }
    #expect(try scene.state() == state)
    try alice.grantLog(log, to: bob.account, mode: "write").requireSuccess()
    #expect(try bob.messages(of: log) == [scene.message])
    try bob.endLogShare(offered, with: bob.account).requireSuccess()
  }

  @Test func `a plan's shares are those of files and of logs`() throws {
    let scene = try Scene(freeLimits: .init(shareCount: 1))
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    try alice.grant(alice.add(), to: bob.account).requireSuccess()
    let refused = try alice.grantLog(log, to: bob.account)
    #expect(refused.status == 409)
    #expect(try refused.problem == "too_many_shares")
    #expect(try alice.shareStates(of: log) == [])
  }

  // MARK: Ends

  @Test(arguments: TestEngine.available)
  func `a deleted log takes its shares with it`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    let carol = try scene.server.register()
    try alice.shareLog(log, with: bob, mode: "write")
    try alice.grantLog(log, to: carol.account).requireSuccess()
    #expect(try alice.remove(log.path).status == 204)
    for device in [bob, carol] {
      let list = try device.get("/v1/logs").json
      #expect(list["logs"].array?.isEmpty == true)
      #expect(list["invitations"].array?.isEmpty == true)
    }
    #expect(try bob.append([SentMessage(scene.server.stamp())], to: log).problem == "log_not_found")
  }

  @Test(arguments: TestEngine.available, [false, true])
  func `the erasure of either account ends a share, and leaves the other's log`(
    engine: TestEngine, isOwner: Bool
  ) throws {
    let scene = try Scene(engine)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    try alice.shareLog(log, with: bob, mode: "write")
    #expect(try (isOwner ? alice : bob).remove("/v1/account").status == 202)
    scene.server.clock.advance(.days(8))
    try scene.server.sweeper().sweepErasures()
    let list = try (isOwner ? bob : alice).get("/v1/logs").json
    #expect(list["logs"].array?.count == (isOwner ? 0 : 1))
    if !isOwner {
      #expect(try alice.shareStates(of: log) == [])
      #expect(try alice.messages(of: log) == [scene.message])
    }
  }

  @Test(arguments: TestEngine.available)
  func `a deletion's effects name the accounts that lose a log`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    let file = try alice.add()
    try alice.grant(file, to: bob.account).requireSuccess()
    try alice.shareLog(log, with: bob)
    let told = try alice.get("/v1/account/deletion").json
    #expect(told["shares"].integer == 2)
    #expect(told["shared_with"][0]["file"].string == file.description)
    #expect(told["shared_with"][1]["log"].string == log.id.description)
    #expect(told["shared_with"][1]["account"].string == (try bob.account.description))
  }

  @Test(arguments: TestEngine.available)
  func `a sharee sees that the owner is leaving, until that is cancelled or over`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (alice, bob, log) = (scene.alice, scene.bob, scene.log)
    let carol = try scene.server.register()
    try alice.shareLog(log, with: bob)
    try alice.grantLog(log, to: carol.account).requireSuccess()
    func told(_ device: TestDevice) throws -> [String] {
      try device.get("/v1/logs").json["leaving"].requireArray().compactMap { $0["owner"].string }
    }
    #expect(try told(bob) == [])
    #expect(try alice.remove("/v1/account").status == 202)
    #expect(try told(bob) == [alice.account.description])
    let erases = (scene.server.clock.now + .days(7)).description
    #expect(try bob.get("/v1/logs").json["leaving"][0]["erases"].string == erases)
    #expect(try bob.messages(of: log) == [scene.message])
    // Who has not accepted the share sees nothing of the log that would be lost.
    #expect(try told(carol) == [])
    #expect(try told(alice) == [])
    #expect(try alice.remove("/v1/account/deletion").status == 204)
    #expect(try told(bob) == [])
    #expect(try alice.remove("/v1/account").status == 202)
    scene.server.clock.advance(.days(8))
    try scene.server.sweeper().sweepErasures()
    #expect(try told(bob) == [])
  }

  @Test(arguments: TestEngine.available)
  func `a share of a log that does not exist is found and repaired`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let (alice, log) = (scene.alice, scene.log)
    let whole = try alice.createLog()
    for shared in [log, whole] { try alice.shareLog(shared, with: scene.bob) }
    let database = scene.server.database
    try database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.log_shares SET log_id = $1 WHERE log_id = $2", .id(Random.identifier()),
        .id(log.id))
    }
    let listed = try scene.bob.get("/v1/logs").json["logs"].array ?? []
    #expect(listed.map { $0["id"].string } == [whole.id.description])
    #expect(try MessageLogs.faults(of: alice.account, in: database).count == 1)
    #expect(try MessageLogs.repairTotals(of: alice.account, in: database) == 1)
    #expect(try MessageLogs.faults(of: alice.account, in: database) == [])
  }

  // MARK: Live updates

  @Test(arguments: TestEngine.available)
  func `a sharee is told of the log that it sees, and of no other`(engine: TestEngine) throws {
    var silent = StreamLimits()
    silent.heartbeat = .hours(1)
    let server = try TestServer(engine, streams: silent)
    let (alice, bob) = (try server.register(), try server.register())
    let (log, hidden) = (try alice.createLog(), try alice.createLog())
    let stream = try RawStream.open(bob, server)
    // The look that finds the new share tells of more than has changed.
    func isTold() -> Bool {
      while let data = stream.next(), !data.contains("\(hidden.id)") {
        if data.contains("\(log.id)") { return true }
      }
      return false
    }
    try alice.grantLog(log, to: bob.account).requireSuccess()
    #expect(isTold())
    try bob.acceptLog(log).requireSuccess()
    #expect(isTold())
    try alice.append([SentMessage(server.stamp())], to: hidden).requireSuccess()
    for _ in 0..<2 {
      try alice.append([SentMessage(server.stamp())], to: log).requireSuccess()
      #expect(isTold())
    }
    try alice.endLogShare(log, with: bob.account).requireSuccess()
    #expect(isTold())
  }

  @Test(arguments: TestEngine.available)
  func `a sharee that listens is told when the owner is leaving, and when not`(
    engine: TestEngine
  ) throws {
    var silent = StreamLimits()
    silent.heartbeat = .hours(1)
    let server = try TestServer(engine, streams: silent)
    let (alice, bob) = (try server.register(), try server.register())
    let log = try alice.createLog()
    try alice.shareLog(log, with: bob)
    let stream = try RawStream.open(bob, server)
    // The news do not name a log, because the list of logs is what says so.
    func isTold() -> Bool {
      while let data = stream.next() {
        if data.contains(#""logs":true"#) { return true }
      }
      return false
    }
    #expect(try alice.remove("/v1/account").status == 202)
    #expect(isTold())
    #expect(try alice.remove("/v1/account/deletion").status == 204)
    #expect(isTold())
  }

  // MARK: Key

  @Test(arguments: TestEngine.available)
  func `a log's key is replaced and removed by its owner`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let (alice, log) = (scene.alice, scene.log)
    func put(_ body: JSONValue) throws -> Answer {
      try alice.send(alice.sign("PUT", "\(log.path)/key", body: body.encoded()))
    }
    #expect(try put(["key": .base64([4, 5])]).json["key"].base64 == [4, 5])
    #expect(try alice.get(log.path).json["key"].base64 == [4, 5])
    for bad: JSONValue in [[:], ["key": ""], ["key": .base64(Random.bytes(1025))], ["key": 1]] {
      #expect(try put(bad).problem == "body_invalid")
    }
    #expect(try alice.get(log.path).json["key"].base64 == [4, 5])
    #expect(try put(["key": .null]).status == 200)
    #expect(try alice.get(log.path).json["key"].isNull)
  }
}
