import Accounts
import Base
import Crypto
import JSON
import PushGateway
import Storage
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers
import WakeUps

/// Which devices a push gateway is asked to wake, when, and how often. The gateway checks each signature.
@Suite struct WakeUpTests {
  /// Devices are woken at once, and all accounts are looked at only at the start.
  static func limits(
    pause: Instant.Span = .seconds(0), lookSpan: Instant.Span = .hours(1)
  ) -> WakeUpLimits {
    var limits = WakeUpLimits()
    limits.pause = pause
    limits.delay = .milliseconds(50)
    limits.lookSpan = lookSpan
    return limits
  }

  /// A server, its gateway, and an account with a laptop and a phone that sleeps.
  struct Home {
    let clock: TestClock
    let gateway: PushGateway
    let server: TestServer
    let laptop: TestDevice
    let phone: TestDevice

    init(
      _ engine: TestEngine = .sqlite, _ limits: WakeUpLimits = WakeUpTests.limits(),
      freeLimits: Plan.Limits = Plan.Limits()
    ) throws {
      let time = Locked<TestClock?>(nil)
      gateway = PushGateway { time.withLock { $0?.now } ?? Instant(seconds: 0) }
      server = try TestServer(
        engine, freeLimits: freeLimits, waking: gateway, wakeUps: limits)
      let clock = server.clock
      time.withLock { $0 = clock }
      self.clock = clock
      laptop = try server.register()
      phone = server.device(root: laptop.root)
      let admitted = try laptop.admit(phone)
      guard admitted.status == 201 else { throw UnexpectedAnswer(admitted) }
      let registered = try phone.register(push: "phone")
      guard registered.status == 204 else { throw UnexpectedAnswer(registered) }
    }

    /// The push ids that were woken, in order, once there are `count`.
    func woken(_ count: Int) -> [String] { gateway.waits(for: count).map(\.pushID) }

    /// Waits until every registered device knows its account as it is, and no wake-up waits.
    func settle() throws {
      let isSettled = try soon {
        let unsettled = try server.database.read { reader in
          try reader.first(
            """
            SELECT 1 FROM sync.push_ids AS p JOIN sync.accounts AS a ON a.id = p.account_id
            WHERE p.due_ms IS NOT NULL OR p.seq <> a.seq
            """
          ) { _ in true }
        }
        return unsettled == nil
      }
      try #require(isSettled)
    }

    /// Settles once all news so far were looked into. News come in their order, so those of a stranger's new cap, which
    /// wakes its device, come last.
    func settleAllHeard() throws {
      let stranger = try server.register()
      let registered = try stranger.register(push: "stranger")
      guard registered.status == 204 else { throw UnexpectedAnswer(registered) }
      let before = wakeUps(of: "stranger")
      try setCap(of: stranger.account)
      try #require(soon { wakeUps(of: "stranger") > before })
      try settle()
    }

    func wakeUps(of pushID: String) -> Int {
      gateway.wakeUps.count { $0.pushID == pushID }
    }

    /// A new cap, as `coffer-billing` sets it.
    func setCap(of account: Identifier) throws {
      try server.asBilling(for: account) { transaction in
        try transaction.execute(
          """
          INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
          VALUES ($1, 0, 5000000, $2, $3)
          """, .id(account), .text("premium"), .text("subscribed"))
        transaction.report(News(of: account, .account))
      }
    }

    /// Changes the account by a commit without a report, as of a program that was killed right after it.
    func changeUnheard(of other: TestDevice? = nil) throws {
      let account = try (other ?? laptop).account
      try server.database.write(for: account) { transaction in
        _ = try transaction.execute(
          "UPDATE sync.accounts SET seq = seq + 1 WHERE id = $1", .id(account))
      }
    }

    /// When the phone's wake-up is due; nil if none waits.
    func due() throws -> Instant? {
      try server.database.read { reader in
        try reader.first(
          "SELECT due_ms FROM sync.push_ids WHERE public_key = $1",
          .blob(phone.key.publicKey.bytes)
        ) { row in try row.optionalInstant(0) } ?? nil
      }
    }

    /// How often the phone's wake-up has failed.
    func failures() throws -> Int {
      try server.database.read { reader in
        try reader.first(
          "SELECT failure_count FROM sync.push_ids WHERE public_key = $1",
          .blob(phone.key.publicKey.bytes)
        ) { row in Int(try row.integer(0)) } ?? 0
      }
    }

    /// Waits until the condition holds, at most ten seconds.
    func soon(_ condition: () throws -> Bool) rethrows -> Bool {
      let end = MonotonicTime.now() + .seconds(10)
      while MonotonicTime.now() < end {
        if try condition() { return true }
      }
      return false
    }
  }

  @Test(arguments: TestEngine.available)
  func `a phone is woken by what another device changes, and not by its own changes`(
    engine: TestEngine
  ) throws {
    let home = try Home(engine)
    // After it, the look at all accounts is over with which a program begins.
    _ = try home.laptop.add("folder")
    #expect(home.woken(1) == ["phone"])
    try home.settle()
    #expect(try home.laptop.register(push: "laptop").status == 204)
    _ = try home.laptop.add("folder")
    #expect(home.woken(2) == ["phone", "phone"])
    try home.settle()
    _ = try home.phone.add("folder")
    #expect(home.woken(3) == ["phone", "phone", "laptop"])
    try home.settle()
    _ = try home.laptop.add("folder")
    #expect(home.woken(4) == ["phone", "phone", "laptop", "phone"])
    #expect(home.gateway.refusals == [])
    #expect(Set(home.gateway.wakeUps.map(\.id)).count == 4)
  }

  @Test(arguments: TestEngine.available)
  func `a phone is woken by a change of a tree that is shared with it`(engine: TestEngine) throws {
    let home = try Home(engine)
    let ada = try home.server.register()
    let folder = try ada.add("folder")
    try ada.share(folder, with: home.laptop)
    // The acceptance is the laptop's, and it and the invitation may come as one.
    #expect(home.soon { !home.gateway.wakeUps.isEmpty })
    try home.settle()
    let before = home.gateway.wakeUps.count
    _ = try ada.add(in: folder)
    #expect(home.woken(before + 1).count > before)
  }

  @Test(arguments: TestEngine.available)
  func `who follows one of many accounts that changed together is woken, if not in one turn`(
    engine: TestEngine
  ) throws {
    var limits = Self.limits()
    limits.followerCountMax = 1
    let home = try Home(engine, limits)
    let bob = try home.server.register()
    #expect(try bob.register(push: "bob").status == 204)
    let owners = try [home.laptop, bob].map { follower in
      let owner = try home.server.register()
      try owner.share(owner.add("folder"), with: follower)
      return try owner.account
    }
    try home.settleAllHeard()
    let before = (phone: home.wakeUps(of: "phone"), bob: home.wakeUps(of: "bob"))
    try home.server.database.write(for: nil) { transaction in
      for owner in owners {
        _ = try transaction.execute(
          "UPDATE sync.accounts SET seq = seq + 1, loud_seq = seq + 1 WHERE id = $1", .id(owner))
        transaction.report(News(of: owner, .tree))
      }
    }
    #expect(home.soon { home.wakeUps(of: "phone") > before.phone })
    #expect(home.soon { home.wakeUps(of: "bob") > before.bob })
  }

  @Test(arguments: TestEngine.available)
  func `a phone is woken by a message in a log that is shared with it`(engine: TestEngine) throws {
    let home = try Home(engine)
    let ada = try home.server.register()
    let log = try ada.createLog()
    try ada.shareLog(log, with: home.laptop)
    #expect(home.soon { !home.gateway.wakeUps.isEmpty })
    try home.settle()
    let before = home.gateway.wakeUps.count
    try ada.append([SentMessage(home.server.stamp(.seconds(-1)))], to: log).requireSuccess()
    #expect(home.woken(before + 1).count > before)
  }

  @Test(arguments: TestEngine.available)
  func `a log that its owner does not share wakes no phone that sees another of its logs`(
    engine: TestEngine
  ) throws {
    let home = try Home(engine)
    let ada = try home.server.register()
    let (log, hidden) = (try ada.createLog(), try ada.createLog())
    try ada.shareLog(log, with: home.laptop)
    #expect(home.soon { !home.gateway.wakeUps.isEmpty })
    try home.settleAllHeard()
    let before = home.wakeUps(of: "phone")
    let message = SentMessage(home.server.stamp(.seconds(-1)))
    try ada.append([message], to: hidden).requireSuccess()
    try home.settleAllHeard()
    #expect(home.wakeUps(of: "phone") == before)
    try ada.append([message], to: log).requireSuccess()
    #expect(home.soon { home.wakeUps(of: "phone") > before })
  }

  @Test(arguments: TestEngine.available)
  func `a new cap and a deletion wake a phone, and a log-in does not`(engine: TestEngine) throws {
    let home = try Home(engine)
    #expect(try home.laptop.send(home.laptop.sign("POST", "/v1/sessions")).status == 201)
    try home.setCap(of: home.laptop.account)
    #expect(home.woken(1) == ["phone"])
    #expect(try home.laptop.send(home.laptop.sign("DELETE", "/v1/account")).status == 202)
    #expect(home.woken(2) == ["phone", "phone"])
    #expect(home.gateway.wakeUps.count == 2)
  }

  @Test(arguments: TestEngine.available)
  func `a message wakes the phone it is for, and its end wakes no one`(engine: TestEngine) throws {
    let home = try Home(engine)
    try home.laptop.mail(to: [home.phone.publicKey]).requireSuccess()
    #expect(home.woken(1) == ["phone"])
    try home.settle()
    try home.phone.acknowledgeAll()
    home.clock.advance(.hours(1))
    try home.server.sweeper().sweep()
    #expect(try home.server.count("mailbox_messages") == 0)
    try home.settle()
    try home.laptop.mail(to: [home.laptop.publicKey]).requireSuccess()
    #expect(home.woken(2) == ["phone", "phone"])
    try home.settleAllHeard()
    // Nobody reads it, so the laptop's mailbox gets a telling in its place.
    home.clock.advance(.days(90))
    try home.server.sweeper().sweep()
    #expect(try home.laptop.mailbox()["messages"][0]["kind"].string == "expired")
    try home.settleAllHeard()
    #expect(home.wakeUps(of: "phone") == 2)
  }

  @Test(arguments: TestEngine.available)
  func `the end of an earlier version wakes no one, neither its owner's devices nor a sharee's`(
    engine: TestEngine
  ) throws {
    let home = try Home(engine, freeLimits: .init(historyDays: 2))
    let sharee = try home.server.register()
    let folder = try home.laptop.add("folder")
    let document = try home.laptop.add(in: folder)
    try home.laptop.share(folder, with: sharee)
    for content in [[1], [2]] as [[UInt8]] { _ = try home.laptop.write(document, content) }
    // Now, so that none of this wakes it.
    #expect(try sharee.register(push: "sharee").status == 204)
    try home.settleAllHeard()
    let before = home.wakeUps(of: "phone")
    home.clock.advance(.days(2))
    #expect(try home.server.count("versions") == 1)
    try home.server.sweepDeletions()
    #expect(try home.server.count("versions") == 0)
    try home.settleAllHeard()
    #expect(home.wakeUps(of: "phone") == before)
    #expect(home.wakeUps(of: "sharee") == 0)
  }

  @Test(arguments: TestEngine.available)
  func `nor does the next look at all accounts wake a sharee for it`(engine: TestEngine) throws {
    let home = try Home(
      engine, Self.limits(lookSpan: .milliseconds(100)), freeLimits: .init(historyDays: 2))
    let (sharee, other) = (try home.server.register(), try home.server.register())
    let folder = try home.laptop.add("folder")
    let document = try home.laptop.add(in: folder)
    try home.laptop.share(folder, with: sharee)
    for content in [[1], [2]] as [[UInt8]] { _ = try home.laptop.write(document, content) }
    // Now, so that none of this wakes them.
    for (device, id) in [(sharee, "sharee"), (other, "other")] {
      #expect(try device.register(push: id).status == 204)
    }
    home.clock.advance(.days(2))
    try home.server.sweepDeletions()
    #expect(try home.server.count("versions") == 0)
    // A look that finds this one's change has seen the sharee, too.
    try home.changeUnheard(of: other)
    #expect(home.soon { home.wakeUps(of: "other") == 1 })
    try home.settle()
    #expect(home.wakeUps(of: "sharee") == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a link wakes a phone when it is made, and not when it expires`(engine: TestEngine) throws {
    let home = try Home(engine)
    let end = home.clock.now.seconds + 100
    _ = try home.laptop.published([1], "?expires=\(end)")
    #expect(home.woken(1) == ["phone"])
    try home.settleAllHeard()
    home.clock.advance(.seconds(100))
    try home.server.sweeper().sweep()
    #expect(try home.server.count("public_links") == 0)
    try home.settleAllHeard()
    #expect(home.wakeUps(of: "phone") == 1)
  }

  @Test func `between two wake-ups of a device there is a pause, and many changes are one`()
    throws
  {
    let home = try Home(.sqlite, Self.limits(pause: .seconds(30)))
    _ = try home.laptop.add("folder")
    // A change before the program listened waits for a part of the pause.
    #expect(try home.soon { try home.due() != nil || !home.gateway.wakeUps.isEmpty })
    home.clock.advance(.seconds(30))
    #expect(home.woken(1) == ["phone"])
    try home.settle()
    home.clock.advance(.seconds(30))
    _ = try home.laptop.add("folder")
    #expect(home.woken(2) == ["phone", "phone"])
    try home.settle()
    let sent = home.clock.now
    for _ in 0..<5 { _ = try home.laptop.add("folder") }
    #expect(try home.soon { try home.due() == sent + .seconds(30) })
    #expect(home.gateway.wakeUps.count == 2)
    home.clock.advance(.seconds(30))
    #expect(home.woken(3) == ["phone", "phone", "phone"])
    try home.settle()
    #expect(home.gateway.wakeUps.count == 3)
  }

  @Test(arguments: TestEngine.available)
  func `a change whose news were lost wakes a phone by the next look`(engine: TestEngine) throws {
    let home = try Home(engine, Self.limits(lookSpan: .milliseconds(100)))
    try home.changeUnheard()
    #expect(home.woken(1) == ["phone"])
  }

  @Test(arguments: TestEngine.available)
  func `a phone's own change hides none before it whose news were lost`(engine: TestEngine) throws {
    let home = try Home(engine)
    // After it, the look at all accounts is over with which a program begins.
    _ = try home.laptop.add("folder")
    #expect(home.woken(1) == ["phone"])
    try home.settle()
    try home.changeUnheard()
    _ = try home.phone.add("folder")
    #expect(home.woken(2) == ["phone", "phone"])
  }

  @Test func `a wake-up that the gateway cannot take now comes again, as it was`() throws {
    let home = try Home()
    home.gateway.answer("phone", with: [500, 429])
    _ = try home.laptop.add("folder")
    for count in 1...2 {
      #expect(home.woken(count).count == count)
      #expect(try home.soon { try home.failures() == count })
      home.clock.advance(.seconds(20))
    }
    let all = home.gateway.waits(for: 3)
    #expect(all.map(\.status) == [500, 429, 204])
    #expect(Set(all.map(\.id)).count == 1)
    try home.settle()
  }

  @Test func `a wake-up that fails delays no other device's`() throws {
    let home = try Home()
    home.gateway.answer("phone", with: Array(repeating: 503, count: 3))
    let tablet = home.server.device(root: home.laptop.root)
    #expect(try home.laptop.admit(tablet).status == 201)
    #expect(try tablet.register(push: "tablet").status == 204)
    _ = try home.laptop.add("folder")
    #expect(home.soon { home.gateway.wakeUps.contains { $0.pushID == "tablet" } })
  }

  @Test func `a push id that the gateway no longer knows is removed`() throws {
    let home = try Home()
    #expect(try home.isRegistered(home.phone))
    home.gateway.answer("phone", with: [410])
    _ = try home.laptop.add("folder")
    #expect(home.woken(1) == ["phone"])
    #expect(try home.soon { try !home.isRegistered(home.phone) })
  }

  @Test func `a wake-up that is refused is dropped, and the next change is another`() throws {
    let home = try Home()
    home.gateway.answer("phone", with: [404])
    _ = try home.laptop.add("folder")
    #expect(home.woken(1) == ["phone"])
    try home.settle()
    #expect(try home.isRegistered(home.phone))
    _ = try home.laptop.add("folder")
    let all = home.gateway.waits(for: 2)
    #expect(all.map(\.status) == [404, 204])
    #expect(Set(all.map(\.id)).count == 2)
  }

  @Test(arguments: TestEngine.available)
  func `a wake-up that waits outlives the program, and is sent by the next`(
    engine: TestEngine
  ) throws {
    let home = try Home(engine)
    home.gateway.answer("phone", with: [503])
    _ = try home.laptop.add("folder")
    #expect(home.woken(1) == ["phone"])
    home.server.stopWakeUps()
    let next = try TestServer(
      engine, beside: home.server, waking: home.gateway, wakeUps: Self.limits())
    home.clock.advance(.minutes(2))
    let all = home.gateway.waits(for: 2)
    #expect(all.map(\.status) == [503, 204])
    #expect(Set(all.map(\.id)).count == 1)
    withExtendedLifetime(next) {}
  }

  @Test(arguments: TestEngine.available)
  func `two instances that hear of a change wake a device once`(engine: TestEngine) throws {
    let home = try Home(engine)
    let other = try TestServer(
      engine, beside: home.server, waking: home.gateway, wakeUps: Self.limits())
    for count in 1...5 {
      _ = try home.laptop.add("folder")
      #expect(home.woken(count).count == count)
      try home.settle()
    }
    #expect(home.gateway.wakeUps.count == 5)
    withExtendedLifetime(other) {}
  }

  @Test func `a suspended account's devices are left alone`() throws {
    let home = try Home()
    let account = try home.laptop.account
    try home.server.suspend(account, since: home.clock.now)
    try home.server.asBilling(for: account) { transaction in
      transaction.report(News(of: account, .account))
    }
    try home.server.setCap(account, 5_000_000, plan: "premium", reason: "subscribed")
    let ada = try home.server.register()
    #expect(try ada.register(push: "ada").status == 204)
    let second = home.server.device(root: ada.root)
    #expect(try ada.admit(second).status == 201)
    _ = try second.add("folder")
    #expect(home.woken(1) == ["ada"])
  }
}
