import Base
import Crypto
import JSON
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Commits: a block, and the messages that tell of it, stored together or not at all.
@Suite struct CommitTests {
  @Test(arguments: TestEngine.available)
  func `a commit is a block, an entry for each other member and a welcome for who joins`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(4)
    let (a, b, c, d) = (devices[0], devices[1], devices[2], devices[3])
    let head = try a.chain(with: [b, c])
    let made = MadeCommit(a.block(after: head, adding: [d], removing: [c]), welcome: [7])
    let answer = try a.commit(made)
    #expect(answer.status == 200)
    #expect(try answer.json["refused"].array?.isEmpty == true)
    #expect(try KnownHead(answer.json["chain"]["head"], of: head.chain) == KnownHead(made.block))
    // Who leaves is told, too. The author knows.
    #expect(
      try devices.map { try server.mail(of: $0) } == [[], ["commit"], ["commit"], ["welcome"]])
    let block = try b.get("/v1/chains/\(head.chain)/blocks?since=1").json["blocks"][0]
    #expect(block["commit"].string == made.id.description)
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `a commit and a welcome with a large tree, of a mebibyte each, fit in one request`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, freeByteCount: 10_000_000)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    let head = try a.chain(with: [b])
    let (commit, welcome) = (
      [UInt8](repeating: 1, count: 1 << 20), [UInt8](repeating: 2, count: 1 << 20)
    )
    let made = MadeCommit(a.block(after: head, adding: [c]), body: commit, welcome: welcome)
    #expect(try a.commit(made).status == 200)
    #expect(try b.mailBodies() == [commit])
    #expect(try c.mailBodies() == [welcome])
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `a device that joins anew gets the commit and the welcome`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    let head = try a.chain(with: [b])
    let made = MadeCommit(a.block(after: head, adding: [b], removing: [b]), welcome: [7])
    #expect(try a.commit(made).status == 200)
    #expect(try server.mail(of: b) == ["commit", "welcome"])
  }

  @Test(arguments: TestEngine.available)
  func `a refused block leaves no message, and messages without room leave no block`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    let head = try a.chain(with: [b])
    let wrong = MadeCommit(a.block(after: head, adding: [b]), welcome: [7])
    #expect(try a.rule(a.commit(wrong)) == "already_member")
    let usage = try a.usage()
    try server.setCap(a.account, usage + 2000, plan: "free", reason: "never_subscribed")
    var large = MadeCommit(a.block(after: head, adding: [c]), welcome: [7])
    large.body = [UInt8](repeating: 1, count: 4000)
    #expect(try a.commit(large).problem == "over_cap")
    #expect(try server.count("mailbox_messages") == 0)
    #expect(try a.head(of: head.chain) == head)
    #expect(try a.usage() == usage)
    try server.requireChains(a)
  }

  @Test(arguments: TestEngine.available)
  func `a full account removes a device by a commit, up to a bound, and adds none`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(4)
    let (a, b, c, d) = (devices[0], devices[1], devices[2], devices[3])
    let head = try a.chain(with: [b, c])
    try server.setCap(a.account, 1000, plan: "free", reason: "never_subscribed")
    let joining = MadeCommit(a.block(after: head, adding: [d], removing: [c]), welcome: [7])
    #expect(try a.commit(joining).problem == "over_cap")
    let leaving = MadeCommit(a.block(after: head, removing: [c]))
    #expect(try a.commit(leaving).status == 200)
    #expect(try a.chainMembers(head.chain) == [a.publicKey, b.publicKey])
    for device in [b, c] { #expect(try server.mail(of: device) == ["commit"]) }
    try server.requireChains(a)
    try server.change("UPDATE sync.mailbox_totals SET message_count = 1000")
    let last = a.block(after: KnownHead(leaving.block), removing: [b])
    #expect(try a.commit(MadeCommit(last)).problem == "over_cap")
    try a.append(last)
  }

  @Test(arguments: TestEngine.available)
  func `a commit that is sent again is stored once, and another one for its block is refused`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    let head = try a.chain(with: [b])
    let made = MadeCommit(a.block(after: head))
    #expect(try a.commit(made).json["repeated"].bool == false)
    let usage = try a.usage()
    #expect(try a.commit(made).json["repeated"].bool == true)
    #expect(try a.usage() == usage)
    #expect(try server.mail(of: b) == ["commit"])
    let other = try a.commit(MadeCommit(made.block))
    #expect(try other.problem == "commit_differs")
    #expect(try other.json["commit"].string == made.id.description)
    #expect(try server.mail(of: b) == ["commit"])
  }

  @Test(arguments: TestEngine.available)
  func `a commit or a welcome with another body under the id of one that waits is no repeat`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    let head = try a.chain(with: [b])
    let made = MadeCommit(a.block(after: head, adding: [c]), welcome: [7])
    #expect(try a.commit(made).status == 200)
    var other = made
    other.body = [9]
    #expect(try a.commit(other).problem == "message_differs")
    other = made
    other.welcome = [9]
    #expect(try a.commit(other).problem == "message_differs")
    #expect(try a.commit(made).json["repeated"].bool == true)
  }

  @Test(arguments: TestEngine.available)
  func `the commit of the older member takes the place of another's`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(4)
    let (a, b, c, d) = (devices[0], devices[1], devices[2], devices[3])
    let head = try a.chain(with: [b])
    let (ofA, ofB) = (
      MadeCommit(a.block(after: head, adding: [c]), welcome: [1]),
      MadeCommit(b.block(after: head, adding: [d]), welcome: [2])
    )
    #expect(try b.commit(ofB).status == 200)
    #expect(try a.commit(ofA).status == 200)
    #expect(try b.commit(ofB).problem == "head_changed")
    // Which of the commits counts, the block says.
    #expect(try server.mail(of: b) == ["commit"])
    #expect(try server.mail(of: a) == ["commit"])
    let block = try b.get("/v1/chains/\(head.chain)/blocks?since=1").json["blocks"][0]
    #expect(block["commit"].string == ofA.id.description)
  }

  @Test(arguments: TestEngine.available)
  func `members of one chain reach each other, though their accounts are no contacts`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let carol = try server.register()
    try server.introduce(ada, carol)
    let head = try ada.chain(with: [bob, carol])
    let answer = try bob.commit(MadeCommit(bob.block(after: head)))
    #expect(try answer.json["refused"].array?.isEmpty == true)
    #expect(try server.mail(of: carol) == ["commit"])
    try carol.send(carol.sign("PUT", "/v1/blocks/\(try bob.account)")).requireSuccess()
    let blocked = try bob.commit(MadeCommit(bob.block(after: bob.head(of: head.chain))))
    #expect(try blocked.json["refused"][0]["reason"].string == "unknown")
  }

  @Test(arguments: TestEngine.available)
  func `a message of a chain goes to its members, and is refused from who left`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    var head = try a.chain(with: [b, c])
    try c.tell(head).requireSuccess()
    #expect(try devices.map { try server.mail(of: $0) } == [["message"], ["message"], []])
    let before = head
    head = try a.append(a.block(after: head, removing: [c]))
    #expect(try c.tell(head).problem == "not_member")
    #expect(try b.tell(before).problem == "epoch_passed")
    #expect(try server.count("mailbox_messages") == 1)
    try b.tell(head).requireSuccess()
    #expect(try server.mail(of: c).isEmpty)
  }

  @Test(arguments: TestEngine.available)
  func `a message is repeated although a member's key was revoked meanwhile`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    let head = try a.chain(with: [b, c])
    let id = Random.identifier()
    try a.tell(head, id).requireSuccess()
    try b.revoke(key: c.publicKey).requireSuccess()
    try a.tell(head, id).requireSuccess()
    #expect(try server.mail(of: b) == ["message"])
  }

  @Test(arguments: TestEngine.available)
  func `a message is repeated although its epoch has passed meanwhile`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    let head = try a.chain(with: [b])
    let id = Random.identifier()
    try a.tell(head, id).requireSuccess()
    _ = try b.append(b.block(after: head))
    try a.tell(head, id).requireSuccess()
    #expect(try a.tell(head).problem == "epoch_passed")
    #expect(try server.mail(of: b) == ["message"])
  }

  @Test(arguments: TestEngine.available)
  func `a commit is repeated although it has expired in a mailbox, and a message is not`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    let first = try a.chain(with: [b])
    let made = MadeCommit(a.block(after: first))
    try a.commit(made).requireSuccess()
    let (head, id) = (try a.head(of: first.chain), Random.identifier())
    try a.tell(head, id).requireSuccess()
    server.clock.advance(.days(90))
    try server.sweeper().sweep()
    #expect(try server.mail(of: b).isEmpty)
    #expect(try a.commit(made).json["repeated"].bool == true)
    #expect(try a.tell(head, id).problem == "message_expired")
  }

  @Test(arguments: TestEngine.available)
  func `the same message to another chain is no repeat`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    let (first, second) = (try a.chain(with: [b]), try a.chain(with: [b]))
    let id = Random.identifier()
    try a.tell(first, id).requireSuccess()
    #expect(try a.tell(second, id).problem == "message_differs")
    #expect(try server.mail(of: b) == ["message"])
  }

  @Test func `a commit that no device could make is refused with its place`() throws {
    let server = try TestServer()
    let device = try server.register()
    let head = try device.chain()
    let block = device.block(after: head)
    var twice = MadeCommit(block, welcome: [1])
    twice.welcomeID = twice.id
    for made in [twice, MadeCommit(block, welcome: [1]), MadeCommit(block, body: [])] {
      #expect(try device.commit(made).problem == "body_invalid")
    }
    let long = MadeCommit(block, body: [UInt8](repeating: 1, count: (1 << 20) + 1))
    #expect(try device.commit(long).problem == "body_invalid")
    #expect(try device.head(of: head.chain) == head)
  }
}

/// A commit as a device makes it.
struct MadeCommit {
  let block: MadeBlock
  let id = Random.identifier()
  var body: [UInt8]
  var welcomeID = Random.identifier()
  var welcome: [UInt8]?

  init(_ block: MadeBlock, body: [UInt8] = [1, 2, 3], welcome: [UInt8]? = nil) {
    (self.block, self.body, self.welcome) = (block, body, welcome)
  }
}

extension TestDevice {
  func commit(_ made: MadeCommit) throws -> Answer {
    var members: [JSONValue.Member] = [
      .init("blocks", .array([made.block.json(signedBy: key)])),
      .init("commit", ["id": .string(made.id.description), "body": .base64(made.body)]),
    ]
    if let welcome = made.welcome {
      members.append(
        .init(
          "welcome", ["id": .string(made.welcomeID.description), "body": .base64(welcome)]))
    }
    return try post("/v1/chains/\(made.block.chain)/commits", .object(members))
  }

  /// Sends a message to the other members of a chain.
  func tell(_ head: KnownHead, _ id: Identifier = Random.identifier()) throws -> Answer {
    try post(
      "/v1/chains/\(head.chain)/messages",
      [
        "epoch": .integer(head.epoch),
        "message": ["id": .string(id.description), "body": .base64([5])],
      ])
  }
}

extension TestServer {
  /// The kinds of the messages that wait in a device's mailbox, in order.
  func mail(of device: TestDevice) throws -> [String] {
    try database.read { reader in
      try reader.rows(
        """
        SELECT m.kind FROM sync.mailbox_entries AS e JOIN sync.mailbox_messages AS m
          ON m.sender_id = e.sender_id AND m.number = e.message_number
        WHERE e.public_key = $1 ORDER BY e.number
        """, .blob(device.publicKey)
      ) { row in try row.text(0) }
    }
  }
}
