import Accounts
import Base
import Crypto
import HTTPServer
import JSON
import KeyBackup
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// The sealed key backup, and the way back in for whoever lost every device.
@Suite struct KeyRecoveryTests {
  /// An account with a device, a backup, and a recovery key of three days.
  private struct Scene {
    let server: TestServer
    let device: TestDevice
    let recovery: TestDevice
    let account: Identifier

    init(_ engine: TestEngine, delayDays: Int64 = 3) throws {
      server = try TestServer(engine)
      device = try server.register()
      account = try device.account
      recovery = server.device()
      try device.putBackup([1, 2, 3]).requireSuccess()
      try device.name(recovery.key, delayDays: delayDays).requireSuccess()
    }

    /// Lets time pass, and what was due happen.
    func wait(_ span: Instant.Span) throws {
      server.clock.advance(span)
      for work in KeyRecovery(server.api.host).upkeep { while try work.slice() {} }
    }

    /// As `coffer restore` does it. A device may have refused since the backup.
    func restore() throws {
      try server.database.write(for: nil) { transaction in
        _ = try transaction.execute(
          "UPDATE sync.history SET history_id = $1", .id(Random.identifier()))
      }
    }

    func rows() throws -> [Int64] {
      try [
        "recoveries", "recovery_keys", "key_backups", "device_keys", "sessions", "files", "nonces",
      ].map { try server.count($0) }
    }
  }

  @Test(arguments: TestEngine.available)
  func `a device stores the backup, its devices read it, and five versions are kept`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    #expect(try devices[0].get("/v1/key-backup").problem == "key_backup_not_found")
    for version in Int64(0)..<7 {
      let stored = try devices[0].putBackup([UInt8(version)], ifMatch: "\"\(version)\"")
      #expect(stored.status == 200)
      #expect(stored.header("ETag") == "\"\(version + 1)\"")
    }
    let newest = try devices[1].get("/v1/key-backup")
    #expect(newest.holds([6]))
    #expect(newest.header("ETag") == "\"7\"")
    #expect(try devices[1].get("/v1/key-backup?version=3").holds([2]))
    #expect(try devices[1].get("/v1/key-backup?version=2").problem == "key_backup_not_found")
    let listed = try devices[1].get("/v1/recovery").json["backups"].array ?? []
    #expect(listed.compactMap { $0["version"].integer } == [7, 6, 5, 4, 3])
    #expect(try devices[1].putBackup([9]).problem == "version_changed")
    #expect(try devices[1].putBackup([9], ifMatch: nil).problem == "precondition_required")
    let empty = try devices[1].putBackup([], ifMatch: "\"7\"")
    #expect(empty.status == 400)
    #expect(try empty.problem == "body_invalid")
    #expect(try devices[1].get("/v1/key-backup").holds([6]))
    let large = [UInt8](repeating: 1, count: 65_537)
    #expect(try devices[1].putBackup(large, ifMatch: "\"7\"").status == 413)
    #expect(try devices[1].putBackup(Array(large.dropLast()), ifMatch: "\"7\"").status == 200)
  }

  @Test(arguments: TestEngine.available)
  func
    `a recovery key waits for as long as its account chose, then reads the backup and lets a device in`(
      engine: TestEngine
    ) throws
  {
    let scene = try Scene(engine)
    let phone = scene.server.device()
    let asked = try scene.recovery.recover(scene.account, letting: phone)
    #expect(asked.status == 201)
    #expect(try asked.json["state"].string == "waiting")
    let opens = scene.server.clock.now + .days(3)
    #expect(try asked.json["opens"].string == opens.description)
    // All devices can read of it.
    let shown = try scene.device.get("/v1/recovery").json
    #expect(shown["recovery_key"]["recovery"]["delay_days"].integer == 3)
    #expect(shown["recoveries"][0]["device"].base64 == phone.key.publicKey.bytes)
    #expect(shown["recoveries"][0]["label"].string == "new phone")
    try scene.wait(.seconds(3 * 86_400 - 1))
    let early = try scene.recovery.get("/v1/key-backup")
    #expect(early.status == 403)
    #expect(try early.problem == "recovery_not_open")
    #expect(try early.json["opens"].string == opens.description)
    #expect(try phone.get("/v1/account").problem == "unknown_key")
    try scene.wait(.seconds(1))
    #expect(try scene.recovery.get("/v1/key-backup").holds([1, 2, 3]))
    #expect(try phone.account == scene.account)
    #expect(try phone.get("/v1/key-backup").holds([1, 2, 3]))
    #expect(try scene.device.recoveryStates() == ["open"])
    try scene.wait(.days(7))
    #expect(try scene.recovery.get("/v1/key-backup").problem == "recovery_not_open")
    #expect(try scene.device.recoveryStates() == ["ended"])
    #expect(try phone.get("/v1/account").status == 200)
    #expect(try KeyRecovery.faults(of: scene.account, in: scene.server.database) == [])
  }

  @Test(arguments: TestEngine.available)
  func `without a delay it happens at once`(engine: TestEngine) throws {
    let scene = try Scene(engine, delayDays: 0)
    let phone = scene.server.device()
    let asked = try scene.recovery.recover(scene.account, letting: phone)
    #expect(try asked.json["state"].string == "open")
    #expect(try phone.account == scene.account)
    #expect(try scene.recovery.get("/v1/key-backup").holds([1, 2, 3]))
  }

  @Test(arguments: TestEngine.available)
  func `any device refuses what waits, and nothing comes of it`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let second = scene.server.device(root: scene.device.root)
    try scene.device.admit(second).requireMade()
    let phone = scene.server.device()
    try scene.recovery.recover(scene.account, letting: phone).requireMade()
    #expect(try second.send(second.sign("DELETE", "/v1/recovery")).status == 204)
    try scene.wait(.days(4))
    #expect(try phone.get("/v1/account").problem == "unknown_key")
    #expect(try scene.recovery.get("/v1/key-backup").problem == "recovery_not_open")
    #expect(try scene.device.recoveryStates() == ["refused"])
    #expect(
      try second.send(second.sign("DELETE", "/v1/recovery")).problem == "recovery_not_found")
  }

  @Test(arguments: TestEngine.available)
  func `what waited in a backup never opens after a restore, and can be asked for again`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let phone = scene.server.device()
    try scene.recovery.recover(scene.account, letting: phone).requireMade()
    try scene.restore()
    // Nobody waits for what does not come.
    #expect(try scene.device.recoveryStates() == ["ended"])
    #expect(try scene.recovery.get("/v1/key-backup").json["opens"].isNull)
    scene.server.clock.advance(.days(3))
    #expect(try scene.recovery.get("/v1/key-backup").problem == "recovery_not_open")
    try scene.wait(.seconds(0))
    #expect(try phone.get("/v1/account").problem == "unknown_key")
    #expect(try scene.device.recoveryStates() == ["ended"])
    try scene.recovery.recover(scene.account).requireMade()
    try scene.restore()
    try scene.recovery.recover(scene.account, letting: phone).requireMade()
    #expect(try scene.device.recoveryStates() == ["waiting", "ended", "ended"])
    try scene.wait(.days(3))
    #expect(try phone.account == scene.account)
  }

  @Test(arguments: TestEngine.available)
  func `what waited in a backup has an end as soon as the server runs again`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    try scene.recovery.recover(scene.account).requireMade()
    try scene.restore()
    try scene.wait(.seconds(0))
    let recoveries = try scene.device.get("/v1/recovery").json["recoveries"]
    #expect(recoveries[0]["state"].string == "ended")
    #expect(recoveries[0]["ended"].string != nil)
  }

  @Test(arguments: TestEngine.available)
  func `a recovery key that is named again and again leaves no row for each time`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, delayDays: 0)
    let phone = scene.server.device()
    try scene.recovery.recover(scene.account, letting: phone).requireMade()
    let other = scene.server.device()
    for _ in 0..<3 {
      try scene.device.name(other.key, delayDays: 1).requireSuccess()
      try scene.device.name(scene.recovery.key, delayDays: 1).requireSuccess()
    }
    // The one that let the device in, and the one that may let in another.
    #expect(try scene.server.count("recovery_keys") == 2)
    let (devices, keys) = try scene.server.database.read { reader in
      (
        try Device.listAll(reader, of: scene.account),
        try RecoveryKey.inChains(reader, of: scene.account)
      )
    }
    #expect(Device.prove(scene.account, devices, keys))
  }

  @Test(arguments: TestEngine.available)
  func `a recovery key that tries anything else is refused, and nothing is written`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let key = scene.recovery
    let before = try scene.rows()
    let usage = try scene.device.usage()
    let attempts = [
      try key.get("/v1/account"), try key.get("/v1/updates"), try key.get("/v1/recovery"),
      try key.get("/v1/public"), try key.send(key.sign("POST", "/v1/sessions")),
      try key.send(key.sign("DELETE", "/v1/account")),
      try key.send(key.sign("DELETE", "/v1/recovery")),
      try key.send(key.sign("DELETE", "/v1/recovery-key")),
      try key.post("/v1/devices", scene.device.admission(of: scene.server.device().key)),
      try key.post("/v1/app-passwords", .object([])),
      try key.putBackup([9], ifMatch: "\"1\""),
      try key.send(
        key.sign(
          "PUT", "/v1/recovery-key",
          body: scene.device.naming(Ed25519PrivateKey(), delayDays: 0, by: key.key).encoded())),
      try key.put(scene.device.root, [1], ifMatch: "*"),
      try key.publish(Random.identifier(), [1]),
    ]
    for answer in attempts {
      #expect(answer.status == 401)
      #expect(try answer.problem == "recovery_key")
    }
    #expect(try key.post("/v1/accounts", ["root": .string(key.root.description)]).status == 409)
    // Nor does another's signature in its name pass, or a statement of another account.
    let phone = scene.server.device()
    #expect(
      try key.recover(scene.account, letting: phone, signedBy: phone.key).problem == "body_invalid")
    #expect(try key.recover(Random.identifier(), letting: phone).problem == "body_invalid")
    #expect(try key.recover(scene.account, letting: scene.device).problem == "key_registered")
    #expect(try key.get("/v1/key-backup").problem == "recovery_not_open")
    #expect(try scene.rows() == before)
    #expect(try scene.device.usage() == usage)
  }

  @Test(arguments: TestEngine.available)
  func `only a recovery key asks, and only while no other recovery is under way`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let stranger = scene.server.device()
    #expect(
      try scene.device.recover(scene.account, letting: stranger).problem == "recovery_key_required")
    #expect(try stranger.recover(scene.account, letting: stranger).problem == "unknown_key")
    let asking = scene.recovery.sign("POST", "/v1/recovery", body: Array("{}".utf8))
    let first = try scene.recovery.send(asking)
    #expect(first.status == 201)
    #expect(try scene.recovery.send(asking).holds(first.body))
    #expect(try scene.recovery.recover(scene.account).problem == "recovery_under_way")
    #expect(try scene.server.count("recoveries") == 1)
  }

  @Test(arguments: TestEngine.available)
  func
    `an account's key asks three times a day, and an address twenty times in a quarter of an hour`(
      engine: TestEngine
    ) throws
  {
    let scene = try Scene(engine)
    for _ in 0..<3 {
      try scene.recovery.recover(scene.account).requireMade()
      #expect(try scene.device.send(scene.device.sign("DELETE", "/v1/recovery")).status == 204)
    }
    scene.server.clock.advance(.milliseconds(1))
    let refused = try scene.recovery.recover(scene.account)
    #expect(refused.status == 429)
    #expect(try refused.problem == "recovery_limited")
    #expect(refused.header("Retry-After") == "86400")
    try scene.wait(.days(1))
    try scene.recovery.recover(scene.account).requireMade()

    let proxied = try TestServer(
      engine, trustedProxies: [try #require(AddressRange("127.0.0.1"))])
    let stranger = proxied.device()
    let problems = try (0..<21).map { _ in
      try stranger.recover(scene.account).problem
    }
    #expect(problems.dropLast().allSatisfy { $0 == "unknown_key" })
    #expect(problems.last == "recovery_limited")
  }

  @Test(arguments: TestEngine.available)
  func `another recovery key, or none, takes effect at once and ends what waits`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    try scene.recovery.recover(scene.account, letting: scene.server.device()).requireMade()
    let other = scene.server.device()
    try scene.device.name(other.key, delayDays: 1).requireSuccess()
    #expect(try scene.device.recoveryStates() == ["ended"])
    #expect(try scene.recovery.recover(scene.account).problem == "unknown_key")
    #expect(try scene.recovery.get("/v1/account").problem == "unknown_key")
    try other.recover(scene.account).requireMade()
    #expect(
      try scene.device.send(scene.device.sign("DELETE", "/v1/recovery-key")).status == 204)
    #expect(try scene.device.recoveryStates() == ["ended", "ended"])
    try scene.wait(.days(2))
    #expect(try other.get("/v1/key-backup").problem == "unknown_key")
    #expect(
      try scene.device.send(scene.device.sign("DELETE", "/v1/recovery-key")).problem
        == "recovery_key_not_found")
    #expect(try scene.server.count("recovery_keys") == 0)
    #expect(try scene.server.count("device_keys") == 1)
  }

  @Test(arguments: TestEngine.available)
  func `a recovery key that is named again as it was ends nothing, and with another delay it does`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let phone = scene.server.device()
    try scene.recovery.recover(scene.account, letting: phone).requireMade()
    try scene.device.name(scene.recovery.key, delayDays: 3).requireSuccess()
    #expect(try scene.device.recoveryStates() == ["waiting"])
    try scene.wait(.days(3))
    #expect(try phone.account == scene.account)
    #expect(try scene.recovery.get("/v1/key-backup").holds([1, 2, 3]))
    try scene.device.name(scene.recovery.key, delayDays: 1).requireSuccess()
    #expect(try scene.device.recoveryStates() == ["ended"])
    #expect(try KeyRecovery.faults(of: scene.account, in: scene.server.database) == [])
  }

  @Test(arguments: TestEngine.available)
  func `a key is a device's or a recovery key, never both`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    #expect(try scene.device.admit(scene.recovery).problem == "key_registered")
    #expect(try scene.device.name(scene.device.key, delayDays: 0).problem == "key_registered")
    let other = try scene.server.register()
    #expect(try other.name(scene.recovery.key, delayDays: 0).problem == "key_registered")
    #expect(try other.get("/v1/recovery").json["recovery_key"].isNull)
    // The same key with another delay is a change.
    try scene.device.name(scene.recovery.key, delayDays: 7).requireSuccess()
    let shown = try scene.device.get("/v1/recovery").json["recovery_key"]
    #expect(shown["recovery"]["delay_days"].integer == 7)
    for days in [-1, 8] {
      #expect(
        try scene.device.name(scene.recovery.key, delayDays: Int64(days)).problem == "body_invalid")
    }
  }

  @Test(arguments: TestEngine.available)
  func `a device that was let in is proven by the recovery key that its account's devices named`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, delayDays: 0)
    let phone = scene.server.device()
    try scene.recovery.recover(scene.account, letting: phone).requireMade()
    // Also once the recovery key has ended.
    #expect(
      try scene.device.send(scene.device.sign("DELETE", "/v1/recovery-key")).status == 204)
    let told = try scene.device.get("/v1/directory?account=\(scene.account)").json
    let link = told["recovery_keys"][0]
    #expect(link["public_key"].base64 == scene.recovery.key.publicKey.bytes)
    let entry = told["keys"].array?.first {
      $0["public_key"].base64 == phone.key.publicKey.bytes
    }
    #expect(entry?["device"]["author"].base64 == scene.recovery.key.publicKey.bytes)
    let statement: JSONValue = [
      "account": .string(scene.account.description),
      "created": .integer(try #require(link["recovery"]["created"].integer)),
      "delay_days": .integer(0), "key": .base64(scene.recovery.key.publicKey.bytes),
    ]
    let signed = JSONValue.object([.init("recovery", statement)]).canonical()
    let signature = try #require(link["recovery"]["signature"].base64)
    #expect(scene.device.key.publicKey.isValid(signature: signature, for: signed))
    let (devices, keys) = try scene.server.database.read { reader in
      (
        try Device.listAll(reader, of: scene.account),
        try RecoveryKey.inChains(reader, of: scene.account)
      )
    }
    #expect(Device.prove(scene.account, devices, keys))
    #expect(!Device.prove(scene.account, devices, []))
  }

  @Test(arguments: TestEngine.available)
  func `when a recovery key was named is a moment that an import checks`(engine: TestEngine) throws
  {
    let scene = try Scene(engine, delayDays: 0)
    scene.server.clock.advance(.days(1))
    let named = scene.server.clock.now
    let recovery = scene.server.device()
    try scene.device.name(recovery.key, delayDays: 0).requireSuccess()
    scene.server.clock.advance(.days(1))
    try recovery.recover(scene.account, letting: scene.server.device()).requireMade()
    let account = try scene.server.database.read { reader in
      try #require(try MovedAccount(reader, scene.account))
    }
    #expect(try MovedAccount(JSON.parse(account.json.encoded())).moments.contains(named))
  }

  @Test(arguments: TestEngine.available)
  func `an account does not arrive where one of its keys is a recovery key`(
    engine: TestEngine
  ) throws {
    let (scene, other) = (try Scene(engine), try TestServer(engine))
    let arriving = other.device(key: scene.recovery.key)
    try arriving.post("/v1/accounts", ["root": .string(arriving.root.description)]).requireMade()
    let id = try arriving.account
    let account = try other.database.read { reader in
      try #require(try MovedAccount(reader, id))
    }
    let obstacle = try scene.server.database.read { reader in
      try account.obstacle(reading: reader)
    }
    #expect(obstacle == "a key of the account is another account's already")
  }

  @Test(arguments: TestEngine.available)
  func `a device that has no place any more is not let in, and the recovery says so`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let phone = scene.server.device()
    try scene.recovery.recover(scene.account, letting: phone).requireMade()
    try scene.server.fillKeys(of: scene.account)
    try scene.wait(.days(3))
    #expect(try scene.device.recoveryStates() == ["failed"])
    #expect(try scene.recovery.get("/v1/key-backup").problem == "recovery_not_open")
  }

  @Test(arguments: TestEngine.available)
  func `a suspended account names no key, stores no backup, and lets nothing be asked for`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    try scene.server.suspend(scene.account, since: scene.server.clock.now)
    #expect(try scene.device.putBackup([9], ifMatch: "\"1\"").problem == "account_suspended")
    #expect(
      try scene.device.name(Ed25519PrivateKey(), delayDays: 0).problem == "account_suspended")
    #expect(try scene.recovery.recover(scene.account).problem == "account_suspended")
    #expect(try scene.device.remove("/v1/account").status == 202)
    #expect(try scene.recovery.recover(scene.account).problem == "account_suspended")
  }

  @Test(arguments: TestEngine.available)
  func `what waits ends when its account is suspended, because no device is told meanwhile`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let phone = scene.server.device()
    try scene.recovery.recover(scene.account, letting: phone).requireMade()
    try scene.server.suspend(scene.account, since: scene.server.clock.now)
    #expect(try scene.device.recoveryStates() == ["ended"])
    try scene.wait(.seconds(1))
    try scene.server.suspend(scene.account, since: nil)
    try scene.wait(.days(3))
    #expect(try phone.get("/v1/account").problem == "unknown_key")
    #expect(try scene.recovery.get("/v1/key-backup").problem == "recovery_not_open")
    try scene.recovery.recover(scene.account, letting: phone).requireMade()
    #expect(try scene.device.recoveryStates() == ["waiting", "ended"])
  }

  @Test(arguments: TestEngine.available)
  func `what is open stays so when its account is suspended`(engine: TestEngine) throws {
    let scene = try Scene(engine, delayDays: 0)
    try scene.recovery.recover(scene.account).requireMade()
    try scene.server.suspend(scene.account, since: scene.server.clock.now)
    try scene.wait(.seconds(1))
    #expect(try scene.recovery.get("/v1/key-backup").holds([1, 2, 3]))
  }

  @Test(arguments: TestEngine.available)
  func `an erased account leaves nothing to recover`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    #expect(try scene.device.remove("/v1/account").status == 202)
    try scene.recovery.recover(scene.account, letting: scene.server.device()).requireMade()
    scene.server.clock.advance(.days(8))
    try scene.server.sweeper().sweepErasures()
    #expect(
      try ["recoveries", "recovery_keys", "key_backups", "device_keys"].map {
        try scene.server.count($0)
      } == [0, 0, 0, 0])
    #expect(try scene.recovery.recover(scene.account).problem == "unknown_key")
  }

  @Test(arguments: TestEngine.available)
  func `a recovery of a key that has ended is found, and ended by a recount`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    try scene.recovery.recover(scene.account).requireMade()
    try scene.server.database.write(for: nil) { transaction in
      _ = try transaction.execute("DELETE FROM sync.recovery_keys")
    }
    #expect(try KeyRecovery.faults(of: scene.account, in: scene.server.database).count == 1)
    #expect(try KeyRecovery.repairTotals(of: scene.account, in: scene.server.database) == 1)
    #expect(try KeyRecovery.faults(of: scene.account, in: scene.server.database) == [])
    #expect(try scene.device.recoveryStates() == ["ended"])
  }
}
