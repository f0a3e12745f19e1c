import Base
import Crypto
import JSON
import Mailboxes
import RawClient
import Storage
import Streams
import Sync
import TestDevices
import TestEngines
import Testing

/// What mailboxes bring to coffer-sync besides their routes: charges, expiry, removal, erasure, news, checks.
@Suite struct MailboxRoomTests {
  @Test(arguments: TestEngine.available)
  func `a message is charged to its sender until an hour after the last acknowledgement`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let (before, receivers) = (try ada.usage(), try bob.usage())
    try ada.mail(Random.identifier(), [1, 2], to: [bob.publicKey, ada.publicKey])
      .requireSuccess()
    #expect(try ada.usage() == before + 1000 + 3 * 128 + 2)
    #expect(try bob.usage() == receivers)
    try bob.acknowledgeAll()
    server.clock.advance(.hours(2))
    try server.sweeper().sweep()
    #expect(try ada.usage() == before + 1000 + 3 * 128 + 2)
    try ada.acknowledgeAll()
    server.clock.advance(.hours(1))
    try server.sweeper().sweep()
    #expect(try ada.usage() == before)
    try server.requireMailboxes(ada, bob)
  }

  @Test(arguments: TestEngine.available)
  func `what has no room is refused with nothing written`(engine: TestEngine) throws {
    let server = try TestServer(engine, freeByteCount: 10_000)
    let ada = try server.register()
    let body = [UInt8](repeating: 1, count: 6000)
    try ada.mail(Random.identifier(), body, to: [ada.publicKey]).requireSuccess()
    let refused = try ada.mail(Random.identifier(), body, to: [ada.publicKey])
    #expect(refused.status == 507)
    #expect(try refused.problem == "over_cap")
    #expect(try server.count("mailbox_entries") == 1)
    let package = ada.keyPackage(1) + [UInt8](repeating: 1, count: 4000)
    #expect(try ada.offer([package]).problem == "over_cap")
    #expect(try server.count("key_packages") == 0)
    try server.requireMailboxes(ada)
  }

  @Test(arguments: TestEngine.available)
  func `a suspended account reads and acknowledges, and sends, offers and claims nothing`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    try ada.mail(to: [bob.publicKey]).requireSuccess()
    try ada.offer([ada.keyPackage(1)]).requireSuccess()
    try server.suspend(bob.account, since: server.clock.now)
    #expect(try bob.mail(to: [ada.publicKey]).problem == "account_suspended")
    #expect(try bob.offer([bob.keyPackage(1)]).problem == "account_suspended")
    #expect(try bob.claim(from: ada.publicKey).problem == "account_suspended")
    #expect(try bob.mailBodies().count == 1)
    try bob.acknowledgeAll()
    #expect(try bob.mailBodies().isEmpty)
    #expect(try ada.mailbox()["key_packages"].integer == 1)
  }

  @Test(arguments: TestEngine.available)
  func `a message expires after its days, and its sender's device is told who missed it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let cyd = try server.register()
    try server.introduce(ada, cyd)
    let (id, before) = (Random.identifier(), try ada.usage())
    try ada.mail(id, [UInt8](repeating: 1, count: 5000), to: [bob.publicKey, cyd.publicKey])
      .requireSuccess()
    try cyd.acknowledgeAll()
    server.clock.advance(.days(89))
    try server.sweeper().sweep()
    #expect(try bob.mailBodies().count == 1)
    server.clock.advance(.days(1))
    try server.sweeper().sweep()
    #expect(try bob.mailBodies().isEmpty)
    let told = try ada.mailbox()["messages"]
    #expect(told.array?.count == 1)
    #expect(told[0]["kind"].string == "expired")
    #expect(told[0]["id"].identifier == id)
    #expect(told[0]["devices"].array?.map(\.base64) == [bob.publicKey])
    #expect(told[0]["body"].exists == false)
    #expect(try ada.usage() == before + 1000 + 128 + 32)
    try server.requireMailboxes(ada, bob, cyd)
    try ada.acknowledgeAll()
    server.clock.advance(.hours(1))
    try server.sweeper().sweep()
    #expect(try ada.usage() == before)
    try server.requireMailboxes(ada, bob, cyd)
  }

  @Test(arguments: TestEngine.available)
  func `a message that has expired is no repeat, and goes again under a new id`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let id = Random.identifier()
    try ada.mail(id, to: [bob.publicKey]).requireSuccess()
    server.clock.advance(.days(90))
    try server.sweeper().sweep()
    #expect(try ada.mail(id, to: [bob.publicKey]).problem == "message_expired")
    try ada.acknowledgeAll()
    #expect(try ada.mail(id, to: [bob.publicKey]).problem == "message_expired")
    #expect(try bob.mailBodies().isEmpty)
    try ada.mail(to: [bob.publicKey]).requireSuccess()
    #expect(try bob.mailBodies().count == 1)
    try server.requireMailboxes(ada, bob)
  }

  @Test(arguments: TestEngine.available)
  func `what nobody reads ends by itself, the telling included`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    let before = try ada.usage()
    for _ in 0..<3 { try ada.mail(to: [bob.publicKey]).requireSuccess() }
    for _ in 0..<2 {
      server.clock.advance(.days(90))
      try server.sweeper().sweep()
    }
    for table in ["mailbox_messages", "mailbox_entries", "mailbox_senders"] {
      #expect(try server.count(table) == 0, "\(table)")
    }
    #expect(try ada.usage() == before)
    try server.requireMailboxes(ada, bob)
  }

  @Test(arguments: TestEngine.available)
  func `a revoked key loses its mailbox and its key packages, and is told of nothing`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (ada, phone) = (devices[0], devices[1])
    let bob = try server.register()
    try server.introduce(ada, bob)
    let (own, others) = (try ada.usage(), try bob.usage())
    try phone.offer([phone.keyPackage(1)], lastResort: phone.keyPackage(2)).requireSuccess()
    try bob.mail(to: [phone.publicKey]).requireSuccess()
    try phone.mail(to: [bob.publicKey]).requireSuccess()
    #expect(try ada.revoke(key: phone.publicKey).status == 204)
    #expect(try bob.claim(from: phone.publicKey).problem == "device_not_found")
    try server.sweeper().sweep()
    #expect(try server.count("key_packages") == 0)
    #expect(try server.count("mailboxes") == 1)
    server.clock.advance(.hours(1))
    try server.sweeper().sweep()
    #expect(try bob.usage() == others)
    // What the lost phone sent goes on, and ends without a telling.
    #expect(try bob.mailBodies().count == 1)
    server.clock.advance(.days(90))
    try server.sweeper().sweep()
    #expect(try server.count("mailbox_messages") == 0)
    #expect(try ada.usage() == own)
    try server.requireMailboxes(ada, bob)
  }

  @Test(arguments: TestEngine.available)
  func `an erased account leaves nothing, in its own mailboxes or in those of others`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    for _ in 0..<3 {
      try ada.mail(to: [bob.publicKey, ada.publicKey]).requireSuccess()
      try bob.mail(to: [ada.publicKey]).requireSuccess()
    }
    try ada.offer([ada.keyPackage(1)]).requireSuccess()
    try bob.offer([bob.keyPackage(1)]).requireSuccess()
    try ada.claim(from: bob.publicKey).requireSuccess()
    try bob.claim(from: ada.publicKey).requireSuccess()
    #expect(try ada.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
    #expect(try bob.mailBodies().isEmpty)
    server.clock.advance(.hours(1))
    try server.sweeper().sweep()
    for table in ["mailbox_messages", "mailbox_entries", "mailbox_senders", "key_package_claims"] {
      #expect(try server.count(table) == 0, "\(table)")
    }
    #expect(try server.count("mailboxes") == 1)
    #expect(try server.count("mailbox_totals WHERE message_count = 0 AND package_count = 0") == 1)
    #expect(try server.count("mailbox_totals") == 1)
    try server.requireMailboxes(bob)
  }

  @Test(arguments: TestEngine.available)
  func `a key comes back in another account only when its old mailbox is gone`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, bob) = try server.contacts()
    try bob.mail(to: [ada.publicKey]).requireSuccess()
    let keyCount = try server.count("device_keys")
    #expect(try ada.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    while try server.count("device_keys") == keyCount {
      try #require(try server.sweeper().sweepErasure())
    }
    #expect(try bob.admit(ada).problem == "key_registered")
    let recovery = server.device()
    try bob.name(recovery.key, delayDays: 3).requireSuccess()
    #expect(try recovery.recover(bob.account, letting: ada).problem == "key_registered")
    try server.sweeper().sweepErasures()
    #expect(try bob.admit(ada).status == 201)
    try bob.mail(to: [ada.publicKey]).requireSuccess()
    #expect(try ada.mailBodies() == [[1, 2, 3]])
    try server.requireMailboxes(bob)
  }

  @Test(arguments: TestEngine.available)
  func `what totals and mailboxes count wrongly is found, and put right by a recount`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let ada = try server.register()
    let account = try ada.account
    try ada.mail(to: [ada.publicKey]).requireSuccess()
    try ada.offer([ada.keyPackage(1)]).requireSuccess()
    let usage = try ada.usage()
    for change in ["message_bytes = message_bytes + 1", "package_count = package_count + 1"] {
      try server.change("UPDATE sync.mailbox_totals SET \(change)")
      #expect(try DeviceMailboxes.faults(of: account, in: server.database).count == 1)
      _ = try server.mailboxRecount.correct(account, now: server.clock.now)
      try server.requireMailboxes(ada)
    }
    #expect(try ada.usage() == usage)
    for change in [
      "UPDATE sync.mailboxes SET bytes = bytes + 1",
      "UPDATE sync.mailbox_senders SET message_count = 0", "DELETE FROM sync.mailbox_senders",
    ] {
      try server.change(change)
      #expect(try DeviceMailboxes.faults(of: account, in: server.database).count == 1)
      _ = try server.mailboxRecount.correct(account, now: server.clock.now)
      try server.requireMailboxes(ada)
    }
    try ada.acknowledgeAll()
    try server.requireMailboxes(ada)
  }

  @Test(arguments: TestEngine.available)
  func `a message and a claim are told to the receiver's streams`(engine: TestEngine) throws {
    var limits = StreamLimits()
    limits.heartbeat = .hours(1)
    let server = try TestServer(engine, streams: limits)
    let (ada, bob) = try server.contacts()
    try bob.offer([bob.keyPackage(1)]).requireSuccess()
    let stream = try RawStream.open(bob, server)
    try ada.mail(to: [bob.publicKey]).requireSuccess()
    // The news of their contact may come late, alone or in the same event.
    func isTold() -> Bool {
      (0..<2).contains { _ in stream.next()?.contains("\"mailbox\":true") ?? false }
    }
    #expect(isTold())
    try ada.claim(from: bob.publicKey).requireSuccess()
    #expect(isTold())
  }
}
