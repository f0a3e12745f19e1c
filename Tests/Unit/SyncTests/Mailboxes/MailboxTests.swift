import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Messages from device to device: who gets what, in which order, and who does not.
@Suite struct MailboxTests {
  @Test(arguments: TestEngine.available)
  func `messages wait in the order of arrival until their device acknowledges them`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    for body in UInt8(1)...5 {
      let sender = body.isMultiple(of: 2) ? ada : bob
      try sender.mail([body], to: [bob.publicKey]).requireSuccess()
    }
    #expect(try bob.mailBodies() == [[1], [2], [3], [4], [5]])
    let page = try bob.mailbox("?limit=2")
    let next = try #require(page["next"].integer)
    #expect(page["messages"].array?.count == 2)
    #expect(try page["messages"][1]["account"].identifier == ada.account)
    #expect(page["messages"][1]["device"].base64 == ada.publicKey)
    #expect(page["messages"][1]["kind"].string == "message")
    let rest = try bob.mailbox("?after=\(next)&limit=3")
    #expect(rest["messages"].array?.map { $0["body"].base64 } == [[3], [4], [5]])
    #expect(rest["next"].isNull)
    for _ in 0..<2 { #expect(try bob.acknowledge(next).status == 204) }
    #expect(try bob.mailBodies() == [[1], [3], [4], [5]])
    #expect(try ada.mailBodies().isEmpty)
    try server.requireMailboxes(ada, bob)
  }

  @Test(arguments: TestEngine.available)
  func `a message is stored once under its id, and another one under it is refused`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let (id, nobody) = (Random.identifier(), Random.bytes(32))
    let first = try ada.mail(id, [1], to: [bob.publicKey, nobody])
    let again = try ada.mail(id, [1], to: [bob.publicKey, nobody])
    #expect(try first.json["repeated"].bool == false)
    #expect(try again.json["repeated"].bool == true)
    for answer in [first, again] {
      #expect(try answer.json["stored"].integer == 1)
      #expect(try answer.json["refused"][0]["key"].base64 == nobody)
    }
    #expect(try ada.mail(id, [2], to: [bob.publicKey, nobody]).problem == "message_differs")
    #expect(try ada.mail(id, [1], to: [bob.publicKey]).problem == "message_differs")
    // Another device may choose the same id.
    try bob.mail(id, [3], to: [bob.publicKey]).requireSuccess()
    #expect(try bob.mailBodies() == [[1], [3]])
    try bob.acknowledgeAll()
    try server.sweeper().sweep()
    #expect(try ada.mail(id, [1], to: [bob.publicKey, nobody]).json["repeated"].bool == true)
    server.clock.advance(.hours(1))
    try server.sweeper().sweep()
    #expect(try server.count("mailbox_messages") == 0)
    #expect(try ada.mail(id, [1], to: [bob.publicKey, nobody]).json["repeated"].bool == false)
    try server.requireMailboxes(ada, bob)
  }

  @Test(arguments: TestEngine.available)
  func `a stranger's key is answered as one that does not exist, and nothing is written`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = (try server.register(), try server.register())
    for key in [bob.publicKey, Random.bytes(32)] {
      let answer = try ada.mail(to: [key])
      #expect(answer.status == 422)
      #expect(try answer.problem == "message_not_delivered")
      #expect(try answer.json["refused"].array?.count == 1)
      #expect(try answer.json["refused"][0]["reason"].string == "unknown")
      #expect(try ada.claim(from: key).problem == "device_not_found")
    }
    for table in ["mailbox_messages", "mailbox_entries", "mailboxes", "mailbox_totals"] {
      #expect(try server.count(table) == 0, "\(table)")
    }
    // An invitation that waits makes nobody known.
    let folder = try ada.add("folder")
    try ada.grant(folder, to: bob.account).requireSuccess()
    #expect(try ada.mail(to: [bob.publicKey]).problem == "message_not_delivered")
    #expect(try bob.mail(to: [ada.publicKey]).problem == "message_not_delivered")
    try bob.accept(folder).answer.requireSuccess()
    try ada.mail([1], to: [bob.publicKey]).requireSuccess()
    try bob.mail([2], to: [ada.publicKey]).requireSuccess()
    #expect(try bob.send(bob.sign("PUT", "/v1/blocks/\(try ada.account)")).status == 204)
    #expect(try ada.mail(to: [bob.publicKey]).json["refused"][0]["reason"].string == "unknown")
    #expect(try bob.mailBodies() == [[1]])
  }

  @Test(arguments: TestEngine.available)
  func `receivers that take no message are named, and the others have it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    let (ada, phone, lost) = (devices[0], devices[1], devices[2])
    #expect(try ada.revoke(key: lost.publicKey).status == 204)
    let bob = try server.register()
    try server.introduce(ada, bob)
    try server.suspend(bob.account, since: server.clock.now)
    let nobody = Random.bytes(32)
    let answer = try ada.mail(to: [lost.publicKey, phone.publicKey, bob.publicKey, nobody])
    try answer.requireSuccess()
    #expect(try answer.json["stored"].integer == 1)
    let refused = try answer.json["refused"].array ?? []
    #expect(refused.map { $0["reason"].string } == ["revoked", "suspended", "unknown"])
    #expect(
      refused.map { $0["key"].base64 } == [lost.publicKey, bob.publicKey, nobody])
    #expect(try phone.mailBodies() == [[1, 2, 3]])
    try server.requireMailboxes(ada)
  }

  @Test func `a message has 1 to 256 receivers, each once, and 1 to 1,048,576 bytes`() throws {
    let server = try TestServer(freeByteCount: 10_000_000)
    let ada = try server.register()
    let keys = (0..<257).map { _ in Random.bytes(32) }
    let long = [UInt8](repeating: 1, count: 1_048_577)
    #expect(try ada.mail(to: []).problem == "body_invalid")
    #expect(try ada.mail(to: keys).problem == "body_invalid")
    #expect(try ada.mail(to: [keys[0], keys[0]]).problem == "body_invalid")
    #expect(try ada.mail([], to: [ada.publicKey]).problem == "body_invalid")
    #expect(try ada.mail(long, to: [ada.publicKey]).problem == "body_invalid")
    #expect(try ada.mail(to: Array(keys.dropLast())).problem == "message_not_delivered")
    try ada.mail(Array(long.dropLast()), to: [ada.publicKey]).requireSuccess()
    #expect(try ada.mailBodies() == [Array(long.dropLast())])
  }

  @Test(
    arguments: TestEngine.available,
    [
      "mailboxes SET message_count = 4000", "mailboxes SET bytes = 67108864",
      "mailbox_senders SET message_count = 1000", "mailbox_senders SET bytes = 16777216",
    ])
  func `a full mailbox takes no message, and an operator sees it until one leaves`(
    engine: TestEngine, full: String
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    try ada.mail([1], to: [bob.publicKey]).requireSuccess()
    try server.change("UPDATE sync.\(full)")
    for _ in 0..<2 {
      let answer = try ada.mail([2], to: [bob.publicKey])
      #expect(answer.status == 422)
      #expect(try answer.json["refused"][0]["reason"].string == "full")
    }
    let others = try ada.mail([3], to: [bob.publicKey, ada.publicKey])
    #expect(try others.json["stored"].integer == 1)
    let told = "mailboxes WHERE refused_ms IS NOT NULL AND refused_count = 3"
    #expect(try server.count(told) == 1)
    // Its own account has room if only the sender's part is full.
    let own = try bob.mail([4], to: [bob.publicKey])
    #expect(own.status == (full.hasPrefix("mailbox_senders") ? 200 : 422))
    try bob.acknowledge(#require(try bob.mailbox()["messages"][0]["number"].integer))
      .requireSuccess()
    #expect(try server.count("mailboxes WHERE refused_ms IS NOT NULL") == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a message to 256 devices costs a few statements, and a body once`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, freeByteCount: 10_000_000)
    let ada = try server.register()
    let account = try ada.account
    let keys = (0..<256).map { _ in Random.bytes(32) }
    try server.database.write(for: nil) { transaction in
      try transaction.insert(
        keys.map { [.blob($0), .text("planted"), .integer(1), .integer(1)] }, of: account,
        into: "device_keys (account_id, public_key, label, added_ms, last_session_ms)")
    }
    let body = [UInt8](repeating: 1, count: 1 << 20)
    let (before, usage) = (server.database.writeWork, try ada.usage())
    try ada.mail(body, to: keys).requireSuccess()
    // An entry, a mailbox and a sender for each device; what is read of each; and a few other rows.
    #expect((server.database.writeWork - before).rowCount <= 256 * 5 + 60)
    #expect(try server.count("mailbox_entries") == 256)
    #expect(try server.count("mailbox_messages") == 1)
    #expect(try ada.usage() == usage + 1000 + 1_048_576 + 128 * 257)
    try server.requireMailboxes(ada)
  }

  @Test(arguments: TestEngine.available)
  func `a page has no more than one of the largest messages`(engine: TestEngine) throws {
    let server = try TestServer(engine, freeByteCount: 10_000_000)
    let ada = try server.register()
    let body = [UInt8](repeating: 1, count: 1 << 20)
    for _ in 0..<2 { try ada.mail(body, to: [ada.publicKey]).requireSuccess() }
    let page = try ada.mailbox()
    #expect(page["messages"].array?.count == 1)
    let next = try #require(page["next"].integer)
    let rest = try ada.mailbox("?after=\(next)")
    #expect(rest["messages"].array?.count == 1)
    #expect(rest["next"].isNull)
  }

  @Test(arguments: TestEngine.available)
  func `a page and an acknowledgement cost the same however much waits`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let ada = try server.register()
    for _ in 0..<60 { try ada.mail(to: [ada.publicKey]).requireSuccess() }
    let before = server.database.readWork
    let page = try ada.mailbox("?limit=5")
    #expect((server.database.readWork - before).returnedRowCount <= 30)
    let writes = server.database.writeWork
    try ada.acknowledge(#require(page["messages"][4]["number"].integer)).requireSuccess()
    #expect((server.database.writeWork - writes).rowCount <= 30)
  }

  @Test(arguments: TestEngine.available)
  func `an error of an acknowledgement is counted once`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    try ada.mail(to: [bob.publicKey]).requireSuccess()
    let number = try #require(try bob.mailbox()["messages"][0]["number"].integer)
    for error in ["", "Not_lower", String(repeating: "x", count: 65)] {
      #expect(try bob.acknowledge(number, error: error).problem == "error_invalid")
    }
    #expect(try bob.mailBodies().count == 1)
    for _ in 0..<2 {
      #expect(try bob.acknowledge(number, error: "epoch_unknown").status == 204)
    }
    let told = "mailbox_totals WHERE failure_count = 1 AND failure = 'epoch_unknown'"
    #expect(try server.count(told) == 1)
    try server.requireMailboxes(ada, bob)
  }
}

extension TestDevice {
  /// A message with a random id.
  fileprivate func mail(_ body: [UInt8], to keys: [[UInt8]]) throws -> Answer {
    try mail(Random.identifier(), body, to: keys)
  }
}
