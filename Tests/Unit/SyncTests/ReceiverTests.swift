import Accounts
import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Messages of strangers that an account has to accept, and its ways to refuse them.
@Suite struct ReceiverTests {
  private func server(_ engine: TestEngine = .sqlite, max: Int64) throws -> TestServer {
    var limits = SyncLimits()
    limits.receivedInvitationCountMax = max
    return try TestServer(engine, limits: limits)
  }

  @Test(arguments: TestEngine.available)
  func `many accounts together send one stranger no more than he bears`(
    engine: TestEngine
  ) throws {
    let server = try server(engine, max: 5)
    let victim = try server.register()
    let account = try victim.account
    var taken = 0
    for _ in 0..<4 {
      let spammer = try server.register()
      for _ in 0..<3 {
        let answer = try spammer.grant(spammer.add(), to: account)
        if answer.status == 200 {
          taken += 1
        } else {
          #expect(answer.status == 422)
          #expect(try answer.rules == ["invitation_not_taken"])
        }
      }
    }
    #expect(taken == 5)
    #expect(try victim.pulled().shares.count == 5)
  }

  @Test func `one batch is refused where it holds more than the receiver bears`() throws {
    let server = try server(max: 2)
    let (alice, bob) = (try server.register(), try server.register())
    let account = try bob.account
    let files = try (0..<3).map { _ in try alice.add() }
    func grant(_ files: ArraySlice<Identifier>) throws -> Answer {
      try alice.batch(
        shares: files.map { file in ShareChange.grant(file, to: account) })
    }
    let refused = try grant(files[...])
    #expect(
      try refused.failures == [
        Failure(
          file: files[2].description, account: account.description,
          rule: "invitation_not_taken")
      ])
    #expect(try grant(files[..<2]).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `an answer makes room among those that wait, not among those of the day`(
    engine: TestEngine
  ) throws {
    let server = try server(engine, max: 2)
    let (bob, strangers) = (
      try server.register(), try (0..<4).map { _ in try server.register() }
    )
    let files = try strangers.map { try $0.add() }
    for index in 0..<2 {
      #expect(try strangers[index].grant(files[index], to: bob.account).status == 200)
    }
    try bob.reject(files[0]).requireSuccess()
    #expect(
      try strangers[2].grant(files[2], to: bob.account).rules == ["invitation_not_taken"])
    server.clock.advance(.days(1))
    #expect(try strangers[2].grant(files[2], to: bob.account).status == 200)
    // Another day has passed, but two invitations are waiting.
    server.clock.advance(.days(1))
    #expect(
      try strangers[3].grant(files[3], to: bob.account).rules == ["invitation_not_taken"])
  }

  @Test func `contacts, and who has paid and is not young, pass a stranger's limit`() throws {
    let server = try server(max: 0)
    let (alice, bob, payer) = (
      try server.register(), try server.register(), try server.register()
    )
    let file = try alice.add()
    #expect(try alice.grant(file, to: bob.account).rules == ["invitation_not_taken"])
    try server.setCap(payer.account, 1_000_000, plan: "premium", reason: "subscribed")
    server.clock.advance(.days(7))
    #expect(try payer.grant(payer.add(), to: bob.account).status == 200)
    try server.setCap(bob.account, 1_000_000, plan: "premium", reason: "subscribed")
    try bob.share(bob.add(), with: alice)
    #expect(try alice.grant(file, to: bob.account).status == 200)
  }

  @Test(arguments: [false, true])
  func `an invitation costs the same, whatever contacts were offered before by or to either side`(
    isSender: Bool
  ) throws {
    let server = try TestServer()
    let (alice, bob, friend) = (
      try server.register(), try server.register(), try server.register()
    )
    if isSender {
      try alice.share(alice.add(), with: friend)
    } else {
      try friend.share(friend.add(), with: bob)
    }
    func cost() throws -> Int64 {
      let file = try alice.add()
      let account = try bob.account
      let (read, written) = (server.database.readWork, server.database.writeWork)
      try alice.grant(file, to: account).requireSuccess()
      return (server.database.readWork - read).stepCount
        + (server.database.writeWork - written).stepCount
    }
    _ = try cost()
    let few = try cost()
    if isSender {
      try server.plantOffers(1000, of: alice.account, to: friend.account)
    } else {
      try server.plantOffers(1000, of: friend.account, to: bob.account)
    }
    #expect(try cost() < few + 500)
  }

  // MARK: Blocks

  @Test(arguments: TestEngine.available)
  func `a blocked account's invitations are refused like those that are too many`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    let path = "/v1/blocks/\(try alice.account)"
    #expect(try bob.send(bob.sign("PUT", path)).status == 204)
    #expect(try bob.send(bob.sign("PUT", path)).status == 204)
    #expect(
      try bob.get("/v1/blocks").json["blocks"].array?.map(\.string)
        == [try alice.account.description])
    let refused = try alice.grant(file, to: bob.account)
    #expect(refused.status == 422)
    #expect(try refused.rules == ["invitation_not_taken"])
    #expect(try bob.pulled().shares.isEmpty)
    // A blocked account may be invited.
    #expect(try bob.grant(bob.add(), to: alice.account).status == 200)
    #expect(try bob.send(bob.sign("DELETE", path)).status == 204)
    #expect(try alice.grant(file, to: bob.account).status == 200)
  }

  @Test func `what was accepted before a block stays as its owner changes it`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    try alice.share(file, with: bob)
    #expect(try bob.send(bob.sign("PUT", "/v1/blocks/\(try alice.account)")).status == 204)
    #expect(
      try alice.grant(file, to: bob.account, mode: "write", expect: "accepted").status == 200)
    #expect(try alice.grant(alice.add(), to: bob.account).rules == ["invitation_not_taken"])
  }

  @Test func `whoever pays is blocked like anybody`() throws {
    let server = try TestServer()
    let (payer, bob) = (try server.register(), try server.register())
    try server.setCap(payer.account, 1_000_000, plan: "premium", reason: "subscribed")
    server.clock.advance(.days(8))
    #expect(try bob.send(bob.sign("PUT", "/v1/blocks/\(try payer.account)")).status == 204)
    #expect(try payer.grant(payer.add(), to: bob.account).rules == ["invitation_not_taken"])
  }

  @Test(arguments: ["1", "\(Random.identifier())"])
  func `nobody who does not exist is blocked`(account: String) throws {
    let server = try TestServer()
    let device = try server.register()
    let answer = try device.send(device.sign("PUT", "/v1/blocks/\(account)"))
    #expect(try answer.problem == "account_not_found")
  }

  @Test(arguments: TestEngine.available)
  func `an account blocks at most 1000 others`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    try server.fillBlocks(of: alice.account)
    let answer = try alice.send(alice.sign("PUT", "/v1/blocks/\(try bob.account)"))
    #expect(answer.status == 409)
    #expect(try answer.problem == "too_many_blocks")
    #expect(try alice.get("/v1/blocks").json["blocks"].array?.count == 1000)
  }
}

extension TestServer {
  /// Adds shares of files that wait for an answer.
  func plantOffers(_ count: Int64, of owner: Identifier, to account: Identifier) throws {
    try database.write(for: nil) { transaction in
      for index in 0..<count {
        try transaction.execute(
          """
          INSERT INTO sync.shares (file_id, account_id, owner_id, mode, state, share_key,
            author_key, signature, seq, changed_ms)
          VALUES ($1, $2, $3, 'read', 'pending', $1, $1, $1, $4, 0)
          """, .id(Random.identifier()), .id(account), .id(owner), .integer(1_000_000 + index))
      }
    }
  }

  /// Makes an account block as many others as it may.
  func fillBlocks(of account: Identifier) throws {
    let (now, catalogue) = (clock.now, catalogue)
    try database.write(for: nil) { transaction in
      for _ in 0..<1000 {
        let other = NewAccount(
          id: Random.identifier(), username: nil, root: Random.identifier(),
          publicKey: Random.bytes(32))
        let id = try other.create(transaction, catalogue: catalogue, now: now).id
        try transaction.execute(
          "INSERT INTO sync.blocks (account_id, blocked_id, since_ms) VALUES ($1, $2, $3)",
          .id(account), .id(id), .instant(now))
      }
    }
  }
}
