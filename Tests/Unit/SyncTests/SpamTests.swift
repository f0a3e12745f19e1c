import Accounts
import Base
import Sync
import TestDevices
import TestEngines
import Testing

/// Limits on what a young or free account may send to people with whom it has no contact.
@Suite struct SpamTests {
  private func server(
    _ engine: TestEngine = .sqlite, open: Int64 = 100, perDay: Int64 = 100
  ) throws -> TestServer {
    var limits = SyncLimits()
    limits.openInvitationCountMax = open
    limits.invitationsPerDay = perDay
    return try TestServer(engine, limits: limits)
  }

  /// Invites each of the strangers, in one batch.
  private func invite(
    _ strangers: [TestDevice], to file: Identifier, by device: TestDevice
  ) throws -> Answer {
    try device.batch(
      shares: strangers.map { stranger in ShareChange.grant(file, to: try stranger.account) })
  }

  @Test(arguments: TestEngine.available)
  func `unanswered invitations are limited, and an answer makes room`(
    engine: TestEngine
  ) throws {
    let server = try server(engine, open: 2)
    let alice = try server.register()
    let strangers = try (0..<4).map { _ in try server.register() }
    let file = try alice.add()
    try invite(Array(strangers[..<2]), to: file, by: alice).requireSuccess()
    let before = try server.state()
    let refused = try invite(Array(strangers[2...]), to: file, by: alice)
    #expect(refused.status == 422)
    #expect(
      try Set(refused.failures)
        == Set(
          strangers[2...].map {
            Failure(
              file: file.description, account: try $0.account.description,
              rule: "too_many_invitations")
          }))
    #expect(try server.state() == before)
    try strangers[0].accept(file).answer.requireSuccess()
    #expect(try alice.grant(file, to: strangers[2].account).status == 200)
    try strangers[1].reject(file).requireSuccess()
    #expect(try alice.grant(file, to: strangers[3].account).status == 200)
  }

  @Test func `an invitation that is withdrawn is open no more`() throws {
    let server = try server(open: 1)
    let alice = try server.register()
    let strangers = try (0..<2).map { _ in try server.register() }
    let file = try alice.add()
    try alice.grant(file, to: strangers[0].account).requireSuccess()
    #expect(try alice.grant(file, to: strangers[1].account).rules == ["too_many_invitations"])
    try alice.revoke(file, from: strangers[0].account, expect: "pending").requireSuccess()
    #expect(try alice.grant(file, to: strangers[1].account).status == 200)
  }

  @Test func `an invitation to what is deleted is open no more`() throws {
    let server = try server(open: 1)
    let alice = try server.register()
    let strangers = try (0..<2).map { _ in try server.register() }
    let (gone, file) = (try alice.add(), try alice.add())
    try alice.grant(gone, to: strangers[0].account).requireSuccess()
    try alice.delete(gone).requireSuccess()
    #expect(try alice.grant(file, to: strangers[1].account).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `invitations of one day are limited, withdrawn or not, until the next day`(
    engine: TestEngine
  ) throws {
    let server = try server(engine, perDay: 3)
    let alice = try server.register()
    let strangers = try (0..<4).map { _ in try server.register() }
    let file = try alice.add()
    for stranger in strangers[..<3] {
      try alice.grant(file, to: stranger.account).requireSuccess()
      try alice.revoke(file, from: stranger.account, expect: "pending").requireSuccess()
    }
    let before = try server.state()
    let refused = try alice.grant(file, to: strangers[3].account)
    #expect(refused.status == 429)
    #expect(try refused.problem == "sharing_limited")
    let wait = try #require(refused.header("Retry-After").flatMap { Int64($0) })
    #expect((1...86_401).contains(wait))
    #expect(try server.state() == before)
    server.clock.advance(.seconds(wait))
    #expect(try alice.grant(file, to: strangers[3].account).status == 200)
  }

  @Test func `a batch that passes the day's limit sends none of its invitations`() throws {
    let server = try server(perDay: 3)
    let alice = try server.register()
    let strangers = try (0..<4).map { _ in try server.register() }
    let file = try alice.add()
    #expect(try invite(strangers, to: file, by: alice).problem == "sharing_limited")
    for stranger in strangers { #expect(try stranger.pulled().shares.isEmpty) }
    #expect(try invite(Array(strangers[..<3]), to: file, by: alice).status == 200)
  }

  @Test(arguments: TestEngine.available, [false, true])
  func `contacts are invited without limit, whoever shared first`(
    engine: TestEngine, isSharee: Bool
  ) throws {
    let server = try server(engine, open: 1, perDay: 1)
    let (alice, bob) = (try server.register(), try server.register())
    if isSharee {
      try bob.share(bob.add(), with: alice)
    } else {
      try alice.share(alice.add(), with: bob)
      server.clock.advance(.days(1))
    }
    for _ in 0..<5 { try alice.grant(alice.add(), to: bob.account).requireSuccess() }
  }

  @Test(arguments: TestEngine.available, [false, true])
  func `what waits for a contact's answer leaves room for strangers, whoever shared first`(
    engine: TestEngine, isSharee: Bool
  ) throws {
    let server = try server(engine, open: 1)
    let (alice, bob) = (try server.register(), try server.register())
    let strangers = try (0..<2).map { _ in try server.register() }
    if isSharee {
      try bob.share(bob.add(), with: alice)
    } else {
      try alice.share(alice.add(), with: bob)
    }
    for _ in 0..<3 { try alice.grant(alice.add(), to: bob.account).requireSuccess() }
    #expect(try alice.grant(alice.add(), to: strangers[0].account).status == 200)
    #expect(
      try alice.grant(alice.add(), to: strangers[1].account).rules == ["too_many_invitations"])
  }

  @Test func `a contact whose share ended is a stranger again`() throws {
    let server = try server(open: 1)
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    try alice.share(file, with: bob)
    try alice.grant(alice.add(), to: bob.account).requireSuccess()
    try alice.revoke(file, from: bob.account).requireSuccess()
    #expect(try alice.grant(alice.add(), to: bob.account).rules == ["too_many_invitations"])
  }

  @Test func `a change of an open invitation is no new one`() throws {
    let server = try server(open: 1, perDay: 1)
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    try alice.grant(file, to: bob.account).requireSuccess()
    for mode in ["write", "read"] {
      #expect(
        try alice.grant(file, to: bob.account, mode: mode, expect: "pending").status == 200)
    }
  }

  @Test func `whoever was turned down and asks again is counted again`() throws {
    let server = try server(perDay: 2)
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    try alice.grant(file, to: bob.account).requireSuccess()
    try bob.reject(file).requireSuccess()
    try alice.grant(file, to: bob.account, expect: "rejected").requireSuccess()
    try bob.reject(file).requireSuccess()
    #expect(
      try alice.grant(file, to: bob.account, expect: "rejected").problem == "sharing_limited")
  }

  @Test(arguments: TestEngine.available)
  func `an account that has paid and is not young invites whom it likes`(
    engine: TestEngine
  ) throws {
    let server = try server(engine, open: 1, perDay: 1)
    let alice = try server.register()
    let strangers = try (0..<4).map { _ in try server.register() }
    let file = try alice.add()
    try server.setCap(alice.account, 1_000_000, plan: "premium", reason: "subscribed")
    // Paid, but young.
    #expect(try invite(strangers, to: file, by: alice).rules == ["too_many_invitations"])
    server.clock.advance(.days(7))
    #expect(try invite(strangers, to: file, by: alice).status == 200)
  }

  @Test func `a free account stays limited however old it is`() throws {
    let server = try server(open: 1)
    let alice = try server.register()
    let strangers = try (0..<2).map { _ in try server.register() }
    server.clock.advance(.days(1000))
    #expect(
      try invite(strangers, to: alice.add(), by: alice).rules == ["too_many_invitations"])
  }

  @Test func `the age is a matter of configuration`() throws {
    var limits = SyncLimits()
    limits.openInvitationCountMax = 0
    limits.youngAge = .days(1)
    let server = try TestServer(limits: limits)
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    try server.setCap(alice.account, 1_000_000, plan: "premium", reason: "subscribed")
    #expect(try alice.grant(file, to: bob.account).rules == ["too_many_invitations"])
    server.clock.advance(.days(1))
    #expect(try alice.grant(file, to: bob.account).status == 200)
  }
}
