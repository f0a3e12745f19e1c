import Accounts
import Base
import Chains
import Crypto
import JSON
import RawClient
import Storage
import Streams
import Sync
import TestDevices
import TestEngines
import Testing

/// What chains bring to coffer-sync besides their routes: charges, deletion, erasure, checks.
@Suite struct ChainRoomTests {
  @Test(arguments: TestEngine.available)
  func `a chain is charged to the account that made it, with the blocks of others`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let (before, bobs) = (try ada.usage(), try bob.usage())
    let head = try ada.chain(with: [bob])
    #expect(try ada.usage() == before + 1000 + 2 * (256 + 128))
    try bob.append(bob.block(after: head))
    #expect(try ada.usage() == before + 1000 + 3 * 256 + 2 * 128)
    #expect(try bob.usage() == bobs)
    try server.requireChains(ada)
    try ada.remove("/v1/chains/\(head.chain)").requireSuccess()
    #expect(try ada.usage() == before)
    try server.requireChains(ada)
  }

  @Test(arguments: TestEngine.available)
  func `above the cap and suspended a device can still be removed, and nothing else`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    var head = try a.chain(with: [b, c])
    try server.setCap(a.account, 1000, plan: "free", reason: "never_subscribed")
    #expect(try a.send(a.block(after: head)).problem == "over_cap")
    head = try a.append(a.block(after: head, removing: [c]))
    try server.suspend(a.account, since: server.clock.now)
    #expect(try a.send(a.block(after: head, adding: [c])).problem == "account_suspended")
    try a.append(a.block(after: head, removing: [b]))
    #expect(try a.chainMembers(head.chain) == [a.publicKey])
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `the account that made a chain deletes it, and its rows go later`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let head = try ada.chain(with: [bob])
    try ada.remove("/v1/chains/\(head.chain)").requireSuccess()
    #expect(try bob.get("/v1/chains/\(head.chain)").problem == "chain_not_found")
    #expect(try ada.makeChain(ada.chainRoot(head.chain)).problem == "chain_exists")
    try server.sweeper().sweep()
    #expect(
      try ["chains", "chain_blocks", "chain_members", "chain_accounts"].map {
        try server.count($0)
      } == [0, 0, 0, 0])
    #expect(try ada.makeChain(ada.chainRoot(head.chain)).status == 201)
  }

  @Test(arguments: TestEngine.available)
  func `an erased account leaves its keys in others' blocks, and nothing else of chains`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let (own, others) = (try bob.chain(), try ada.chain(with: [bob]))
    _ = own
    #expect(try bob.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
    #expect(try server.count("chains") == 1)
    #expect(try server.count("chain_accounts") == 1)
    let members = try ada.get("/v1/chains/\(others.chain)").json["members"]
    #expect(members[1]["account"].isNull)
    try server.requireChains(ada)
    try ada.append(ada.block(after: others, removing: [bob]))
    try server.requireChains(ada)
  }

  @Test(arguments: TestEngine.available)
  func `while the account of a member is erased nothing seems wrong with a chain`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    _ = try ada.chain(with: [bob])
    let keyCount = try server.count("device_keys")
    #expect(try bob.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    while try server.count("device_keys") == keyCount {
      try #require(try server.sweeper().sweepErasure())
    }
    #expect(try server.count("chain_accounts") == 2)
    try server.requireChains(ada)
  }

  @Test(arguments: TestEngine.available)
  func `while an account is erased nothing seems wrong with what is left of its chains`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let ada = try server.register()
    let account = try ada.account
    _ = try ada.chain()
    #expect(try ada.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    while try server.count("chain_blocks") > 0 {
      try #require(try server.sweeper().sweepErasure())
    }
    #expect(try server.count("chains") == 1)
    #expect(try SignatureChains.faults(of: account, in: server.database) == [])
  }

  @Test(arguments: TestEngine.available)
  func `a member that listens is told when the owner of its chain is leaving, and when not`(
    engine: TestEngine
  ) throws {
    var silent = StreamLimits()
    silent.heartbeat = .hours(1)
    let server = try TestServer(engine, streams: silent)
    let (ada, bob) = try server.contacts()
    _ = try ada.chain(with: [bob])
    let stream = try RawStream.open(bob, server)
    // The news do not name a chain, because the list of chains is what says so.
    func isTold() -> Bool {
      while let data = stream.next() {
        if data.contains(#""chains":true"#) { return true }
      }
      return false
    }
    #expect(try ada.remove("/v1/account").status == 202)
    #expect(isTold())
    #expect(try ada.remove("/v1/account/deletion").status == 204)
    #expect(isTold())
  }

  @Test(arguments: TestEngine.available)
  func `a key of an erased account comes back in another one once no chain has it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let carol = try server.register()
    try server.introduce(ada, carol)
    var head = try ada.chain(with: [bob])
    #expect(try bob.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
    #expect(try carol.admit(bob).problem == "key_registered")
    head = try ada.append(ada.block(after: head, removing: [bob]))
    #expect(try carol.admit(bob).status == 201)
    try ada.append(ada.block(after: head, adding: [bob]))
    try server.requireChains(ada)
  }

  @Test(arguments: TestEngine.available)
  func `rows that disagree with the blocks are found, and the bytes put right by a recount`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let a = devices[0]
    _ = try a.chain(with: [devices[1]])
    let usage = try a.usage()
    for damage in [
      "UPDATE sync.chains SET member_count = member_count + 1",
      "UPDATE sync.chains SET head_epoch = head_epoch + 1",
      "UPDATE sync.chain_accounts SET member_count = member_count + 1",
      "UPDATE sync.chain_blocks SET parent_hash = hash WHERE epoch = 1",
    ] {
      #expect(try server.faults(of: a, after: damage).count == 1, "\(damage)")
    }
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute("UPDATE sync.chains SET bytes = bytes + 1")
    }
    #expect(try SignatureChains.faults(of: a.account, in: server.database).count == 1)
    _ = try server.chainRecount.correct(a.account, now: server.clock.now)
    #expect(try a.usage() == usage)
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `a block that its author did not sign is found in each chain, and changes no charge`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let a = devices[0]
    let heads = [try a.chain(with: [devices[1]]), try a.chain(with: [devices[1]])]
    let usage = try a.usage()
    try server.change(
      """
      UPDATE sync.chain_blocks SET signature = (
        SELECT b.signature FROM sync.chain_blocks AS b
        WHERE b.chain_id = chain_blocks.chain_id AND b.epoch = 1)
      WHERE epoch = 0
      """)
    let sentence = "The signature does not match the author and the block."
    let rule = "breaks the rule signature_invalid: \(sentence)"
    #expect(
      try Set(SignatureChains.faults(of: a.account, in: server.database))
        == Set(heads.map { "of the chain \($0.chain), the block 0 \(rule)" }))
    // The blocks after it are not read.
    _ = try server.chainRecount.correct(a.account, now: server.clock.now)
    #expect(try a.usage() == usage)
  }

  @Test(arguments: TestEngine.available)
  func `an account leaves a chain of another, and gets nothing of it any more`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let head = try ada.chain(with: [bob])
    let path = "/v1/chains/\(head.chain)"
    try bob.remove(path).requireSuccess()
    #expect(try bob.get("/v1/chains").json["chains"].array?.isEmpty == true)
    #expect(try bob.get(path).problem == "chain_not_found")
    #expect(try bob.send(bob.block(after: head)).problem == "chain_not_found")
    #expect(try bob.tell(head).problem == "chain_not_found")
    #expect(try bob.remove(path).problem == "chain_not_found")
    try ada.tell(head).requireSuccess()
    let members = try ada.get(path).json["members"]
    #expect(members[0]["left"].bool == false)
    #expect(members[1]["left"].bool == true)
    #expect(try ada.commit(MadeCommit(ada.block(after: head, removing: [bob]))).status == 200)
    #expect(try server.mail(of: bob).isEmpty)
    #expect(try server.count("chain_accounts") == 1)
    try server.requireChains(ada)
  }

  @Test(arguments: TestEngine.available)
  func `an account that left is added again after a block removed its devices, and not before`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    var head = try ada.chain(with: [bob])
    try bob.remove("/v1/chains/\(head.chain)").requireSuccess()
    let atOnce = try ada.send(ada.block(after: head, adding: [bob], removing: [bob]))
    #expect(try atOnce.problem == "invitation_not_taken")
    try server.requireChains(ada)
    head = try ada.append(ada.block(after: head, removing: [bob]))
    head = try ada.append(ada.block(after: head, adding: [bob]))
    #expect(try bob.head(of: head.chain) == head)
    try server.requireChains(ada)
  }

  @Test(arguments: TestEngine.available)
  func `one contact fills a quarter of an account's places in chains of others`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let carol = try server.register()
    try server.introduce(carol, bob)
    let chains = try (0..<64).map { _ in try ada.chain(with: [bob]) }
    let last = try ada.chain()
    let full = try ada.send(ada.block(after: last, adding: [bob]))
    #expect(try full.problem == "invitation_not_taken")
    _ = try carol.chain(with: [bob])
    try bob.remove("/v1/chains/\(chains[0].chain)").requireSuccess()
    try ada.append(ada.block(after: last, adding: [bob]))
    #expect(try bob.get("/v1/chains").json["chains"].array?.count == 65)
  }

  @Test(arguments: TestEngine.available)
  func `an account has places in at most 256 chains of others, whoever adds it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let (account, owner) = (try bob.account, try server.register().account)
    try server.database.write(for: nil) { transaction in
      let bytes = SQLValue.blob([UInt8](repeating: 0, count: 32))
      for _ in 0..<255 {
        let chain = SQLValue.id(Random.identifier())
        try transaction.execute(
          """
          INSERT INTO sync.chains (id, owner_id, own, head_epoch, head_hash, member_count, bytes,
            created_ms)
          VALUES ($1, $2, 0, 0, $3, 1, 0, 0)
          """, chain, .id(owner), bytes)
        try transaction.execute(
          """
          INSERT INTO sync.chain_accounts (chain_id, account_id, owner_id, member_count, added_by)
          VALUES ($1, $2, $3, 1, $4)
          """, chain, .id(account), .id(owner), bytes)
      }
    }
    let heads = [try ada.chain(), try ada.chain()]
    try ada.append(ada.block(after: heads[0], adding: [bob]))
    let full = try ada.send(ada.block(after: heads[1], adding: [bob]))
    #expect(try full.problem == "invitation_not_taken")
  }

  @Test func `a chain takes no block after the millionth`() throws {
    let server = try TestServer()
    let ada = try server.register()
    let head = try ada.chain()
    try server.change(
      "UPDATE sync.chains SET head_epoch = 999999 WHERE id = $1", .id(head.chain))
    let last = try ada.append(
      ada.block(after: KnownHead(chain: head.chain, epoch: 999_999, hash: head.hash)))
    let next = ada.block(after: last)
    for blocks in [[next], [next, ada.block(after: KnownHead(next))]] {
      let full = try ada.send(blocks.map { $0.json(signedBy: ada.key) }, to: head.chain)
      #expect(try (full.status, full.problem) == (409, "chain_full"))
    }
  }

  @Test(arguments: TestEngine.available)
  func `an account has at most 256 chains`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    for _ in 0..<256 { #expect(try device.makeChain(device.chainRoot()).status == 201) }
    #expect(try device.makeChain(device.chainRoot()).problem == "too_many_chains")
  }
}

extension TestServer {
  /// The faults while some damage is done, which is undone then.
  fileprivate func faults(of device: TestDevice, after damage: String) throws -> [String] {
    let account = try device.account
    let saved = try database.read { reader in
      try reader.rows(
        "SELECT member_count, head_epoch FROM sync.chains WHERE owner_id = $1", .id(account)
      ) { row in (try row.integer(0), try row.integer(1)) }[0]
    }
    let parent = try database.read { reader in
      try reader.first("SELECT parent_hash FROM sync.chain_blocks WHERE epoch = 1") { row in
        try row.blob(0)
      }
    }
    try database.write(for: nil) { transaction in _ = try transaction.execute(damage) }
    let faults = try SignatureChains.faults(of: account, in: database)
    try database.write(for: nil) { transaction in
      try transaction.execute(
        "UPDATE sync.chains SET member_count = $1, head_epoch = $2", .integer(saved.0),
        .integer(saved.1))
      try transaction.execute("UPDATE sync.chain_accounts SET member_count = $1", .integer(saved.0))
      try transaction.execute(
        "UPDATE sync.chain_blocks SET parent_hash = $1 WHERE epoch = 1", .blob(parent))
    }
    return faults
  }
}
