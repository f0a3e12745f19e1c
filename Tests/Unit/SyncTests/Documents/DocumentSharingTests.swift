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

/// Documents of versions that devices of several accounts write.
@Suite struct DocumentSharingTests {
  private let document = Random.identifier()

  @Test(arguments: TestEngine.available)
  func `a version for another account comes there with its author and its account`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let (adas, bobs) = (try ada.usage(), try bob.usage())
    let version = ada.version(document, 3, [1, 2], to: [try bob.account])
    try ada.push(version).requireSuccess()
    let pulled = try bob.pull()
    #expect(pulled.versions.map(\.body) == [[1, 2]])
    #expect(pulled.versions.map(\.author) == [ada.publicKey])
    #expect(pulled.versions.map(\.account) == [try ada.account])
    #expect(pulled.clock == [ada.publicKey: 3])
    #expect(pulled.counter == 0)
    #expect(try ada.pull().versions.map(\.account) == [nil])
    let list = try bob.get("/v1/documents/\(document)/versions").json["current"][0]
    #expect(try list["account"].string == ada.account.description)
    // The writer pays for the content, and each for its record.
    #expect(try ada.usage() == adas + 1000 + 2 * 128 + 2)
    #expect(try bob.usage() == bobs + 1000)
    #expect(try scene.server.count("document_texts") == 1)
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `the receiver's devices are told at once`(engine: TestEngine) throws {
    var silent = StreamLimits()
    silent.heartbeat = .hours(1)
    let server = try TestServer(engine, streams: silent)
    let (ada, bob) = (try server.register(), try server.register())
    try ada.shareLog(ada.createLog(), with: bob)
    let stream = try RawStream.open(bob, server)
    let to = [try bob.account]
    for version in [ada.version(document, 1, to: to), ada.version(document, 2, nil, to: to)] {
      try ada.push(version).requireSuccess()
      var told = stream.next()
      while let data = told, !data.contains("documents") { told = stream.next() }
      #expect(told != nil)
    }
    #expect(try bob.bodies(of: document) == [nil])
  }

  @Test(arguments: TestEngine.available)
  func `what comes from another account is signed with the accounts that it names`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let version = ada.version(document, 1, to: [try bob.account])
    try ada.push(version).requireSuccess()
    let sent = try JSON.parse(version.signed(by: ada.key).encoded())
    let pulled = try bob.pullPage().json["versions"][0]
    #expect(pulled["signature"].string == sent["signature"].string)
    #expect(
      try pulled["version"]["to"].array?.map(\.string) == [bob.account.description])
    var unnamed = ada.version(Random.identifier(), 2, to: [try bob.account])
    let signature = unnamed.signature(by: ada.key)
    unnamed.receivers = []
    let forged: JSONValue = ["version": unnamed.statement, "signature": .base64(signature)]
    #expect(try ada.rules(ada.push([forged])) == ["signature_invalid"])
  }

  @Test(arguments: TestEngine.available)
  func `in another account a version replaces that of the same device alone`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (phone, laptop, bob) = (devices[0], devices[1], try server.register())
    try phone.shareLog(phone.createLog(), with: bob)
    let to = [try bob.account]
    try bob.push(bob.version(document, 1, [9])).requireSuccess()
    try phone.push(phone.version(document, 1, [1], to: to)).requireSuccess()
    try laptop.push(laptop.version(document, 1, [2], to: to)).requireSuccess()
    let merged = phone.version(
      document, 2, covering: [phone.publicKey: 1, laptop.publicKey: 1, bob.publicKey: 1], [3],
      to: to)
    try phone.push(merged).requireSuccess()
    #expect(try laptop.bodies(of: document) == [[3]])
    #expect(try Set(bob.bodies(of: document)) == [[9], [2], [3]])
    // Bob's own device merges all of them.
    let clock = [bob.publicKey: Int64(1), phone.publicKey: 2, laptop.publicKey: 1]
    try bob.push(bob.version(document, 3, covering: clock, [4])).requireSuccess()
    #expect(try bob.bodies(of: document) == [[4]])
    #expect(try phone.bodies(of: document) == [[3]])
    try server.sweeper().sweep()
    for device in [phone, bob] { try server.requireDocuments(device) }
  }

  @Test(arguments: TestEngine.available)
  func `strangers, who blocked the sender, and the sender itself get nothing`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let stranger = try scene.server.register()
    let before = try scene.state()
    let good = ada.version(Random.identifier(), 1, to: [try bob.account])
    for receiver in [try stranger.account, Random.identifier(), try ada.account] {
      let answer = try ada.push(good, ada.version(document, 2, to: [receiver, try bob.account]))
      #expect(try ada.rules(answer) == ["not_a_contact"])
      #expect(try answer.json["failures"][0]["account"].string == receiver.description)
    }
    #expect(try scene.state() == before)
    let blocking = try bob.send(bob.sign("PUT", "/v1/blocks/\(try ada.account)"))
    try blocking.requireSuccess()
    #expect(try ada.rules(ada.push(good)) == ["not_a_contact"])
    #expect(try bob.pull().versions.isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `an offered share that was not accepted makes no contact, and an ended one ends it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = (try server.register(), try server.register())
    let log = try ada.createLog()
    try ada.grantLog(log, to: bob.account).requireSuccess()
    let version = ada.version(document, 1, to: [try bob.account])
    #expect(try ada.rules(ada.push(version)) == ["not_a_contact"])
    try bob.acceptLog(log).requireSuccess()
    try ada.push(version).requireSuccess()
    try ada.endLogShare(log, with: bob.account).requireSuccess()
    let next = ada.version(document, 2, covering: [ada.publicKey: 1], to: [try bob.account])
    #expect(try ada.rules(ada.push(next)) == ["not_a_contact"])
    // What it sent before can be taken back all the same.
    try ada.push(ada.version(document, 2, nil, to: [try bob.account])).requireSuccess()
    #expect(try bob.bodies(of: document) == [nil])
  }

  @Test(arguments: TestEngine.available)
  func `an older push that comes late replaces nothing newer`(engine: TestEngine) throws {
    let scene = try DocumentScene(engine, keepingFor: 30)
    let (ada, bob) = (scene.ada, scene.bob)
    let to = [try bob.account]
    let old = ada.version(document, 1, [1], to: to)
    try ada.push(old).requireSuccess()
    try ada.push(ada.version(document, 2, covering: [ada.publicKey: 1], [2], to: to))
      .requireSuccess()
    let before = try scene.state()
    #expect(try ada.push(old).json["repeated"].integer == 1)
    #expect(try ada.rules(ada.push(ada.version(document, 1, [7], to: to))) == ["counter_used"])
    #expect(try scene.state() == before)
    #expect(try bob.bodies(of: document) == [[2]])
    #expect(try bob.replaced(of: document) == [[1]])
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `a deletion deletes nothing of another account`(engine: TestEngine) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    try bob.push(bob.version(document, 1, [9])).requireSuccess()
    try ada.push(ada.version(document, 1, [1], to: [try bob.account])).requireSuccess()
    try ada.push(ada.version(document, 2, covering: [ada.publicKey: 1], nil)).requireSuccess()
    #expect(try ada.bodies(of: document) == [nil])
    #expect(try Set(bob.bodies(of: document)) == [[9], [1]])
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `a removal takes the sender's versions back, leaves a mark, and nothing else`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let to = [try bob.account]
    let usage = try bob.usage()
    let removal = ada.version(document, 2, nil, to: to)
    try bob.push(bob.version(document, 1, [9])).requireSuccess()
    try ada.push(ada.version(document, 1, [1], to: to)).requireSuccess()
    try ada.push(removal).requireSuccess()
    #expect(try ada.bodies(of: document) == [[1]])
    #expect(try Set(bob.bodies(of: document)) == [[9], nil])
    #expect(try ada.push(removal).json["repeated"].integer == 1)
    // The document is not deleted there: Bob's devices go on.
    let edit = bob.version(document, 3, covering: [bob.publicKey: 1], [8])
    #expect(try bob.push(edit).json["deleted"].array?.isEmpty == true)
    #expect(try Set(bob.bodies(of: document)) == [[8], nil])
    scene.server.clock.advance(.days(90))
    try scene.server.sweeper().sweep()
    #expect(try bob.bodies(of: document) == [[8]])
    #expect(try bob.usage() == usage + 1000 + 128 + 40 + 1)
    try scene.server.sweeper().sweep()
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `a removal leaves its mark where the receiver has merged what was sent`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (phone, laptop, bob) = (devices[0], devices[1], try server.register())
    try phone.shareLog(phone.createLog(), with: bob)
    let to = [try bob.account]
    try phone.push(phone.version(document, 1, [1], to: to)).requireSuccess()
    try bob.push(bob.version(document, 2, covering: [phone.publicKey: 1], [2])).requireSuccess()
    #expect(try bob.bodies(of: document) == [[2]])
    let removal = phone.version(document, 2, nil, to: to)
    try phone.push(removal).requireSuccess()
    #expect(try Set(bob.bodies(of: document)) == [[2], nil])
    #expect(try phone.push(removal).json["repeated"].integer == 1)
    try phone.push(phone.version(document, 3, nil, to: to)).requireSuccess()
    #expect(try bob.pull().versions.count == 2)
    // So a device that was offline does not share the document again.
    let late = laptop.version(document, 4, covering: [phone.publicKey: 1], [4], to: to)
    #expect(try laptop.rules(laptop.push(late)) == ["removal_uncovered"])
    for device in [phone, bob] { try server.requireDocuments(device) }
  }

  @Test(arguments: TestEngine.available)
  func `a removal after the share has ended leaves its mark where what was sent is merged`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (phone, laptop, bob) = (devices[0], devices[1], try server.register())
    let log = try phone.createLog()
    try phone.shareLog(log, with: bob)
    let to = [try bob.account]
    try phone.push(phone.version(document, 1, [1], to: to)).requireSuccess()
    try bob.push(bob.version(document, 2, covering: [phone.publicKey: 1], [2])).requireSuccess()
    try phone.endLogShare(log, with: bob.account).requireSuccess()
    try laptop.push(laptop.version(document, 2, nil, to: to)).requireSuccess()
    #expect(try Set(bob.bodies(of: document)) == [[2], nil])
    for device in [phone, bob] { try server.requireDocuments(device) }
  }

  @Test(arguments: TestEngine.available)
  func `a stranger's removal does nothing to a document that it knows of`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = (try server.register(), try server.register())
    try bob.push(bob.version(document, 1, [1])).requireSuccess()
    let usage = try bob.usage()
    try ada.push(ada.version(document, 1, nil, to: [try bob.account])).requireSuccess()
    #expect(try bob.bodies(of: document) == [[1]])
    #expect(try bob.usage() == usage)
    for device in [ada, bob] { try server.requireDocuments(device) }
  }

  @Test(arguments: TestEngine.available)
  func `a removal needs no room at the receiver, and leaves none to others`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine, cap: 8000)
    let (ada, bob) = (scene.ada, scene.bob)
    let to = [try bob.account]
    try ada.push(ada.version(document, 1, [1], to: to)).requireSuccess()
    try bob.push(bob.version(document, 2, covering: [ada.publicKey: 1], [2])).requireSuccess()
    let rest = try 8000 - bob.usage() - 1000 - 128
    let filling = [UInt8](repeating: 1, count: Int(rest))
    try bob.push(bob.version(Random.identifier(), 3, filling)).requireSuccess()
    #expect(try bob.usage() == 8000)
    let removal = ada.version(document, 2, nil, to: to)
    let other = ada.version(Random.identifier(), 3, [1], to: to)
    #expect(try ada.push(removal, other).status == 507)
    try ada.push(removal).requireSuccess()
    #expect(try Set(bob.bodies(of: document)) == [[2], nil])
    try scene.requireRight()
  }

  @Test func `where nothing was sent, a removal leaves nothing`() throws {
    let scene = try DocumentScene()
    let before = try scene.server.count("document_texts")
    try scene.ada.push(scene.ada.version(document, 1, nil, to: [try scene.bob.account]))
      .requireSuccess()
    #expect(try scene.bob.pull().versions.isEmpty)
    #expect(try scene.server.count("document_texts") == before)
    try scene.requireRight()
  }

  @Test(arguments: TestEngine.available)
  func `a removal locks no row of an account that has nothing of the sender's`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let ada = try server.register()
    let strangers = try (0..<4).map { _ in try server.register().account }
    try ada.push(ada.version(document, 1)).requireSuccess()
    var counter: Int64 = 1
    func changed(naming receivers: [Identifier]) throws -> Int64 {
      counter += 1
      let before = server.database.writeWork
      try ada.push(ada.version(Random.identifier(), counter, nil, to: receivers))
        .requireSuccess()
      return Int64((server.database.writeWork - before).changedRowCount)
    }
    let nobody = (0..<4).map { _ in Random.identifier() }
    #expect(try changed(naming: strangers) == changed(naming: nobody))
    try server.requireDocuments(ada)
  }

  @Test(arguments: TestEngine.available)
  func `a device that does not know of a removal cannot undo it`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (phone, laptop, bob) = (devices[0], devices[1], try server.register())
    try phone.shareLog(phone.createLog(), with: bob)
    let to = [try bob.account]
    try phone.push(phone.version(document, 1, [1], to: to)).requireSuccess()
    try phone.push(phone.version(document, 2, nil, to: to)).requireSuccess()
    try phone.push(phone.version(document, 3, covering: [phone.publicKey: 1], [3]))
      .requireSuccess()
    let late = laptop.version(document, 4, covering: [phone.publicKey: 1], [4], to: to)
    #expect(try laptop.rules(laptop.push(late)) == ["removal_uncovered"])
    #expect(try bob.bodies(of: document) == [nil])
    // One that merged what the phone wrote with the removal may invite again.
    try laptop.push(laptop.version(document, 4, covering: [phone.publicKey: 3], [4], to: to))
      .requireSuccess()
    #expect(try bob.bodies(of: document) == [[4]])
    for device in [phone, bob] { try server.requireDocuments(device) }
  }

  @Test(arguments: TestEngine.available)
  func `what the receiver deleted stays deleted there`(engine: TestEngine) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let to = [try bob.account]
    try ada.push(ada.version(document, 1, [1], to: to)).requireSuccess()
    try bob.push(bob.version(document, 2, covering: [ada.publicKey: 1], nil)).requireSuccess()
    try ada.push(ada.version(document, 2, covering: [ada.publicKey: 1], [2], to: to))
      .requireSuccess()
    #expect(try bob.bodies(of: document) == [nil])
    #expect(try ada.bodies(of: document) == [[2]])
    try scene.server.sweeper().sweep()
    try scene.requireRight()
  }
}
