import Base
import Crypto
import JSON
import RawClient
import Requests
import Storage
import Streams
import Sync
import TestDevices
import TestEngines
import Testing

/// What documents that go to other accounts cost, and how many of them there may be.
@Suite struct DocumentSharingLimitsTests {
  private let document = Random.identifier()

  @Test(arguments: TestEngine.available)
  func `a version is charged to its writer for as long as somebody holds it`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let usage = try ada.usage()
    let body = [UInt8](repeating: 1, count: 5000)
    try ada.push(ada.version(document, 1, body, to: [try bob.account])).requireSuccess()
    // Ada keeps no history, but Bob still has her version.
    try ada.push(ada.version(document, 2, covering: [ada.publicKey: 1], [2])).requireSuccess()
    #expect(try ada.usage() == usage + 1000 + 5000 + 2 * 128 + 1 + 40 + 128)
    try bob.push(bob.version(document, 3, covering: [ada.publicKey: 1], [3])).requireSuccess()
    try scene.server.sweeper().sweep()
    #expect(try ada.usage() == usage + 1000 + 1 + 40 + 128)
    #expect(try scene.server.count("document_texts") == 0)
    #expect(try scene.server.count("document_releases") == 0)
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `a smaller version takes the place of a larger one in both accounts at once`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine, cap: 12_000)
    let (ada, bob) = (scene.ada, scene.bob)
    let to = [try bob.account]
    try ada.push(ada.version(document, 1, [UInt8](repeating: 1, count: 6000), to: to))
      .requireSuccess()
    let smaller = [UInt8](repeating: 2, count: 5000)
    try ada.push(ada.version(document, 2, covering: [ada.publicKey: 1], smaller, to: to))
      .requireSuccess()
    #expect(try bob.bodies(of: document) == [smaller])
    #expect(try scene.server.count("document_texts") == 1)
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `a receiver without room, or suspended, gets nothing, and nothing is written`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine, cap: 8000)
    let (ada, bob) = (scene.ada, scene.bob)
    let to = [try bob.account]
    try ada.push(ada.version(document, 1, to: to)).requireSuccess()
    try bob.push(bob.version(Random.identifier(), 1, [UInt8](repeating: 1, count: 3950)))
      .requireSuccess()
    let before = try scene.state()
    let refused = try ada.push(ada.version(Random.identifier(), 2, [1], to: to))
    #expect(refused.status == 507)
    #expect(try refused.json["owner"].string == bob.account.description)
    #expect(try !refused.json["usage"].exists)
    #expect(try scene.state() == before)
    // What takes the place of another needs no room.
    let next = ada.version(document, 2, covering: [ada.publicKey: 1], to: to)
    try scene.server.suspend(bob.account, since: scene.server.clock.now)
    #expect(try ada.push(next).problem == "account_suspended")
    try ada.push(ada.version(document, 2, nil, to: to)).requireSuccess()
    #expect(try bob.bodies(of: document).contains(nil))
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `a removal in one batch with what it ends needs no room, and makes none for other documents`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let second = scene.server.device(root: ada.root)
    try ada.admit(second).requireMade()
    let to = [try bob.account]
    try second.push(second.version(document, 1, to: to)).requireSuccess()
    try scene.server.setCap(
      bob.account, try bob.usage(), plan: "free", reason: "never_subscribed")
    // The mark takes the place of the other device's version. A new document would be one more.
    let refused = try ada.push(
      ada.version(document, 1, to: to), ada.version(document, 2, nil, to: to),
      ada.version(Random.identifier(), 3, to: to))
    #expect(refused.status == 507)
    let new = Random.identifier()
    try ada.push(ada.version(new, 1, to: to), ada.version(new, 2, nil, to: to)).requireSuccess()
    #expect(try bob.bodies(of: new) == [nil])
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `a full account deletes what it was sent and what it has, and nothing beside that`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine, cap: 8000)
    let (ada, bob) = (scene.ada, scene.bob)
    let small = Random.identifier()
    try ada.push(ada.version(document, 1, to: [try bob.account])).requireSuccess()
    try bob.push(bob.version(small, 1, [1])).requireSuccess()
    let rest = try 8000 - bob.usage() - 1000 - 128
    let filling = [UInt8](repeating: 1, count: Int(rest))
    try bob.push(bob.version(Random.identifier(), 2, filling)).requireSuccess()
    #expect(try bob.usage() == 8000)
    let deletion = bob.version(document, 3, covering: [ada.publicKey: 1], nil)
    let others = [
      bob.version(Random.identifier(), 4, nil), bob.version(Random.identifier(), 4, [1]),
    ]
    for other in others { #expect(try bob.push(deletion, other).status == 507) }
    let long = Dictionary(
      uniqueKeysWithValues: (UInt8(0)..<40).map { ([UInt8](repeating: $0, count: 32), Int64(1)) })
    #expect(try bob.push(bob.version(document, 3, covering: long, nil)).status == 507)
    try bob.push(deletion, bob.version(small, 4, covering: [bob.publicKey: 1], nil))
      .requireSuccess()
    #expect(try bob.bodies(of: document) == [nil])
    #expect(try bob.bodies(of: small) == [nil])
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `a key comes back in another account only when what it wrote there is gone`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (server, ada, bob) = (scene.server, scene.ada, scene.bob)
    try ada.push(ada.version(Random.identifier(), 3, to: [try bob.account])).requireSuccess()
    let keyCount = try server.count("device_keys")
    #expect(try ada.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    while try server.count("device_keys") == keyCount {
      try #require(try server.sweeper().sweepErasure())
    }
    #expect(try bob.admit(ada).problem == "key_registered")
    try server.sweeper().sweepErasures()
    #expect(try bob.admit(ada).status == 201)
    try ada.push(ada.version(Random.identifier(), 1)).requireSuccess()
    #expect(try bob.pull().versions.map(\.author) == [ada.publicKey])
  }

  @Test(arguments: TestEngine.available)
  func `what an erased account wrote goes from other accounts, and what others wrote from it`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine, keepingFor: 30)
    let (server, ada, bob) = (scene.server, scene.ada, scene.bob)
    let usage = try bob.usage()
    try bob.push(bob.version(document, 1, [9], to: [try ada.account])).requireSuccess()
    for counter in Int64(1)...3 {
      let clock = counter == 1 ? [:] : [ada.publicKey: counter - 1]
      try ada.push(
        ada.version(document, counter, covering: clock, to: [try bob.account])
      ).requireSuccess()
    }
    #expect(try ada.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
    try server.sweeper().sweep()
    #expect(try bob.pull().versions.map(\.body) == [[9]])
    #expect(try bob.replaced(of: document).isEmpty)
    #expect(try server.count("document_versions") == 1)
    #expect(try server.count("document_texts") == 1)
    #expect(try server.count("document_releases") == 0)
    #expect(try bob.usage() == usage + 1000 + 1 + 2 * 128)
    try server.requireDocuments(bob)
  }

  @Test(arguments: TestEngine.available)
  func `devices that an account need not remember leave room for others`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let (sender, receiver) = (try ada.account, try bob.account)
    let key = Random.bytes(30)
    /// Gives Bob's account devices of others; those with collected deletions are to be remembered.
    func plant(_ count: Int64, of writer: Identifier, collected: Int64) throws {
      try scene.server.database.write(for: nil) { transaction in
        _ = try transaction.execute("DELETE FROM sync.document_devices")
        try transaction.insert(
          (0..<count).map { number -> [SQLValue] in
            let author = key + [UInt8(number >> 8), UInt8(number & 255)]
            return [.blob(author), .integer(1), .integer(collected), .id(writer)]
          }, of: receiver,
          into: "document_devices (account_id, author_key, counter, collected, writer_id)")
      }
    }
    let version = ada.version(document, 1, to: [receiver])
    for (count, writer) in [(Int64(1000), Random.identifier()), (128, sender)] {
      try plant(count, of: writer, collected: 1)
      #expect(try ada.rules(ada.push(version)) == ["too_many_devices"])
    }
    try plant(127, of: sender, collected: 1)
    try ada.push(version).requireSuccess()
    #expect(try scene.server.count("document_devices") == 127 + 2)
    // Ada's device has a current version there. The planted ones have none.
    try plant(1000, of: Random.identifier(), collected: 0)
    try ada.push(ada.version(Random.identifier(), 2, to: [receiver])).requireSuccess()
    #expect(try scene.server.count("document_devices") == 2)
    #expect(try bob.pull().versions.count == 2)
  }

  @Test(arguments: TestEngine.available)
  func `one account has at most 16 versions side by side in another's document`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(17)
    let (bob, carol) = (try server.register(), try server.register())
    for device in [devices[0], carol] { try device.shareLog(device.createLog(), with: bob) }
    let to = [try bob.account]
    for device in devices.prefix(16) {
      try device.push(device.version(document, 1, to: to)).requireSuccess()
    }
    let next = devices[16].version(document, 1, to: to)
    #expect(try devices[16].rules(devices[16].push(next)) == ["too_many_versions"])
    try carol.push(carol.version(document, 1, to: to)).requireSuccess()
    let clock = Dictionary(
      uniqueKeysWithValues: devices.prefix(16).map { ($0.publicKey, Int64(1)) })
    try bob.push(bob.version(document, 1, covering: clock, [1])).requireSuccess()
    try devices[16].push(next).requireSuccess()
    try server.requireDocuments(bob)
  }

  @Test(arguments: TestEngine.available)
  func `one account has at most 10,000 current versions in another`(engine: TestEngine) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let (sender, receiver) = (try ada.account, try bob.account)
    try ada.push(ada.version(document, 1, to: [receiver])).requireSuccess()
    let key = Random.bytes(32)
    try scene.server.database.write(for: nil) { transaction in
      try transaction.insert(
        (1...Int64(9999)).map { number -> [SQLValue] in
          [
            .integer(1_000_000 + number), .id(Random.identifier()), .blob(key), .integer(number),
            .integer(0), .integer(0), .integer(0), .integer(0),
            .blob([UInt8](repeating: 0, count: 64)), .blob([1]), .id(sender),
            .id(Random.identifier()),
          ]
        }, of: receiver,
        into: """
          document_versions (account_id, seq, document_id, author_key, counter, deleted, bytes,
            stored_ms, created_s, signature, secret, writer_id, text_id)
          """)
      try transaction.execute(
        "UPDATE sync.document_totals SET record_count = record_count + 9999 WHERE account_id = $1",
        .id(receiver))
    }
    let more = ada.version(Random.identifier(), 2, to: [receiver])
    #expect(try ada.rules(ada.push(more)) == ["too_many_versions"])
    // What takes the place of another is no more, and others have places of their own.
    try ada.push(ada.version(document, 2, covering: [ada.publicKey: 1], to: [receiver]))
      .requireSuccess()
    let carol = try scene.server.register()
    try carol.shareLog(carol.createLog(), with: bob)
    try carol.push(carol.version(document, 1, to: [receiver])).requireSuccess()
  }

  @Test func `a version names at most 16 accounts, each once, and a removal has no clock`() throws {
    let server = try TestServer()
    let device = try server.register()
    let many = (0..<17).map { _ in Random.identifier() }
    for version in [
      device.version(document, 1, to: many), device.version(document, 1, to: [many[0], many[0]]),
      device.version(document, 2, covering: [device.publicKey: 1], nil, to: [many[0]]),
    ] {
      let answer = try device.push(version)
      #expect(try answer.problem == "body_invalid")
      #expect(try answer.json["path"].string?.hasPrefix("$.versions[0].version.") == true)
    }
    let wide = (1...5).map { counter in
      device.version(
        Random.identifier(), counter, to: (0..<16).map { _ in Random.identifier() })
    }
    #expect(try device.push(wide).problem == "body_invalid")
  }

  @Test func `a batch writes at most 2000 rows, one for each version in each account`() throws {
    let server = try TestServer(freeByteCount: 10_000_000)
    let ada = try server.register()
    let log = try ada.createLog()
    let others = try (0..<3).map { _ in
      let other = try server.register()
      try ada.shareLog(log, with: other)
      return other
    }
    let accounts = try others.map { try $0.account }
    func versions(_ count: Int64, to receivers: [Identifier]) -> [MadeVersion] {
      (1...count).map { ada.version(Random.identifier(), $0, [1], to: receivers) }
    }
    let more = versions(500, to: accounts + [Random.identifier()])
    #expect(try ada.push(more).problem == "body_invalid")
    try ada.push(versions(500, to: accounts)).requireSuccess()
    #expect(try server.count("document_versions") == 2000)
    #expect(try server.count("document_texts") == 500)
    #expect(try others[2].pull(limit: 300).versions.count == 500)
    for device in [ada] + others { try server.requireDocuments(device) }
  }

  @Test(arguments: TestEngine.available)
  func `accounts that write to each other at the same time wait for no one for ever`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let failures = Locked<[String]>([])
    let threads = [(ada, try bob.account), (bob, try ada.account)].map { device, other in
      Thread {
        let device = scene.server.device(key: device.key, root: device.root)
        for counter in Int64(1)...20 {
          let clock = counter == 1 ? [:] : [device.publicKey: counter - 1]
          let version = device.version(
            document, counter, covering: clock, [UInt8(counter)], to: [other])
          do { try device.push(version).requireSuccess() } catch {
            failures.withLock { $0.append("\(error)") }
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [])
    try scene.server.sweeper().sweep()
    #expect(try Set(ada.bodies(of: document)) == [[20]])
    #expect(try ada.bodies(of: document).count == 2)
    #expect(try scene.server.count("document_texts") == 2)
    try scene.requireRight()
  }
}
