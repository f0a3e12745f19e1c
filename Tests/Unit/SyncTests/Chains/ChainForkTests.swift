import Base
import JSON
import Storage
import TestDevices
import TestEngines
import Testing

/// Two devices make a block each for the same parent: the one that has been a member for longer wins, and the other
/// makes its block anew.
@Suite struct ChainForkTests {
  @Test(arguments: TestEngine.available)
  func `A adds C while B adds D, and both are members in the end`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(4)
    let (a, b, c, d) = (devices[0], devices[1], devices[2], devices[3])
    let head = try a.chain(with: [b])
    let (addsC, addsD) = (a.block(after: head, adding: [c]), b.block(after: head, adding: [d]))
    // B is faster. A has been a member for longer.
    try b.append(addsD)
    let usage = try a.usage()
    let won = try a.send(addsC)
    #expect(won.status == 200)
    #expect(try KnownHead(won.json["head"], of: head.chain) == KnownHead(addsC))
    #expect(try won.json["replaced"]["epoch"].integer == 2)
    #expect(try won.json["replaced"]["hash"].base64 == addsD.hash)
    #expect(try a.chainMembers(head.chain) == [a.publicKey, b.publicKey, c.publicKey])
    #expect(try a.usage() == usage)
    let again = try b.send(addsD)
    #expect(try again.problem == "head_changed")
    #expect(try KnownHead(again.json["head"], of: head.chain) == KnownHead(addsC))
    try b.append(b.block(after: KnownHead(addsC), adding: [d]))
    #expect(try a.chainMembers(head.chain) == Set(devices.map(\.publicKey)))
    #expect(try a.epochs(of: head.chain) == [0, 1, 2, 3])
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `the younger member gets 409 with the head, whoever comes first`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(4)
    let (a, b, c, d) = (devices[0], devices[1], devices[2], devices[3])
    let head = try a.chain(with: [b])
    try a.append(a.block(after: head, adding: [c]))
    let lost = try b.send(b.block(after: head, adding: [d]))
    #expect(lost.status == 409)
    #expect(try lost.problem == "head_changed")
    #expect(try b.chainMembers(head.chain) == [a.publicKey, b.publicKey, c.publicKey])
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `an account that both blocks add is the contact of the one that stays`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let cyd = try server.register()
    for device in [ada, bob] { try server.introduce(device, cyd) }
    let head = try ada.chain(with: [bob])
    try bob.append(bob.block(after: head, adding: [cyd]))
    try ada.append(ada.block(after: head, adding: [cyd]))
    let account = try cyd.account
    let author = try server.database.read { reader in
      try reader.first(
        "SELECT added_by FROM sync.chain_accounts WHERE account_id = $1", .id(account)
      ) { row in try row.blob(0) }
    }
    #expect(author == ada.publicKey)
    try server.requireChains(ada)
  }

  @Test(arguments: TestEngine.available)
  func `of two that joined together the smaller key wins`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(5)
    let a = devices[0]
    let pair = devices[1...2].sorted { $0.publicKey.lexicographicallyPrecedes($1.publicKey) }
    let head = try a.chain(with: pair)
    let blocks = [
      pair[0].block(after: head, adding: [devices[3]]),
      pair[1].block(after: head, adding: [devices[4]]),
    ]
    try pair[1].append(blocks[1])
    try pair[0].append(blocks[0])
    #expect(try pair[1].send(blocks[1]).problem == "head_changed")
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `a block that removed somebody stays, and so does one that is not the last or a day old`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(4)
    let (a, b, c, d) = (devices[0], devices[1], devices[2], devices[3])
    var head = try a.chain(with: [b, c])
    let late = a.block(after: head, adding: [d])
    head = try b.append(b.block(after: head, removing: [c]))
    #expect(try a.send(late).problem == "head_changed")
    let stale = a.block(after: head, adding: [c])
    head = try b.append(b.block(after: head))
    head = try b.append(b.block(after: head))
    #expect(try a.send(stale).problem == "head_changed")
    let old = a.block(after: head, adding: [d])
    head = try b.append(b.block(after: head, adding: [c]))
    server.clock.advance(.hours(25))
    #expect(try a.send(old).problem == "head_changed")
    #expect(try a.head(of: head.chain) == head)
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `a member that a block removed does not undo it, though it was there first`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let helper = server.device(root: ada.root)
    #expect(try ada.admit(helper).status == 201)
    var head = try ada.chain(with: [bob])
    head = try ada.append(ada.block(after: head, adding: [helper]))
    let revenge = bob.block(after: head)
    try helper.append(helper.block(after: head, removing: [bob]))
    #expect(try bob.send(revenge).problem == "chain_not_found")
    #expect(try ada.chainMembers(head.chain) == [ada.publicKey, helper.publicKey])
  }

  @Test(arguments: TestEngine.available)
  func `who joined with the replaced block sees the chain no more`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let second = server.device(root: ada.root)
    #expect(try ada.admit(second).status == 201)
    let head = try ada.chain(with: [second])
    let adds = second.block(after: head, adding: [bob])
    try second.append(adds)
    #expect(try bob.head(of: head.chain) == KnownHead(adds))
    try ada.append(ada.block(after: head))
    #expect(try bob.get("/v1/chains/\(head.chain)").problem == "chain_not_found")
    #expect(try bob.get("/v1/chains").json["chains"].array?.isEmpty == true)
    try server.requireChains(ada)
  }

  @Test(arguments: TestEngine.available)
  func `devices that add members at the same time all succeed in the end`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(8)
    let (members, others) = (devices.prefix(4), devices.suffix(4))
    let chain = try devices[0].chain(with: Array(members.dropFirst())).chain
    let failures = Locked<[String]>([])
    let threads = zip(members, others).map { member, other in
      Thread {
        do { try member.keepAdding(other, to: chain) } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.withLock { $0 } == [])
    // A block that was stored may have given way to an older member's afterwards.
    for (member, other) in zip(members, others) { try member.keepAdding(other, to: chain) }
    #expect(try devices[0].chainMembers(chain) == Set(devices.map(\.publicKey)))
    try server.requireChains(devices[0])
  }
}

extension TestDevice {
  /// Adds a member, after whatever the head is, until it is one.
  fileprivate func keepAdding(_ other: TestDevice, to chain: Identifier) throws {
    while try !chainMembers(chain).contains(other.publicKey) {
      let answer = try send(block(after: head(of: chain), adding: [other]))
      guard answer.status != 200, try answer.problem != "head_changed" else { continue }
      // Between the two reads another block may have added it.
      guard answer.status == 422 else { throw UnexpectedAnswer(answer) }
    }
  }
}
