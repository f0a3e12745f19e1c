import Base
import Crypto
import JSON
import Storage
import TestDevices
import TestEngines
import Testing

/// Signature chains through the API: who may append what, and that nothing of a forgery is stored.
@Suite struct ChainTests {
  @Test(arguments: TestEngine.available)
  func `a chain begins with its author, and grows and shrinks by signed blocks`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    let root = a.chainRoot()
    let made = try a.makeChain(root)
    #expect(made.status == 201)
    #expect(made.header("Location") == "/v1/chains/\(root.chain)")
    var head = try a.append(a.block(after: KnownHead(root), adding: [b]))
    head = try b.append(b.block(after: head, adding: [c]))
    #expect(try a.chainMembers(root.chain) == Set(devices.map(\.publicKey)))
    head = try c.append(c.block(after: head, removing: [b]))
    #expect(try a.chainMembers(root.chain) == [a.publicKey, c.publicKey])
    #expect(try b.head(of: root.chain) == head)
    #expect(try a.epochs(of: root.chain) == [0, 1, 2, 3])
    #expect(try a.epochs(of: root.chain, since: 1, limit: 1) == [2, 3])
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `a forged or wrong block is refused with its rule, and nothing is written`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(4)
    let (a, b, c, gone) = (devices[0], devices[1], devices[2], devices[3])
    let stranger = try server.register()
    var head = try a.chain(with: [b, gone])
    head = try a.append(a.block(after: head, removing: [gone]))
    let (chain, usage) = (head.chain, try a.usage())
    let good = a.block(after: head, adding: [c])
    func changed(_ change: (inout MadeBlock) -> Void) -> JSONValue {
      var block = good
      change(&block)
      return block.json(signedBy: a.key)
    }
    let forgeries: [(JSONValue, String)] = [
      (good.json(signedBy: a.key, hash: SHA256.hash([1])), "hash_invalid"),
      (good.json(signedBy: b.key), "signature_invalid"),
      (b.block(after: head, adding: [c]).json(signedBy: b.key), "author_differs"),
      (changed { $0.chain = Random.identifier() }, "chain_differs"),
      (changed { $0.epoch += 1 }, "epoch_differs"),
      (changed { $0.additions = [b.publicKey] }, "already_member"),
      (changed { $0.removals = [c.publicKey] }, "not_member"),
      (changed { $0.removals = [a.publicKey] }, "author_removed"),
      (changed { $0.additions = [Random.bytes(32)] }, "device_unknown"),
    ]
    for (forgery, rule) in forgeries {
      #expect(try a.rule(a.send([forgery], to: chain)) == rule)
    }
    #expect(try gone.rule(gone.send(gone.block(after: head, adding: [c]))) == "author_not_member")
    let wrongParent = try a.send([changed { $0.parent = SHA256.hash([1]) }], to: chain)
    #expect(try wrongParent.problem == "head_changed")
    #expect(try KnownHead(wrongParent.json["head"], of: chain) == head)
    let second = a.block(after: KnownHead(b.block(after: head)), adding: [c])
    let broken = try a.send([good.json(signedBy: a.key), second.json(signedBy: a.key)], to: chain)
    #expect(try a.rule(broken) == "parent_differs")
    #expect(try broken.json["index"].integer == 1)
    #expect(try stranger.send(stranger.block(after: head)).problem == "chain_not_found")
    #expect(try a.epochs(of: chain) == [0, 1, 2])
    #expect(try a.chainMembers(chain) == [a.publicKey, b.publicKey])
    #expect(try a.usage() == usage)
    try server.requireChains(a)
    try a.append(good)
  }

  @Test(arguments: TestEngine.available)
  func `a root that adds another device than its author is refused`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    var root = a.chainRoot()
    root.additions.append(b.publicKey)
    #expect(try a.rule(a.makeChain(root)) == "root_invalid")
    root = a.chainRoot()
    root.epoch = 1
    #expect(try a.rule(a.makeChain(root)) == "root_invalid")
    #expect(try a.rule(a.makeChain(b.chainRoot())) == "signature_invalid")
    #expect(try server.count("chains") == 0)
    #expect(try server.count("chain_blocks") == 0)
  }

  @Test(arguments: TestEngine.available)
  func `what is stored already is not stored again`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    let root = a.chainRoot()
    for _ in 0..<2 { #expect(try a.makeChain(root).status == 201) }
    let block = a.block(after: KnownHead(root), adding: [b])
    let usage = try a.usage()
    for _ in 0..<2 { #expect(try a.send(block).status == 200) }
    #expect(try a.usage() > usage)
    #expect(try a.epochs(of: root.chain) == [0, 1])
    #expect(try a.makeChain(a.chainRoot(root.chain), own: true).problem == "chain_exists")
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `a member that leaves and joins anew, at once or later, is one row`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    var head = try a.chain(with: [b])
    for _ in 0..<3 {
      head = try a.append(a.block(after: head, adding: [b], removing: [b]))
      head = try a.append(a.block(after: head, removing: [b]))
      #expect(try server.count("chain_members") == 1)
      head = try a.append(a.block(after: head, adding: [b]))
    }
    #expect(try a.chainMembers(head.chain) == [a.publicKey, b.publicKey])
    #expect(try server.count("chain_members") == 2)
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `members of two accounts read a chain, and a stranger's device cannot be added`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let carol = try server.register()
    var head = try ada.chain(with: [bob])
    #expect(try bob.head(of: head.chain) == head)
    #expect(try bob.get("/v1/chains").json["chains"].array?.count == 1)
    #expect(try carol.get("/v1/chains/\(head.chain)").problem == "chain_not_found")
    #expect(try carol.get("/v1/chains/\(head.chain)/blocks").problem == "chain_not_found")
    let strange = try ada.send(ada.block(after: head, adding: [carol]))
    #expect(try strange.problem == "invitation_not_taken")
    #expect(try bob.rule(bob.send(bob.block(after: head, removing: [ada]))) == "owner_leaves")
    head = try ada.append(ada.block(after: head, removing: [bob]))
    #expect(try bob.get("/v1/chains/\(head.chain)").problem == "chain_not_found")
    #expect(try bob.send(bob.block(after: head)).problem == "chain_not_found")
    try bob.send(bob.sign("PUT", "/v1/blocks/\(try ada.account)")).requireSuccess()
    #expect(
      try ada.send(ada.block(after: head, adding: [bob])).problem == "invitation_not_taken")
    try server.requireChains(ada)
  }

  @Test(arguments: TestEngine.available)
  func `a device that leaves the account's own chain is revoked with the block`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    let stranger = try server.register()
    let head = try a.chain(with: [b, c], own: true)
    #expect(try a.makeChain(a.chainRoot(), own: true).problem == "own_chain_exists")
    let foreign = try a.send(a.block(after: head, adding: [stranger]))
    #expect(try a.rule(foreign) == "device_unknown")
    let block = a.block(after: head, removing: [c])
    #expect(try a.rule(a.send(block)) == "revocation_missing")
    #expect(try c.get("/v1/account").status == 200)
    let path = "/v1/chains/\(head.chain)/blocks"
    let blocks: JSONValue = .array([block.json(signedBy: a.key)])
    let foul = try b.revocation(of: c)
    #expect(
      try a.post(path, ["blocks": blocks, "revocations": .array([foul])]).problem
        == "body_invalid")
    let answer = try a.post(
      path, ["blocks": blocks, "revocations": .array([a.revocation(of: c)])])
    #expect(answer.status == 200)
    #expect(try c.get("/v1/account").problem == "revoked_key")
    #expect(try c.push(c.version(Random.identifier(), 1)).problem == "revoked_key")
    #expect(try a.chainMembers(head.chain) == [a.publicKey, b.publicKey])
    let again = try a.send(a.block(after: KnownHead(block), adding: [c]))
    #expect(try a.rule(again) == "device_unknown")
    try server.requireChains(a)
  }

  @Test func `a request of more blocks or keys than the bounds is refused`() throws {
    let server = try TestServer()
    let a = try server.register()
    let head = try a.chain()
    var blocks: [MadeBlock] = []
    for _ in 0..<65 {
      blocks.append(a.block(after: blocks.last.map { KnownHead($0) } ?? head))
    }
    let signed = blocks.map { $0.json(signedBy: a.key) }
    #expect(try a.send(signed, to: head.chain).problem == "body_invalid")
    #expect(try a.send([], to: head.chain).problem == "body_invalid")
    #expect(try a.send(Array(signed.prefix(64)), to: head.chain).status == 200)
    var wide = a.block(after: KnownHead(blocks[63]))
    wide.additions = (0..<257).map { _ in Random.bytes(32) }
    #expect(try a.send(wide).problem == "body_invalid")
    wide.additions = [a.publicKey, a.publicKey]
    #expect(try a.send(wide).problem == "body_invalid")
    var many: [MadeBlock] = []
    for _ in 0..<3 {
      var next = a.block(after: many.last.map { KnownHead($0) } ?? KnownHead(blocks[63]))
      next.additions = (0..<200).map { _ in Random.bytes(32) }
      many.append(next)
    }
    #expect(
      try a.send(many.map { $0.json(signedBy: a.key) }, to: head.chain).problem == "body_invalid")
    #expect(try a.get("/v1/chains/\(head.chain)/blocks?limit=101").problem == "limit_invalid")
    #expect(try a.get("/v1/chains/\(head.chain)/blocks?since=x").problem == "since_invalid")
  }

  /// The rows of an append do not grow with the chain.
  @Test func `a block costs the same after 100,000 others as after a few`() throws {
    let server = try TestServer()
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    var head = try a.chain(with: [b])
    func cost() throws -> Int64 {
      let before = server.database.writeWork
      head = try a.append(a.block(after: head, adding: [c]))
      head = try a.append(a.block(after: head, removing: [c]))
      return (server.database.writeWork - before).rowCount
    }
    let few = try cost()
    head = try server.plantBlocks(100_000, after: head, by: a)
    #expect(try cost() == few)
    #expect(try b.head(of: head.chain) == head)
  }
}

extension TestServer {
  /// Gives a chain blocks of no effect, as if it had grown for years. Their hashes are invented.
  fileprivate func plantBlocks(
    _ count: Int64, after head: KnownHead, by device: TestDevice
  ) throws -> KnownHead {
    let (key, chain) = (device.publicKey, head.chain)
    let last = KnownHead(chain: chain, epoch: head.epoch + count, hash: Random.bytes(32))
    try database.write(for: nil) { transaction in
      for start in stride(from: head.epoch + 1, through: last.epoch, by: 512) {
        try transaction.insert(
          (start...min(start + 511, last.epoch)).map { epoch in
            [
              .integer(epoch), .blob(last.hash), .blob(last.hash), .blob(key), .blob([]),
              .blob([]), .blob([UInt8](repeating: 0, count: 64)), .integer(0), .integer(0),
            ]
          }, of: chain,
          into: """
            chain_blocks (chain_id, epoch, parent_hash, hash, author_key, additions, removals,
              signature, bytes, stored_ms)
            """)
      }
      try transaction.execute(
        "UPDATE sync.chains SET head_epoch = $2, head_hash = $3 WHERE id = $1", .id(chain),
        .integer(last.epoch), .blob(last.hash))
    }
    return last
  }
}
