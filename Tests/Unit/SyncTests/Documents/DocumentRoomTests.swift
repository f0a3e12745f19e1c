import Accounts
import Base
import Crypto
import Documents
import JSON
import Logs
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// What documents of versions bring to coffer-sync besides their routes: charges, retention, erasure, checks.
@Suite struct DocumentRoomTests {
  private let document = Random.identifier()

  @Test(arguments: TestEngine.available)
  func `a version is charged as a record with its content, and a replaced one without the fee`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 30)
    let device = try server.register()
    let before = try device.usage()
    try device.push(device.version(document, 1, [1, 2])).requireSuccess()
    #expect(try device.usage() == before + 1000 + 128 + 2)
    try device.push(device.version(document, 2, covering: [device.publicKey: 1], [1]))
      .requireSuccess()
    #expect(try device.usage() == before + 1000 + 2 * 128 + 3 + 40)
    try server.requireDocuments(device)
  }

  @Test(arguments: TestEngine.available)
  func `what has no room is refused, and a smaller version takes the place of a larger one`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 30, cap: 10_000)
    let device = try server.register()
    let body = [UInt8](repeating: 1, count: 6000)
    try device.push(device.version(document, 1, body)).requireSuccess()
    let refused = try device.push(device.version(Random.identifier(), 2, body))
    #expect(refused.status == 507)
    #expect(try refused.problem == "over_cap")
    #expect(try device.pull().counter == 1)
    // What it replaces has no room beside it, so it is not kept.
    let smaller = [UInt8](repeating: 2, count: 5000)
    try device.push(device.version(document, 2, covering: [device.publicKey: 1], smaller))
      .requireSuccess()
    #expect(try device.replaced(of: document).isEmpty)
    #expect(try device.bodies(of: document) == [smaller])
    try device.push(device.version(document, 3, covering: [device.publicKey: 2], nil))
      .requireSuccess()
    try server.requireDocuments(device)
  }

  @Test(arguments: TestEngine.available)
  func `a deletion of a full account makes room instead of keeping what it replaces`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 30, cap: 8000)
    let device = try server.register()
    let rest = try 8000 - device.usage() - 1000 - 128
    let filling = [UInt8](repeating: 1, count: Int(rest))
    try device.push(device.version(document, 1, filling)).requireSuccess()
    #expect(try device.usage() == 8000)
    try device.push(device.version(document, 2, covering: [device.publicKey: 1], nil))
      .requireSuccess()
    #expect(try device.replaced(of: document).isEmpty)
    #expect(try device.usage() == 8000 - rest + 40)
    try server.requireDocuments(device)
  }

  @Test(arguments: TestEngine.available)
  func `a suspended account deletes documents and pulls, and pushes nothing else`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    try device.push(device.version(document, 1)).requireSuccess()
    try server.suspend(device.account, since: server.clock.now)
    let edit = device.version(document, 2, covering: [device.publicKey: 1])
    #expect(try device.push(edit).problem == "account_suspended")
    #expect(try device.pull().versions.count == 1)
    try device.push(device.version(document, 2, covering: [device.publicKey: 1], nil))
      .requireSuccess()
    #expect(try device.bodies(of: document) == [nil])
  }

  @Test(arguments: TestEngine.available)
  func `a replaced version is readable for the days of the plan, and then goes`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 3)
    let device = try server.register()
    try device.push(device.version(document, 1, [1])).requireSuccess()
    let usage = try device.usage()
    try device.push(device.version(document, 2, covering: [device.publicKey: 1], [2]))
      .requireSuccess()
    let list = try device.get("/v1/documents/\(document)/versions").json
    #expect(list["current"][0]["counter"].integer == 2)
    #expect(list["replaced"][0]["until"].string == (server.clock.now + .days(3)).description)
    server.clock.advance(.days(2))
    try server.sweeper().sweep()
    #expect(try device.replaced(of: document) == [[1]])
    server.clock.advance(.days(1))
    try server.sweeper().sweep()
    #expect(try device.replaced(of: document).isEmpty)
    #expect(try device.usage() == usage + 40)
    try server.requireDocuments(device)
  }

  @Test(arguments: TestEngine.available)
  func `what was replaced is history of whoever pays for it, until it goes`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine, keepingFor: 3)
    let (ada, bob) = (scene.ada, scene.bob)
    func history(of device: TestDevice) throws -> Int64? {
      let json = try device.get("/v1/account").json
      let parts = json["usage_parts"]
      let sum = ["live", "history", "trash"].compactMap { parts[$0].integer }.reduce(0, +)
      #expect(sum == json["usage"].integer)
      return parts["history"].integer
    }
    try ada.push(ada.version(document, 1, [1, 2])).requireSuccess()
    #expect(try history(of: ada) == 0)
    // The second and the third are shared, so each has a text of its own.
    for counter in Int64(2)...3 {
      let clock = [ada.publicKey: counter - 1]
      try ada.push(ada.version(document, counter, covering: clock, [1], to: [bob.account]))
        .requireSuccess()
    }
    #expect(try history(of: ada) == (128 + 2) + (128 + 40 + 128 + 1))
    #expect(try history(of: bob) == 0)
    try scene.requireRight()
    scene.server.clock.advance(.days(3))
    try scene.server.sweeper().sweep()
    #expect(try history(of: ada) == 0)
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `a plan that counts versions keeps the newest of a document`(engine: TestEngine) throws {
    let server = try TestServer(engine, keepingFor: 30, count: 2)
    let device = try server.register()
    for counter in Int64(1)...5 {
      let clock = counter == 1 ? [:] : [device.publicKey: counter - 1]
      try device.push(device.version(document, counter, covering: clock, [UInt8(counter)]))
        .requireSuccess()
    }
    #expect(try device.replaced(of: document) == [[3], [4]])
    try server.requireDocuments(device)
  }

  @Test(arguments: TestEngine.available)
  func `a plan that counts versions keeps no more of a document that a batch replaces often`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 30, count: 2)
    let device = try server.register()
    let versions = (Int64(1)...13).map { counter in
      device.version(
        document, counter, covering: counter == 1 ? [:] : [device.publicKey: counter - 1],
        [UInt8(counter)])
    }
    try device.push(versions).requireSuccess()
    #expect(try device.replaced(of: document) == [[11], [12]])
    try server.requireDocuments(device)
  }

  @Test(arguments: TestEngine.available)
  func `a plan that counts versions keeps no more of what a removal takes back at once`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 30, count: 2)
    let devices = try server.devices(12)
    let bob = try server.register()
    try devices[0].shareLog(devices[0].createLog(), with: bob)
    let to = [try bob.account]
    for device in devices { try device.push(device.version(document, 1, to: to)).requireSuccess() }
    try devices[0].push(devices[0].version(document, 2, nil, to: to)).requireSuccess()
    #expect(try bob.replaced(of: document).count == 2)
    for device in [devices[0], bob] { try server.requireDocuments(device) }
  }

  @Test(arguments: TestEngine.available)
  func `a deletion goes after its retention, and a device that missed it starts over`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    let other = Random.identifier()
    try a.push(a.version(document, 1), a.version(other, 2)).requireSuccess()
    let before = try b.pull().clock
    try a.push(a.version(document, 3, covering: [a.publicKey: 1], nil)).requireSuccess()
    let after = try c.pull().clock
    server.clock.advance(.days(89))
    try server.sweeper().sweep()
    #expect(try b.pull(before).versions.map(\.body) == [nil])
    server.clock.advance(.days(1))
    try server.sweeper().sweep()
    #expect(try server.count("document_versions") == 1)
    #expect(try b.pullPage(before).problem == "clock_expired")
    #expect(try c.pull(after).versions.isEmpty)
    let anew = try b.pull(limit: 1)
    #expect(anew.versions.map(\.document) == [other])
    #expect(try b.pull(anew.clock).versions.isEmpty)
    try server.requireDocuments(a)
  }

  @Test(arguments: TestEngine.available)
  func `an erased account leaves nothing of its documents`(engine: TestEngine) throws {
    let server = try TestServer(engine, keepingFor: 30)
    let (ada, bob) = (try server.register(), try server.register())
    for device in [ada, bob] {
      try device.push(device.version(document, 1)).requireSuccess()
      try device.push(device.version(document, 2, covering: [device.publicKey: 1]))
        .requireSuccess()
    }
    #expect(try ada.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
    #expect(
      try ["document_versions", "document_devices", "document_totals"].map { try server.count($0) }
        == [2, 1, 1])
    #expect(try bob.pull().versions.count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `whoever holds a version of a document is found by its id, current or replaced`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine, keepingFor: 30)
    let (ada, bob) = (scene.ada, scene.bob)
    func holders() throws -> Set<Identifier> {
      try scene.server.database.read { reader in
        try Set(DocumentHolders.accounts(reader, of: document))
      }
    }
    try ada.push(ada.version(Random.identifier(), 1)).requireSuccess()
    #expect(try holders().isEmpty)
    try ada.push(ada.version(document, 2, to: [bob.account])).requireSuccess()
    #expect(try holders() == [ada.account, bob.account])
    try ada.push(ada.version(document, 3, covering: [ada.publicKey: 2])).requireSuccess()
    try scene.server.change("DELETE FROM sync.document_versions WHERE replaced_ms IS NULL")
    #expect(try holders() == [ada.account])
  }

  @Test(arguments: TestEngine.available)
  func `totals that disagree with the versions are found, and put right by a recount`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 30)
    let device = try server.register()
    try device.push(device.version(document, 1)).requireSuccess()
    let usage = try device.usage()
    for damage in [
      "UPDATE sync.document_totals SET bytes = bytes + 1",
      "UPDATE sync.document_totals SET record_count = record_count + 1",
      "UPDATE sync.document_totals SET history_bytes = history_bytes + 1",
    ] {
      try server.database.write(for: nil) { transaction in _ = try transaction.execute(damage) }
      #expect(try VersionedDocuments.faults(of: device.account, in: server.database).count == 1)
      _ = try server.recount.correct(device.account, now: server.clock.now)
      try server.requireDocuments(device)
    }
    #expect(try device.usage() == usage)
  }
}

extension TestServer {
  fileprivate var recount: Recount {
    Recount(
      database, catalogue: catalogue,
      protocols: [FileTrees.self, MessageLogs.self, VersionedDocuments.self])
  }

  /// Records an issue unless an account's totals, usage and ledger are what its rows add up to.
  func requireDocuments(_ device: TestDevice) throws {
    let account = try device.account
    #expect(try VersionedDocuments.faults(of: account, in: database) == [])
    let finding = try #require(try recount.audit(account))
    #expect(finding.isRight, "\(finding)")
  }
}
