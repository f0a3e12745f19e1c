import Base
import Crypto
import JSON
import TestDevices
import TestEngines
import Testing

/// Sharees' changes in others' trees, and the files that enter and leave their view.
@Suite struct SharedTreeTests {
  /// Alice shares a folder with Bob.
  private struct Scene {
    let server: TestServer
    let alice: TestDevice
    let bob: TestDevice
    let folder: Identifier
    let link: Identifier
    /// The state of Bob's client.
    var replica: Replica

    init(_ engine: TestEngine = .sqlite, mode: String = "read", cap: Int64 = 10_000_000) throws {
      server = try TestServer(engine, freeByteCount: cap)
      alice = try server.register()
      bob = try server.register()
      folder = try alice.add("folder")
      link = try alice.share(folder, with: bob, mode: mode)
      replica = try bob.pulled()
    }

    /// The files of Alice's tree that Bob sees.
    mutating func seen(limit: Int? = nil) throws -> Set<Identifier> {
      try replica.pull(limit: limit)
      #expect(try replica.ids == bob.pulled().ids)
      return replica.ids.subtracting([bob.root, link, folder])
    }
  }

  // MARK: Writing in another's tree

  @Test(arguments: TestEngine.available)
  func `a writer creates, renames, moves and deletes beneath the shared folder`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, mode: "write")
    let (alice, bob) = (scene.alice, scene.bob)
    let before = try alice.usage()
    let folder = try bob.add("folder", in: scene.folder, owner: alice.account)
    let document = try bob.add(in: scene.folder, owner: alice.account)
    try bob.rename(document).requireSuccess()
    try bob.move(document, to: folder).requireSuccess()
    try bob.change(document) { $0.key = [1, 2] }.requireSuccess()
    let record = try alice.record(document)
    #expect(record.parent == folder)
    #expect(record.author == bob.key.publicKey.bytes)
    #expect(record.isSignatureValid == true)
    #expect(try alice.usage() == before + 2000)
    #expect(try bob.usage() == 2000)
    try bob.delete(folder).requireSuccess()
    try scene.server.sweepDeletions()
    #expect(try alice.usage() == before)
    #expect(try alice.pulled().ids == [alice.root, scene.folder])
  }

  @Test(arguments: TestEngine.available)
  func `a reader changes nothing`(engine: TestEngine) throws {
    let scene = try Scene(engine)
    let (alice, bob) = (scene.alice, scene.bob)
    let (file, other) = (try alice.add(in: scene.folder), try alice.add("folder", in: scene.folder))
    let before = try scene.server.state()
    #expect(
      try bob.create(parent: scene.folder, owner: alice.account).answer.rules
        == ["not_permitted"])
    #expect(try bob.rename(file).rules == ["not_permitted"])
    #expect(try bob.move(file, to: other).rules == ["not_permitted"])
    #expect(try bob.delete(file).rules == ["not_permitted"])
    #expect(try bob.change(file) { $0.key = [1] }.rules == ["not_permitted"])
    let written = try bob.put(file, [1], ifMatch: "*")
    #expect(written.status == 403)
    #expect(try written.problem == "not_permitted")
    #expect(try scene.server.state() == before)
  }

  @Test(arguments: TestEngine.available, ["read", "write"])
  func `the shared folder itself is the owner's to name, move and delete`(
    engine: TestEngine, mode: String
  ) throws {
    let scene = try Scene(engine, mode: mode)
    let bob = scene.bob
    let child = try scene.alice.add("folder", in: scene.folder)
    let before = try scene.server.state()
    for answer in [
      try bob.rename(scene.folder), try bob.change(scene.folder) { $0.key = [1] },
      try bob.move(scene.folder, to: child), try bob.delete(scene.folder),
    ] {
      #expect(try answer.rules == ["not_permitted"])
    }
    #expect(try scene.server.state() == before)
  }

  @Test(arguments: TestEngine.available)
  func `a writer neither enters nor leaves by the folders above`(engine: TestEngine) throws {
    let scene = try Scene(engine, mode: "write")
    let (alice, bob) = (scene.alice, scene.bob)
    let child = try alice.add(in: scene.folder)
    let hidden = try alice.add("folder")
    for parent in [alice.root, hidden] {
      #expect(try bob.move(child, to: parent).rules == ["parent_not_found"])
      #expect(
        try bob.create(parent: parent, owner: alice.account).answer.rules == ["parent_not_found"])
    }
  }

  @Test func `a writer moves between two folders that it may write, not into one it may read`()
    throws
  {
    let scene = try Scene(mode: "write")
    let (alice, bob) = (scene.alice, scene.bob)
    let (writable, readable) = (try alice.add("folder"), try alice.add("folder"))
    try alice.share(writable, with: bob, mode: "write")
    try alice.share(readable, with: bob)
    let file = try alice.add(in: scene.folder)
    #expect(try bob.move(file, to: writable).status == 200)
    #expect(try bob.move(file, to: readable).rules == ["not_permitted"])
  }

  @Test func `the best of a sharee's shares on the way up decides`() throws {
    let scene = try Scene()
    let (alice, bob) = (scene.alice, scene.bob)
    let inner = try alice.add("folder", in: scene.folder)
    let file = try alice.add(in: inner)
    try alice.share(inner, with: bob, mode: "write")
    #expect(try bob.rename(file).status == 200)
    #expect(try bob.rename(inner).rules == ["not_permitted"])
    try alice.grant(scene.folder, to: bob.account, mode: "write", expect: "accepted")
      .requireSuccess()
    try alice.grant(inner, to: bob.account, mode: "read", expect: "accepted").requireSuccess()
    #expect(try bob.rename(file).status == 200)
    #expect(try bob.rename(inner).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `a sharee learns that there is no room, and nothing of the owner's numbers`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, mode: "write", cap: 3000)
    _ = try scene.alice.add()
    let before = try scene.server.state()
    let answer = try scene.bob.create(parent: scene.folder, owner: scene.alice.account).answer
    #expect(answer.status == 507)
    #expect(try answer.problem == "over_cap")
    #expect(try answer.json["owner"].string == scene.alice.account.description)
    for name in ["usage", "cap", "needed", "plan", "plans", "reason"] {
      #expect(try !answer.json[name].exists)
    }
    #expect(try scene.server.state() == before)
  }

  @Test(arguments: TestEngine.available)
  func `every device of a sharee sees and may do the same`(engine: TestEngine) throws {
    let scene = try Scene(engine, mode: "write")
    let (alice, bob) = (scene.alice, scene.bob)
    let second = scene.server.device(root: bob.root)
    #expect(try bob.admit(second, label: "b").status == 201)
    let file = try second.add(in: scene.folder, owner: alice.account)
    #expect(try alice.record(file).author == second.key.publicKey.bytes)
    #expect(try second.pulled().ids == bob.pulled().ids)
    let request = second.batchBody(files: [try second.creation()])
    #expect(try bob.post("/v1/files", request).problem == "body_invalid")
  }

  // MARK: Into view, and out of it

  @Test(arguments: TestEngine.available, [0, 1])
  func `a folder moved in brings all that is in it, and out takes it away`(
    engine: TestEngine, limit: Int
  ) throws {
    var scene = try Scene(engine)
    let alice = scene.alice
    let chain = try alice.addChain(3)
    let all = Set(chain + [try alice.add(in: chain[2]), try alice.add(in: chain[1])])
    #expect(try scene.seen().isEmpty)
    for _ in 0..<2 {
      try alice.move(chain[0], to: scene.folder).requireSuccess()
      #expect(try scene.seen(limit: limit > 0 ? limit : nil) == all)
      #expect(try scene.bob.get("/v1/files/\(chain[2])").status == 200)
      try alice.move(chain[0], to: alice.root).requireSuccess()
      #expect(try scene.seen(limit: limit > 0 ? limit : nil).isEmpty)
      #expect(try scene.bob.get("/v1/files/\(chain[2])").status == 404)
    }
  }

  @Test(arguments: TestEngine.available)
  func `a folder of more than a thousand files comes into view by a fresh start`(
    engine: TestEngine
  ) throws {
    var scene = try Scene(engine)
    let (alice, bob) = (scene.alice, scene.bob)
    let kept = try alice.add(in: scene.folder)
    let large = try alice.add("folder")
    for _ in 0..<3 {
      try alice.batch(files: (0..<400).map { _ in try alice.creation(parent: large) })
        .requireSuccess()
    }
    #expect(try scene.seen() == [kept])
    try alice.move(large, to: scene.folder).requireSuccess()
    let page = try bob.updates(since: scene.replica.cursor, limit: 10)
    #expect(try page.json["restart"].array?.map(\.string) == [alice.account.description])
    #expect(try scene.seen(limit: 100).count == 1202)
    try alice.move(large, to: alice.root).requireSuccess()
    #expect(try scene.seen() == [kept])
    #expect(scene.replica.troubles.isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `what is shared again while more than a thousand files go out of view comes whole`(
    engine: TestEngine
  ) throws {
    var scene = try Scene(engine)
    let (alice, bob) = (scene.alice, scene.bob)
    let again = try alice.add("folder")
    let child = try alice.add(in: again)
    let link = try alice.share(again, with: bob)
    try alice.revoke(again, from: bob.account).requireSuccess()
    let large = try alice.add("folder", in: scene.folder)
    for _ in 0..<3 {
      try alice.batch(files: (0..<400).map { _ in try alice.creation(parent: large) })
        .requireSuccess()
    }
    #expect(try scene.seen(limit: 100).count == 1202)
    try alice.batch(
      files: [alice.record(large).change { $0.parent = alice.root }],
      shares: [
        .grant(again, to: bob.account, mode: "read", key: Random.bytes(48), expect: "revoked")
      ]
    ).requireSuccess()
    #expect(try scene.seen() == [link, again, child])
  }

  @Test(arguments: TestEngine.available)
  func `what left a folder while that was out of view does not come back with it`(
    engine: TestEngine
  ) throws {
    var scene = try Scene(engine)
    let alice = scene.alice
    let folder = try alice.add("folder", in: scene.folder)
    let (child, kept) = (try alice.add(in: folder), try alice.add(in: folder))
    #expect(try scene.seen() == [folder, child, kept])
    try alice.move(folder, to: alice.root).requireSuccess()
    try alice.move(child, to: alice.root).requireSuccess()
    try alice.move(folder, to: scene.folder).requireSuccess()
    #expect(try scene.seen() == [folder, kept])
  }

  @Test(arguments: TestEngine.available)
  func `what left a folder while its share was gone does not come back with the share`(
    engine: TestEngine
  ) throws {
    var scene = try Scene(engine)
    let (alice, bob) = (scene.alice, scene.bob)
    let other = try alice.add("folder")
    try alice.share(other, with: bob)
    let (child, kept) = (try alice.add(in: scene.folder), try alice.add(in: scene.folder))
    try scene.replica.pull()
    try alice.revoke(scene.folder, from: bob.account).requireSuccess()
    try alice.move(child, to: alice.root).requireSuccess()
    try alice.grant(scene.folder, to: bob.account, expect: "revoked").requireSuccess()
    try scene.replica.pull()
    #expect(try scene.replica.ids == bob.pulled().ids)
    #expect(scene.replica.ids.contains(kept))
    #expect(!scene.replica.ids.contains(child))
  }

  @Test(arguments: TestEngine.available)
  func `what was offered and left its folder does not come with the folder`(
    engine: TestEngine
  ) throws {
    var scene = try Scene(engine)
    let (alice, bob) = (scene.alice, scene.bob)
    let folder = try alice.add("folder")
    let (child, kept) = (try alice.add(in: folder), try alice.add(in: folder))
    try alice.grant(child, to: bob.account).requireSuccess()
    #expect(try scene.seen() == [child])
    try alice.revoke(child, from: bob.account, expect: "pending").requireSuccess()
    try alice.move(child, to: alice.root).requireSuccess()
    try alice.move(folder, to: scene.folder).requireSuccess()
    #expect(try scene.seen() == [folder, kept])
  }

  @Test(arguments: TestEngine.available)
  func `a file that left and was offered since is there, alone`(engine: TestEngine) throws {
    var scene = try Scene(engine)
    let (alice, bob) = (scene.alice, scene.bob)
    let folder = try alice.add("folder", in: scene.folder)
    let child = try alice.add(in: folder)
    #expect(try scene.seen() == [folder, child])
    try alice.move(folder, to: alice.root).requireSuccess()
    try alice.grant(folder, to: bob.account).requireSuccess()
    #expect(try scene.seen(limit: 1) == [folder])
  }

  @Test(arguments: TestEngine.available)
  func `a share within a shared folder opens its part when the outer one ends`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    let (alice, bob) = (scene.alice, scene.bob)
    var replica = scene.replica
    let (inner, outside) = (
      try alice.add("folder", in: scene.folder), try alice.add(in: scene.folder)
    )
    let child = try alice.add(in: inner)
    let second = try alice.share(inner, with: bob)
    try replica.pull()
    #expect(
      replica.ids == [bob.root, scene.link, second, scene.folder, inner, outside, child])
    try alice.revoke(scene.folder, from: bob.account).requireSuccess()
    try replica.pull()
    #expect(replica.ids == [bob.root, scene.link, second, inner, child])
    try alice.rename(child).requireSuccess()
    try alice.move(inner, to: alice.root).requireSuccess()
    try replica.pull()
    #expect(replica.ids == [bob.root, scene.link, second, inner, child])
    #expect(try replica.records[child] == bob.record(child))
    try alice.revoke(inner, from: bob.account).requireSuccess()
    try replica.pull()
    #expect(replica.ids == [bob.root, scene.link, second])
  }

  @Test(arguments: TestEngine.available)
  func `a share within a shared folder ends, and its part stays in view`(
    engine: TestEngine
  ) throws {
    var scene = try Scene(engine)
    let (alice, bob) = (scene.alice, scene.bob)
    let inner = try alice.add("folder", in: scene.folder)
    let child = try alice.add(in: inner)
    let second = try alice.share(inner, with: bob)
    #expect(try scene.seen() == [second, inner, child])
    try alice.revoke(inner, from: bob.account).requireSuccess()
    #expect(try scene.seen() == [second, inner, child])
    try bob.delete(second).requireSuccess()
    #expect(try scene.seen() == [inner, child])
  }

  @Test(arguments: TestEngine.available)
  func `a shared folder that is deleted is gone for its sharees at once`(
    engine: TestEngine
  ) throws {
    var scene = try Scene(engine, mode: "write")
    let (alice, bob) = (scene.alice, scene.bob)
    let child = try alice.add(in: scene.folder)
    try alice.put(child, [1], ifMatch: "*").requireSuccess()
    #expect(try scene.seen() == [child])
    let record = try bob.record(child)
    try alice.delete(scene.folder).requireSuccess()
    try scene.replica.pull()
    #expect(scene.replica.ids == [bob.root, scene.link])
    #expect(try bob.get("/v1/files/\(child)/content").problem == "file_deleted")
    #expect(try bob.batch(files: [record.change { $0.name = .init() }]).rules == ["file_deleted"])
    #expect(
      try bob.create(parent: scene.folder, owner: alice.account).answer.rules
        == ["parent_deleted"])
    try scene.server.sweepDeletions()
    try scene.replica.pull()
    #expect(scene.replica.records[child]?.deleted == true)
    #expect(try bob.delete(scene.link).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `a folder above the shared one is deleted, and its sharees are told`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let chain = try alice.addChain(3)
    let child = try alice.add(in: chain[2])
    let link = try alice.share(chain[2], with: bob, mode: "write")
    var replica = try bob.pulled()
    try alice.delete(chain[0]).requireSuccess()
    #expect(try bob.record(child).deleted)
    #expect(try bob.rename(child).rules == ["file_deleted"])
    try server.sweepDeletions()
    try replica.pull()
    #expect(replica.ids == [bob.root, link])
    #expect(replica.records[child]?.deleted == true)
  }

  @Test func `a file in a deleted folder is neither offered nor accepted`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let (offered, other) = (try alice.add(in: folder), try alice.add(in: folder))
    try alice.grant(offered, to: bob.account).requireSuccess()
    try alice.delete(folder).requireSuccess()
    #expect(try alice.grant(other, to: bob.account).rules == ["file_deleted"])
    #expect(
      try alice.grant(offered, to: bob.account, mode: "write", expect: "pending").rules
        == ["file_deleted"])
    #expect(try bob.accept(offered).answer.rules == ["link_target_not_found"])
  }

  @Test(arguments: TestEngine.available)
  func `a sharee moves a folder that is shared with another out of that one's sight`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine, mode: "write")
    let (alice, bob) = (scene.alice, scene.bob)
    let carol = try scene.server.register()
    let (left, right) = (
      try alice.add("folder", in: scene.folder), try alice.add("folder", in: scene.folder)
    )
    let moved = try alice.add("folder", in: left)
    let child = try alice.add(in: moved)
    let link = try alice.share(left, with: carol)
    var replica = try carol.pulled()
    #expect(replica.ids == [carol.root, link, left, moved, child])
    try bob.move(moved, to: right).requireSuccess()
    try replica.pull()
    #expect(replica.ids == [carol.root, link, left])
    try bob.move(moved, to: left).requireSuccess()
    try replica.pull()
    #expect(replica.ids == [carol.root, link, left, moved, child])
  }
}
