import Accounts
import Base
import Crypto
import JSON
import SeededRandom
import Sync
import TestDevices
import TestEngines
import Testing

@Suite struct BatchTests {
  // MARK: What one batch can do

  @Test(arguments: TestEngine.available)
  func `two files swap their names in one batch`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (a, b) = (try device.add(), try device.add())
    let (one, two) = (try device.record(a), try device.record(b))
    let answer = try device.batch(files: [
      one.change { $0.name = two.name! }, two.change { $0.name = one.name! },
    ])
    #expect(answer.status == 200)
    #expect(try device.record(a).name == two.name)
    #expect(try device.record(b).name == one.name)
  }

  @Test(arguments: TestEngine.available)
  func `three files pass their names around in one batch`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let records = try (0..<3).map { _ in try device.record(device.add()) }
    let answer = try device.batch(
      files: records.enumerated().map { index, record in
        record.change { $0.name = records[(index + 1) % 3].name! }
      })
    #expect(answer.status == 200)
    for (index, record) in records.enumerated() {
      #expect(try device.record(record.id).name == records[(index + 1) % 3].name)
    }
  }

  @Test(arguments: TestEngine.available, [false, true])
  func `a new file takes the name of one that the same batch moves out`(
    engine: TestEngine, isCreatedFirst: Bool
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let folder = try device.add("folder")
    let a = try device.record(device.add())
    var changes = [
      a.change { $0.parent = folder }, try device.creation(hmac: a.name!.hmac),
    ]
    if isCreatedFirst { changes.reverse() }
    #expect(try device.batch(files: changes).status == 200)
    #expect(try device.record(a.id).parent == folder)
    #expect(try device.pulled().children(of: device.root).count == 2)
  }

  @Test(arguments: TestEngine.available)
  func `a new file takes the name of one that the same batch deletes`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let a = try device.record(device.add())
    let creation = try device.creation(hmac: a.name!.hmac)
    #expect(try device.batch(files: [creation, a.change { $0.deleted = true }]).status == 200)
    #expect(try device.pulled().ids == [device.root, creation.file.id])
  }

  @Test(arguments: TestEngine.available)
  func `a folder and all beneath it are created in any order`(engine: TestEngine) throws {
    let seed = SeededGenerator.seed(of: "any order")
    var random = SeededGenerator(seed: seed)
    let server = try TestServer(engine)
    let device = try server.register()
    for _ in 0..<5 {
      var changes = [try device.creation("folder")]
      for _ in 0..<20 {
        let parents = changes.filter { $0.file.type == "folder" }.map(\.file.id)
        changes.append(
          try device.creation(
            Bool.random(using: &random) ? "folder" : "document",
            parent: parents.randomElement(using: &random)))
      }
      changes.shuffle(using: &random)
      let answer = try device.batch(files: changes)
      #expect(answer.status == 200)
      #expect(
        try answer.json["files"].array?.map { $0["id"].string }
          == changes.map { $0.file.id.description })
    }
    #expect(try device.pulled().ids.count == 1 + 5 * 21)
  }

  @Test(arguments: TestEngine.available)
  func `a file is renamed and moved at once, into a folder of the same batch`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let id = try device.add()
    let folder = try device.creation("folder")
    let name = FileStatement.Name()
    let answer = try device.batch(files: [
      device.record(id).change {
        $0.parent = folder.file.id
        $0.name = name
      }, folder,
    ])
    #expect(answer.status == 200)
    let record = try device.record(id)
    #expect(record.parent == folder.file.id)
    #expect(record.name == name)
    #expect(record.isSignatureValid == true)
  }

  @Test(arguments: TestEngine.available)
  func `a folder and its child change places`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let outer = try device.add("folder")
    let inner = try device.add("folder", in: outer)
    let answer = try device.batch(files: [
      device.record(outer).change { $0.parent = inner },
      device.record(inner).change { $0.parent = device.root },
    ])
    #expect(answer.status == 200)
    #expect(try device.record(outer).parent == inner)
    #expect(try device.record(inner).parent == device.root)
  }

  @Test(arguments: TestEngine.available)
  func `a file is created and offered in one batch`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let creation = try alice.creation()
    let answer = try alice.batch(
      files: [creation],
      shares: [.grant(creation.file.id, to: bob.account)])
    #expect(answer.status == 200)
    #expect(try answer.json["shares"][0]["state"].string == "pending")
    #expect(try bob.pulled().ids.contains(creation.file.id))
  }

  @Test(arguments: TestEngine.available)
  func `every change gets a version of its own, in the order of the batch`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let before = try device.record(device.add()).version
    let answer = try device.batch(files: (0..<10).map { _ in try device.creation() })
    #expect(
      try answer.json["files"].array?.map { $0["version"].integer }
        == (1...10).map { before + $0 })
  }

  @Test(arguments: TestEngine.available)
  func `a batch is answered with the versions that a read then shows, with its shares too`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let (shared, hidden) = (try alice.add("folder"), try alice.add())
    try alice.share(shared, with: bob)
    let creation = try alice.creation("folder")
    let answer = try alice.batch(
      files: [creation, alice.record(hidden).change { $0.parent = shared }],
      shares: [.grant(creation.file.id, to: bob.account)])
    #expect(
      try answer.json["files"].array?.map { $0["version"].integer }
        == [alice.record(creation.file.id).version, alice.record(hidden).version])
  }

  // MARK: All or nothing

  @Test(arguments: TestEngine.available)
  func `one bad change keeps all others from being made`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (id, folder) = (try device.add(), try device.add("folder"))
    let before = try server.state()
    let answer = try device.batch(files: [
      device.creation(), device.record(id).change { $0.name = .init() },
      device.record(folder).change { $0.deleted = true },
      device.creation(parent: Random.identifier()),
    ])
    #expect(try answer.rules == ["parent_not_found"])
    #expect(try server.state() == before)
  }

  @Test(arguments: TestEngine.available)
  func `a batch over the cap writes nothing`(engine: TestEngine) throws {
    let server = try TestServer(engine, freeByteCount: 5000)
    let device = try server.register()
    let before = try server.state()
    let answer = try device.batch(files: (0..<5).map { _ in try device.creation() })
    #expect(try answer.problem == "over_cap")
    #expect(try answer.json["needed"].integer == 6000)
    #expect(try server.state() == before)
    #expect(try device.batch(files: (0..<4).map { _ in try device.creation() }).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `a batch that deletes as much as it creates needs no room`(engine: TestEngine) throws {
    let server = try TestServer(engine, freeByteCount: 2000)
    let device = try server.register()
    let id = try device.add()
    #expect(try device.create().answer.problem == "over_cap")
    let answer = try device.batch(files: [
      device.creation(), device.record(id).change { $0.deleted = true },
    ])
    #expect(answer.status == 200)
    #expect(try device.usage() == 2000)
  }

  @Test(arguments: TestEngine.available)
  func `a tree holds no more records than the limit`(engine: TestEngine) throws {
    var limits = SyncLimits()
    limits.recordCountMax = 3
    let server = try TestServer(engine, limits: limits)
    let device = try server.register()
    let (id, _) = (try device.add(), try device.add())
    let before = try server.state()
    let refused = try device.create().answer
    #expect(refused.status == 409)
    #expect(try refused.problem == "too_many_records")
    #expect(try server.state() == before)
    #expect(try device.delete(id).status == 200)
    #expect(try device.create().answer.status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `every failing file is named with its rule, and no other`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (device, stranger) = (try server.register(), try server.register())
    let (document, folder) = (try device.add(), try device.add("folder"))
    let foreign = try stranger.add()
    let taken = try device.record(device.add()).name!.hmac
    let good = try device.creation()
    let bad: [(FileChange, String)] = [
      (try device.creation(parent: document), "parent_not_folder"),
      (try device.creation(hmac: taken), "name_taken"),
      (try device.creation(id: foreign), "id_taken"),
      (try device.creation(parent: Random.identifier()), "parent_not_found"),
      (try device.creation(owner: stranger.account), "owner_differs"),
      (try device.creation("link", target: document), "link_target_owned"),
      (try device.record(folder).change { $0.parent = folder }, "cycle"),
      (FileChange(try device.creation().file, signature: Random.bytes(64)), "signature_invalid"),
    ]
    let answer = try device.batch(files: bad.map(\.0) + [good])
    #expect(answer.status == 422)
    #expect(try answer.problem == "batch_refused")
    let named = try Set(answer.failures)
    #expect(named == Set(bad.map { Failure(file: $0.0.file.id.description, rule: $0.1) }))
  }

  @Test(arguments: TestEngine.available)
  func `a stale change among broken ones asks for a pull, naming the stale files alone`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (a, b) = (try device.record(device.add()), try device.record(device.add()))
    try device.rename(a.id).requireSuccess()
    try device.delete(b.id).requireSuccess()
    let broken = try device.creation(parent: Random.identifier())
    let answer = try device.batch(files: [
      a.change { $0.name = .init() }, broken, b.change { $0.name = .init() },
    ])
    #expect(answer.status == 409)
    #expect(try answer.problem == "updates_required")
    #expect(try answer.staleFiles == [a.id.description, b.id.description])
    #expect(
      try Set(answer.failures) == [
        Failure(file: a.id.description, rule: "stale"),
        Failure(file: b.id.description, rule: "file_deleted"),
        Failure(file: broken.file.id.description, rule: "parent_not_found"),
      ])
  }

  // MARK: Again

  @Test(arguments: TestEngine.available)
  func `the same request again is answered as before and has no other effect`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let body = device.batchBody(files: [try device.creation()]).encoded()
    let request = device.sign("POST", "/v1/files", body: body)
    let first = try device.send(request)
    #expect(first.status == 200)
    let before = try server.state()
    let second = try device.send(request)
    #expect(second.status == 200)
    #expect(second.holds(first.body))
    #expect(try server.state() == before)
  }

  @Test(arguments: TestEngine.available)
  func `a batch sent again in a new request is stale and changes nothing`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let id = try device.add()
    let changes = [
      try device.creation(), try device.record(id).change { $0.name = .init() },
    ]
    try device.batch(files: changes).requireSuccess()
    let before = try server.state()
    let again = try device.batch(files: changes)
    #expect(again.status == 409)
    #expect(try again.staleFiles == Set(changes.map(\.file.id.description)))
    #expect(try server.state() == before)
  }

  @Test(arguments: TestEngine.available)
  func `a refused request may be sent again when the reason is gone`(engine: TestEngine) throws {
    let server = try TestServer(engine, freeByteCount: 1000)
    let device = try server.register()
    let body = device.batchBody(files: [try device.creation()]).encoded()
    let request = device.sign("POST", "/v1/files", body: body)
    #expect(try device.send(request).problem == "over_cap")
    try server.setCap(device.account, 9000, plan: "premium", reason: "subscribed")
    #expect(try device.send(request).status == 200)
  }
}
