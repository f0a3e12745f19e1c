import Base
import Crypto
import JSON
import Mailboxes
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// The cost of the most expensive messages, in statements and rows while locks are held; counted, not timed.
@Suite struct MailboxWorstCaseTests {
  @Test(arguments: TestEngine.available)
  func `a message to devices of 256 accounts costs as much for each, and one to 257 is refused`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let ada = try server.register()
    let contacts = try server.plantContacts(257, of: ada)
    let before = server.database.writeWork
    #expect(try ada.mail(to: contacts.map(\.key)).problem == "body_invalid")
    #expect(server.database.writeWork == before)
    let (receivers, usage) = (contacts.dropLast().map(\.key), try ada.usage())
    for time in Int64(1)...2 {
      let work = try server.writes { try ada.mail(to: receivers).requireSuccess() }
      // Each account is locked and saved, and gets an entry, a mailbox and a sender.
      #expect(work.statementCount <= 256 * 5 + 60)
      // Each device is read before the locks and after them.
      #expect(work.rowCount <= 256 * 8 + 60)
      #expect(try server.count("mailbox_entries") == 256 * time)
      #expect(try server.count("mailbox_messages") == time)
    }
    #expect(try ada.usage() == usage + 2 * (1000 + 128 * 257 + 3))
    try server.requireMailboxes(ada)
    for contact in contacts.prefix(3) {
      #expect(try DeviceMailboxes.faults(of: contact.account, in: server.database) == [])
    }
  }

  @Test(arguments: TestEngine.available)
  func `a message costs the same, whoever else its accounts know and whatever else waits`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    func cost() throws -> DatabaseWork {
      try server.writes { try ada.mail(to: [bob.publicKey]).requireSuccess() }
    }
    // The first message makes rows that later ones change.
    _ = try cost()
    let few = try cost()
    for device in [ada, bob] {
      let others = try server.plantContacts(300, of: device)
      try device.mail(to: others.prefix(256).map(\.key)).requireSuccess()
    }
    for _ in 0..<50 { try bob.mail(to: [bob.publicKey]).requireSuccess() }
    let many = try cost()
    #expect(many.statementCount == few.statementCount)
    #expect(many.rowCount == few.rowCount)
    #expect(many.stepCount <= few.stepCount + 100)
  }

  @Test(arguments: TestEngine.available)
  func `a message to 256 accounts that nobody read comes back by one write for it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let ada = try server.register()
    let contacts = try server.plantContacts(256, of: ada)
    try ada.mail(to: contacts.map(\.key)).requireSuccess()
    server.clock.advance(.days(90))
    let work = try server.writes { try server.sweeper().sweep() }
    #expect(work.statementCount <= 256 * 2 + 200)
    #expect(work.rowCount <= 256 * 8 + 200)
    #expect(try server.count("mailbox_entries") == 1)
    let told = try ada.mailbox()["messages"]
    #expect(told[0]["kind"].string == "expired")
    #expect(told[0]["devices"].array?.count == 256)
    try server.requireMailboxes(ada)
  }

  @Test(arguments: TestEngine.available)
  func `messages that nobody read come back by fifty in a transaction, in their order`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let ids = (0..<60).map { _ in Random.identifier() }
    for id in ids { try ada.mail(id, to: [bob.publicKey]).requireSuccess() }
    let entryCount = try server.count("usage_entries")
    server.clock.advance(.days(90))
    try server.sweeper().sweep()
    // A transaction adds one entry to the usage ledger.
    #expect(try server.count("usage_entries") == entryCount + 2)
    let told = try ada.mailbox()["messages"].array ?? []
    #expect(told.compactMap { $0["id"].identifier } == ids)
    #expect(told.allSatisfy { $0["kind"].string == "expired" })
    #expect(try bob.mailBodies().isEmpty)
    try server.requireMailboxes(ada, bob)
  }
}

/// The cost of the largest changes of a group.
@Suite struct CommitWorstCaseTests {
  @Test(arguments: TestEngine.available)
  func `a commit to 255 other members costs as much for each, and a 257th does not join`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let ada = try server.register()
    let contacts = try server.plantContacts(256, of: ada)
    var joining = try ada.block(after: ada.chain())
    joining.additions = contacts.prefix(255).map(\.key)
    let join = try server.writes { try ada.commitToAll(joining, welcome: [7]) }
    #expect(join.statementCount <= 255 * 10 + 100)
    #expect(join.rowCount <= 255 * 20 + 150)
    let head = KnownHead(joining)
    var over = ada.block(after: head)
    over.additions = [contacts[255].key]
    #expect(try ada.rule(ada.commit(MadeCommit(over, welcome: [7]))) == "too_many_members")
    #expect(try server.count("mailbox_entries") == 255)
    let stay = try server.writes { try ada.commitToAll(ada.block(after: head)) }
    let message = try server.writes {
      try ada.tell(ada.head(of: head.chain)).requireSuccess()
    }
    for work in [stay, message] {
      #expect(work.statementCount <= 255 * 5 + 100)
      #expect(work.rowCount <= 255 * 12 + 150)
    }
    #expect(try server.count("mailbox_entries") == 3 * 255)
    try server.requireChains(ada)
    #expect(try DeviceMailboxes.faults(of: contacts[0].account, in: server.database) == [])
  }

  @Test func `a commit by which all others leave and as many join costs as much for each`() throws {
    let server = try TestServer()
    let ada = try server.register()
    let contacts = try server.plantContacts(510, of: ada)
    var joining = try ada.block(after: ada.chain())
    joining.additions = contacts.prefix(255).map(\.key)
    try ada.commitToAll(joining, welcome: [7])
    var swapping = ada.block(after: KnownHead(joining))
    (swapping.removals, swapping.additions) = (
      joining.additions, contacts.suffix(255).map(\.key)
    )
    let work = try server.writes { try ada.commitToAll(swapping, welcome: [7]) }
    #expect(work.statementCount <= 510 * 10 + 100)
    #expect(work.rowCount <= 510 * 20 + 150)
    #expect(try server.count("mailbox_entries") == 255 + 510)
    try server.requireChains(ada)
  }
}

extension TestDevice {
  /// Makes a commit that every receiver must take.
  fileprivate func commitToAll(_ block: MadeBlock, welcome: [UInt8]? = nil) throws {
    let answer = try commit(MadeCommit(block, welcome: welcome))
    guard answer.status == 200, try answer.json["refused"].array?.isEmpty == true else {
      throw UnexpectedAnswer(answer)
    }
  }
}
