import Base
import Crypto
import JSON
import Mailboxes
import Storage
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
    let refused = try server.writes {
      #expect(try ada.mail(to: contacts.map(\.key)).problem == "body_invalid")
    }
    #expect(refused == DatabaseWork())
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
}

/// The cost of the largest changes of a group.
@Suite struct CommitWorstCaseTests {
  @Test(arguments: TestEngine.available)
  func `a commit costs as much for each member that leaves, stays or joins, and a 257th is refused`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let ada = try server.register()
    let contacts = try server.plantContacts(511, of: ada)
    let (first, second) = (contacts.prefix(255).map(\.key), contacts[255..<510].map(\.key))
    var head = try ada.chain()
    func cost(_ made: MadeCommit) throws -> DatabaseWork {
      try server.writes {
        let answer = try ada.commit(made)
        #expect(answer.status == 200)
        #expect(try answer.json["refused"].array?.isEmpty == true)
        head = KnownHead(made.block)
      }
    }
    var joining = ada.block(after: head)
    joining.additions = first
    let join = try cost(MadeCommit(joining, welcome: [7]))
    #expect(join.statementCount <= 255 * 10 + 100)
    #expect(join.rowCount <= 255 * 20 + 150)
    #expect(try server.count("mailbox_entries") == 255)
    let stay = try cost(MadeCommit(ada.block(after: head)))
    #expect(stay.statementCount <= 255 * 5 + 100)
    #expect(stay.rowCount <= 255 * 12 + 150)
    var over = ada.block(after: head)
    over.additions = [contacts[510].key]
    let refused = try ada.commit(MadeCommit(over, welcome: [7]))
    #expect(try ada.rule(refused) == "too_many_members")
    let message = try server.writes { try ada.tell(head).requireSuccess() }
    #expect(message.statementCount <= 255 * 5 + 100)
    #expect(message.rowCount <= 255 * 12 + 150)
    #expect(try server.count("mailbox_entries") == 3 * 255)
    // All others leave, and as many join.
    var swapping = ada.block(after: head)
    (swapping.removals, swapping.additions) = (first, second)
    let swap = try cost(MadeCommit(swapping, welcome: [7]))
    #expect(swap.statementCount <= 510 * 10 + 100)
    #expect(swap.rowCount <= 510 * 20 + 150)
    #expect(try server.count("mailbox_entries") == 5 * 255)
    try server.requireChains(ada)
    for contact in [contacts[0], contacts[300]] {
      #expect(try DeviceMailboxes.faults(of: contact.account, in: server.database) == [])
    }
  }
}
