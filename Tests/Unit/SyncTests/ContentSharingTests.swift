import Base
import Crypto
import JSON
import Objects
import TestDevices
import TestEngines
import Testing

/// Content in shared trees, and the accounts that are charged for it.
@Suite struct ContentSharingTests {
  /// Alice shares a folder with a document in it.
  private struct Scene {
    let server: TestServer
    let alice: TestDevice
    let bob: TestDevice
    let folder: Identifier
    let document: Identifier

    init(
      _ engine: TestEngine = .sqlite, mode: String = "write", cap: Int64 = 1_000_000,
      objects: (any ObjectStore)? = nil
    ) throws {
      server = try TestServer(engine, freeByteCount: cap, objects: objects)
      alice = try server.register()
      bob = try server.register()
      folder = try alice.add("folder")
      document = try alice.add(in: folder)
      try alice.share(folder, with: bob, mode: mode)
    }
  }

  @Test(arguments: ContentPlace.all, [100, 20_000])
  func `a writer's content is read by all and charged to the owner`(
    place: ContentPlace, byteCount: Int
  ) throws {
    let scene = try Scene(place.engine, objects: place.store)
    let (alice, bob) = (scene.alice, scene.bob)
    var replica = try alice.pulled()
    let content = Random.bytes(byteCount)
    try bob.put(scene.document, content, ifMatch: "\"0\"").requireSuccess()
    #expect(try alice.get("/v1/files/\(scene.document)/content").holds(content))
    #expect(try alice.usage() == 3000 + Int64(byteCount))
    #expect(try bob.usage() == 2000)
    try replica.pull()
    #expect(replica.records[scene.document]?.contentByteCount == Int64(byteCount))
    try bob.put(scene.document, [1], ifMatch: "*").requireSuccess()
    #expect(try alice.usage() == 3001)
  }

  @Test(arguments: ContentPlace.all, [100, 20_000])
  func `a reader reads content and never writes it`(place: ContentPlace, byteCount: Int) throws {
    let scene = try Scene(place.engine, mode: "read", objects: place.store)
    let content = Random.bytes(byteCount)
    try scene.alice.put(scene.document, content, ifMatch: "*").requireSuccess()
    #expect(try scene.bob.get("/v1/files/\(scene.document)/content").holds(content))
    let before = try scene.server.state()
    let refused = try scene.bob.put(scene.document, Random.bytes(byteCount), ifMatch: "*")
    #expect(refused.status == 403)
    #expect(try refused.problem == "not_permitted")
    #expect(try scene.server.state() == before)
  }

  @Test(arguments: TestEngine.available, [2000, 20_000])
  func `a writer's growth beyond the owner's cap is refused without numbers`(
    engine: TestEngine, byteCount: Int
  ) throws {
    let scene = try Scene(engine, cap: 4000)
    let before = try scene.server.state()
    let refused = try scene.bob.put(scene.document, Random.bytes(byteCount), ifMatch: "*")
    #expect(refused.status == 507)
    #expect(try refused.problem == "over_cap")
    #expect(try refused.json["owner"].string == scene.alice.account.description)
    for name in ["usage", "cap", "needed", "plan", "plans", "reason"] {
      #expect(try !refused.json[name].exists)
    }
    #expect(try scene.server.state() == before)
  }

  @Test(arguments: TestEngine.available)
  func `writers leave places for uploads to each other and to the owner`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (server, alice, bob) = (scene.server, scene.alice, scene.bob)
    let others = try (0..<3).map { _ in
      let device = try server.register()
      try alice.share(scene.folder, with: device, mode: "write")
      return device
    }
    func isTaken(from device: TestDevice) throws -> Bool {
      let answer = try device.put(scene.document, Random.bytes(20_000), ifMatch: "*")
      guard answer.status != 200 else { return true }
      #expect(try answer.problem == "too_many_uploads")
      return false
    }
    try server.holdUploads(3, of: alice, by: bob)
    #expect(try isTaken(from: bob))
    try server.holdUploads(1, of: alice, by: bob)
    #expect(try !isTaken(from: bob))
    for other in others.prefix(2) {
      #expect(try isTaken(from: other))
      try server.holdUploads(4, of: alice, by: other)
    }
    #expect(try !isTaken(from: others[2]))
    try server.holdUploads(3, of: alice, by: alice)
    #expect(try isTaken(from: alice))
    try server.holdUploads(1, of: alice, by: alice)
    #expect(try !isTaken(from: alice))
  }

  @Test func `a writer's own cap has nothing to do with another's tree`() throws {
    let scene = try Scene(cap: 100_000)
    try scene.server.setCap(scene.bob.account, 0, plan: "free", reason: "lapsed")
    #expect(try scene.bob.put(scene.document, Random.bytes(50_000), ifMatch: "*").status == 200)
    #expect(
      try scene.bob.create(parent: scene.folder, owner: scene.alice.account).answer.status
        == 200)
  }

  @Test(arguments: TestEngine.available)
  func `a document shared alone takes content from its writer, and nothing else`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let document = try alice.add()
    try alice.share(document, with: bob, mode: "write")
    #expect(try bob.put(document, [1, 2], ifMatch: "*").status == 200)
    #expect(try bob.rename(document).rules == ["not_permitted"])
    #expect(try bob.delete(document).rules == ["not_permitted"])
  }

  @Test(arguments: TestEngine.available)
  func `content ends for a sharee with its share, and its move out of sight`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (alice, bob) = (scene.alice, scene.bob)
    try alice.put(scene.document, [1], ifMatch: "*").requireSuccess()
    try alice.move(scene.document, to: alice.root).requireSuccess()
    for answer in [
      try bob.get("/v1/files/\(scene.document)/content"),
      try bob.put(scene.document, [2], ifMatch: "*"),
    ] {
      #expect(answer.status == 404)
      #expect(try answer.problem == "file_not_found")
    }
    try alice.move(scene.document, to: scene.folder).requireSuccess()
    #expect(try bob.put(scene.document, [2], ifMatch: "*").status == 200)
    try alice.revoke(scene.folder, from: bob.account).requireSuccess()
    #expect(try bob.put(scene.document, [3], ifMatch: "*").problem == "file_not_found")
    #expect(try alice.get("/v1/files/\(scene.document)/content").holds([2]))
  }

  @Test func `neither folders nor links have content`() throws {
    let scene = try Scene()
    let link = try scene.alice.share(scene.alice.add(), with: scene.bob)
    #expect(try scene.bob.put(scene.folder, [1], ifMatch: "*").problem == "not_a_document")
    #expect(try scene.bob.put(link, [1], ifMatch: "*").problem == "not_a_document")
    #expect(try scene.bob.get("/v1/files/\(link)/content").problem == "not_a_document")
  }

  @Test(arguments: TestEngine.available)
  func `two writers of one version: the second is told the first's`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let first = try scene.bob.put(scene.document, [1], ifMatch: "\"0\"")
    let second = try scene.alice.put(scene.document, [2], ifMatch: "\"0\"")
    #expect(second.status == 412)
    #expect(try second.json["current_version"].integer == first.json["version"].integer)
  }

  // MARK: A lapsed account

  /// An account above its cap, with content in a folder.
  private struct Lapsed {
    let server: TestServer
    let alice: TestDevice
    let folder: Identifier
    let document: Identifier

    init(_ place: ContentPlace) throws {
      server = try TestServer(place.engine, objects: place.store)
      alice = try server.register()
      folder = try alice.add("folder")
      document = try alice.add(in: folder)
      try alice.put(document, Random.bytes(20_000), ifMatch: "*").requireSuccess()
      try server.setCap(alice.account, 1000, plan: "free", reason: "lapsed")
    }
  }

  @Test(arguments: ContentPlace.all)
  func `a lapsed account exports all it has`(place: ContentPlace) throws {
    let lapsed = try Lapsed(place)
    let replica = try lapsed.alice.pulled(limit: 1)
    #expect(replica.ids == [lapsed.alice.root, lapsed.folder, lapsed.document])
    let content = try lapsed.alice.get("/v1/files/\(lapsed.document)/content")
    #expect(content.body.count == 20_000)
  }

  @Test(arguments: ContentPlace.all)
  func `a lapsed account renames, moves, shrinks, shares and deletes`(
    place: ContentPlace
  ) throws {
    let lapsed = try Lapsed(place)
    let (alice, bob) = (lapsed.alice, try lapsed.server.register())
    #expect(try alice.rename(lapsed.document).status == 200)
    #expect(try alice.move(lapsed.document, to: alice.root).status == 200)
    #expect(try alice.grant(lapsed.document, to: bob.account).status == 200)
    for count in [20_000, 19_999, 17_000, 10_000, 100, 0] {
      #expect(
        try alice.put(lapsed.document, Random.bytes(count), ifMatch: "*").status == 200)
    }
    #expect(try alice.delete(lapsed.document).status == 200)
    #expect(try alice.delete(lapsed.folder).status == 200)
    #expect(try alice.usage() == 1000)
  }

  @Test(arguments: ContentPlace.all)
  func `a lapsed account grows by nothing`(place: ContentPlace) throws {
    let lapsed = try Lapsed(place)
    let before = try lapsed.server.state()
    for answer in [
      try lapsed.alice.create().answer, try lapsed.alice.create("folder").answer,
      try lapsed.alice.put(lapsed.document, Random.bytes(20_001), ifMatch: "*"),
      try lapsed.alice.put(lapsed.document, Random.bytes(30_000), ifMatch: "*"),
    ] {
      #expect(answer.status == 507)
      #expect(try answer.json["reason"].string == "lapsed")
    }
    #expect(try lapsed.server.state() == before)
  }

  @Test(arguments: ContentPlace.all)
  func `a lapsed account takes in what others share, but links cost what records cost`(
    place: ContentPlace
  ) throws {
    let lapsed = try Lapsed(place)
    let bob = try lapsed.server.register()
    let file = try bob.add()
    try bob.put(file, [7], ifMatch: "*").requireSuccess()
    try bob.grant(file, to: lapsed.alice.account).requireSuccess()
    #expect(try lapsed.alice.get("/v1/files/\(file)/content").holds([7]))
    #expect(try lapsed.alice.accept(file).answer.problem == "over_cap")
    #expect(try lapsed.alice.reject(file).status == 200)
  }
}
