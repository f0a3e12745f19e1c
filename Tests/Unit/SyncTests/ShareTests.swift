import Accounts
import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// How shares begin, are answered and end, and what each side learns of it.
@Suite struct ShareTests {
  // MARK: The life of a share

  @Test(arguments: TestEngine.available)
  func `a share is offered, accepted by a link, given back, turned down and offered again`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let child = try alice.add(in: folder)
    func state() throws -> [String?] {
      [
        try alice.share(of: folder, for: bob.account)?.state,
        try bob.pulled().shares[folder]?.state,
      ]
    }
    try alice.grant(folder, to: bob.account).requireSuccess()
    #expect(try state() == ["pending", "pending"])
    #expect(try bob.pulled().ids == [bob.root, folder])
    let (link, accepted) = try bob.accept(folder)
    #expect(accepted.status == 200)
    #expect(try state() == ["accepted", "accepted"])
    #expect(try bob.pulled().ids == [bob.root, link, folder, child])
    try bob.delete(link).requireSuccess()
    #expect(try state() == ["pending", "pending"])
    #expect(try bob.pulled().ids == [bob.root, folder])
    try bob.reject(folder).requireSuccess()
    #expect(try state() == ["rejected", "rejected"])
    #expect(try bob.pulled().ids == [bob.root])
    try alice.grant(folder, to: bob.account, expect: "rejected").requireSuccess()
    #expect(try state() == ["pending", "pending"])
    try bob.accept(folder).answer.requireSuccess()
    #expect(try bob.pulled().ids.contains(child))
  }

  @Test(arguments: TestEngine.available)
  func `a revoked share says so, keeps its row and loses its key`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let link = try alice.share(folder, with: bob, mode: "write")
    var replica = try bob.pulled()
    try alice.revoke(folder, from: bob.account).requireSuccess()
    try replica.pull()
    for share in [replica.shares[folder], try alice.share(of: folder, for: bob.account)] {
      #expect(share?.state == "revoked")
      #expect(share?.mode == "write")
      #expect(share?.key == nil)
      #expect(share?.isSignatureValid == true)
    }
    #expect(replica.ids == [bob.root, link])
    #expect(try bob.get("/v1/files/\(folder)").problem == "file_not_found")
  }

  @Test(arguments: TestEngine.available)
  func `an offer that is withdrawn leaves nothing to accept`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    try alice.grant(file, to: bob.account).requireSuccess()
    var replica = try bob.pulled()
    try alice.revoke(file, from: bob.account, expect: "pending").requireSuccess()
    #expect(try bob.accept(file).answer.rules == ["link_target_not_found"])
    #expect(try bob.reject(file).rules == ["file_not_found"])
    try replica.pull()
    #expect(replica.ids == [bob.root])
    #expect(replica.shares[file]?.state == "revoked")
  }

  @Test(arguments: TestEngine.available)
  func `a share granted again is accepted at once where the link was kept`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let child = try alice.add(in: folder)
    try alice.share(folder, with: bob)
    var replica = try bob.pulled()
    try alice.revoke(folder, from: bob.account).requireSuccess()
    try replica.pull()
    #expect(!replica.ids.contains(child))
    let answer = try alice.grant(folder, to: bob.account, expect: "revoked")
    #expect(try answer.json["shares"][0]["state"].string == "accepted")
    try replica.pull(limit: 1)
    #expect(replica.ids.isSuperset(of: [folder, child]))
  }

  @Test(arguments: TestEngine.available, ["pending", "accepted"])
  func `a live share changes its mode and key, and keeps its state`(
    engine: TestEngine, state: String
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    try alice.grant(folder, to: bob.account).requireSuccess()
    if state == "accepted" { try bob.accept(folder).answer.requireSuccess() }
    let key = try bob.share(of: folder)?.key
    var replica = try bob.pulled()
    try alice.grant(folder, to: bob.account, mode: "write", expect: state).requireSuccess()
    try replica.pull()
    #expect(replica.shares[folder]?.state == state)
    #expect(replica.shares[folder]?.mode == "write")
    #expect(replica.shares[folder]?.key != key)
    let created = try bob.create(parent: folder, owner: alice.account).answer
    #expect(try created.rules == (state == "accepted" ? [] : ["not_permitted"]))
  }

  @Test func `a share is turned down only once its link is gone`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    let link = try alice.share(file, with: bob)
    #expect(try bob.reject(file, expect: "accepted").rules == ["link_exists"])
    let answer = try bob.batch(
      files: [bob.record(link).change { $0.deleted = true }],
      shares: [
        ShareChange(
          expect: "accepted",
          ShareStatement(file: file, account: bob.account, state: .rejected))
      ])
    #expect(answer.status == 200)
    #expect(try alice.share(of: file, for: bob.account)?.state == "rejected")
  }

  @Test(arguments: ["new", "pending", "rejected", "revoked"])
  func `a change that believes a share in another state is stale`(expect: String) throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    try alice.share(file, with: bob)
    let before = try server.state()
    for answer in [
      try alice.grant(file, to: bob.account, expect: expect),
      try alice.revoke(file, from: bob.account, expect: expect),
    ] {
      #expect(answer.status == 409)
      #expect(
        try answer.failures
          == [
            Failure(
              file: file.description, account: bob.account.description, rule: "share_stale")
          ])
    }
    #expect(try server.state() == before)
  }

  @Test func `what was never shared can be neither revoked nor rejected`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    #expect(try alice.revoke(file, from: bob.account).rules == ["share_not_found"])
    #expect(try alice.revoke(file, from: bob.account, expect: "new").rules == ["share_not_found"])
    #expect(try bob.reject(file).rules == ["file_not_found"])
  }

  // MARK: Who may share what

  @Test(arguments: ["read", "write"])
  func `only the owner grants and revokes`(mode: String) throws {
    let server = try TestServer()
    let (alice, bob, carol) = (
      try server.register(), try server.register(), try server.register()
    )
    let folder = try alice.add("folder")
    let child = try alice.add(in: folder)
    try alice.share(folder, with: bob, mode: mode)
    try alice.grant(folder, to: carol.account).requireSuccess()
    let before = try server.state()
    #expect(try bob.grant(child, to: carol.account).rules == ["not_owner"])
    #expect(
      try bob.grant(folder, to: carol.account, mode: "write", expect: "pending").rules
        == ["not_owner"])
    #expect(
      try bob.revoke(folder, from: carol.account, expect: "pending").rules == ["not_owner"])
    #expect(
      try bob.grant(folder, to: bob.account, mode: "write", expect: "accepted").rules
        == ["not_owner"])
    #expect(try server.state() == before)
  }

  @Test func `nobody turns a share down for another`() throws {
    let server = try TestServer()
    let (alice, bob, carol) = (
      try server.register(), try server.register(), try server.register()
    )
    let folder = try alice.add("folder")
    try alice.share(folder, with: bob, mode: "write")
    try alice.grant(folder, to: carol.account).requireSuccess()
    for device in [alice, bob] {
      let answer = try device.batch(shares: [
        ShareChange(
          expect: "pending",
          ShareStatement(file: folder, account: carol.account, state: .rejected))
      ])
      #expect(try answer.rules == ["not_permitted"])
    }
  }

  @Test func `a file is shared neither with its owner nor with nobody`() throws {
    let server = try TestServer()
    let alice = try server.register()
    let file = try alice.add()
    #expect(try alice.grant(file, to: alice.account).rules == ["share_with_owner"])
    #expect(try alice.grant(file, to: Random.identifier()).rules == ["account_not_found"])
    #expect(
      try alice.grant(Random.identifier(), to: alice.account).rules == ["file_not_found"])
  }

  @Test func `a signature by another key than the author's is refused`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    let statement = ShareStatement(
      file: file, account: try bob.account, state: .granted(mode: "read", key: [1]))
    let forged = ShareChange(
      expect: "new", statement, signature: bob.key.signature(for: statement.signedBytes))
    #expect(try alice.batch(shares: [forged]).rules == ["signature_invalid"])
  }

  @Test(arguments: TestEngine.available)
  func `a file is shared with 256 accounts and no more`(engine: TestEngine) throws {
    var limits = SyncLimits()
    limits.openInvitationCountMax = 1000
    limits.invitationsPerDay = 1000
    limits.receivedInvitationCountMax = 1000
    let server = try TestServer(engine, limits: limits)
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    let accounts = (0..<256).map { _ in Random.identifier() }
    try addAccounts(accounts, server)
    let grants = accounts.map { account in ShareChange.grant(file, to: account) }
    try alice.batch(shares: grants).requireSuccess()
    #expect(try alice.grant(file, to: bob.account).rules == ["too_many_shares"])
    try alice.revoke(file, from: accounts[0], expect: "pending").requireSuccess()
    #expect(try alice.grant(file, to: bob.account).status == 200)
  }

  // MARK: What is only offered

  @Test(arguments: TestEngine.available)
  func `an invited account sees the file and its content, and nothing beneath`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let (folder, document) = (try alice.add("folder"), try alice.add())
    let child = try alice.add(in: folder)
    try alice.put(document, [1, 2, 3], ifMatch: "*").requireSuccess()
    for id in [folder, document] { try alice.grant(id, to: bob.account).requireSuccess() }
    #expect(try bob.pulled().ids == [bob.root, folder, document])
    #expect(try bob.get("/v1/files/\(document)/content").holds([1, 2, 3]))
    #expect(try bob.get("/v1/files/\(child)").problem == "file_not_found")
    #expect(try bob.create(parent: folder, owner: alice.account).answer.rules == ["not_permitted"])
    #expect(try bob.put(document, [4], ifMatch: "*").problem == "not_permitted")
    #expect(try bob.rename(document).rules == ["not_permitted"])
  }

  @Test(arguments: TestEngine.available, ["rename", "move", "content", "key", "delete"])
  func `whatever happens to an offered file reaches the invited`(
    engine: TestEngine, event: String
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let (file, folder) = (try alice.add(), try alice.add("folder"))
    try alice.grant(file, to: bob.account).requireSuccess()
    var replica = try bob.pulled()
    let answer =
      switch event {
      case "rename": try alice.rename(file)
      case "move": try alice.move(file, to: folder)
      case "content": try alice.put(file, [1], ifMatch: "*")
      case "key": try alice.change(file) { $0.key = [1] }
      default: try alice.delete(file)
      }
    #expect(answer.status == 200)
    try replica.pull(limit: 1)
    let (seen, real) = (replica.records[file], try alice.record(file))
    #expect(seen?.name == real.name)
    #expect(seen?.parent == real.parent)
    #expect(seen?.key == real.key)
    #expect(seen?.deleted == real.deleted)
    #expect(seen?.contentVersion == real.contentVersion)
  }

  @Test(arguments: TestEngine.available)
  func `a folder above an offered file is deleted, and the invited are told`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let file = try alice.add(in: folder)
    try alice.grant(file, to: bob.account).requireSuccess()
    var replica = try bob.pulled()
    try alice.delete(folder).requireSuccess()
    #expect(try bob.accept(file).answer.rules == ["link_target_not_found"])
    try server.sweepDeletions()
    try replica.pull()
    #expect(replica.records[file]?.deleted == true)
    #expect(replica.ids == [bob.root])
  }

  @Test(arguments: TestEngine.available)
  func `an offered file that leaves a shared folder stays offered`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let file = try alice.add("folder", in: folder)
    let child = try alice.add(in: file)
    let link = try alice.share(folder, with: bob)
    try alice.grant(file, to: bob.account).requireSuccess()
    var replica = try bob.pulled()
    #expect(replica.ids == [bob.root, link, folder, file, child])
    try alice.move(file, to: alice.root).requireSuccess()
    try replica.pull()
    #expect(replica.ids == [bob.root, link, folder, file])
    #expect(try bob.pulled().ids == replica.ids)
  }

  // MARK: Links

  @Test func `a link leads to what its owner was offered, once`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let (offered, other, own) = (try alice.add(), try alice.add(), try bob.add())
    try alice.grant(offered, to: bob.account).requireSuccess()
    #expect(try bob.accept(other).answer.rules == ["link_target_not_found"])
    #expect(try bob.accept(Random.identifier()).answer.rules == ["link_target_not_found"])
    #expect(try bob.accept(own).answer.rules == ["link_target_owned"])
    let twice = [
      try bob.creation("link", target: offered), try bob.creation("link", target: offered),
    ]
    #expect(try bob.batch(files: twice).rules == ["link_exists"])
    try bob.accept(offered).answer.requireSuccess()
    #expect(try bob.accept(offered).answer.rules == ["link_exists"])
  }

  @Test func `a link gives way to another in one batch, and the share stays accepted`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    let link = try alice.share(file, with: bob)
    let answer = try bob.batch(files: [
      bob.creation("link", target: file), bob.record(link).change { $0.deleted = true },
    ])
    #expect(answer.status == 200)
    #expect(try bob.share(of: file)?.state == "accepted")
  }

  @Test func `nobody places links in a tree of another`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let document = try alice.add()
    try alice.share(folder, with: bob, mode: "write")
    try alice.grant(document, to: bob.account).requireSuccess()
    let link = try bob.creation(
      "link", parent: folder, owner: alice.account, target: document)
    #expect(try bob.batch(files: [link]).rules == ["link_not_own_tree"])
  }

  @Test(arguments: TestEngine.available)
  func `no link gets into a folder that others see, on any way`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob, carol) = (
      try server.register(), try server.register(), try server.register()
    )
    let shared = try bob.add("folder")
    try bob.share(shared, with: carol)
    let inner = try bob.add("folder", in: shared)
    let (one, two) = (try alice.add(), try alice.add())
    try alice.grant(one, to: bob.account).requireSuccess()
    try alice.grant(two, to: bob.account).requireSuccess()
    // A link is created there, moved there, moved there with its folder, and shared with its folder.
    #expect(try bob.accept(one, parent: inner).answer.rules == ["link_in_shared_folder"])
    let folder = try bob.add("folder")
    let link = try bob.accept(one, parent: folder).link
    #expect(try bob.move(link, to: inner).rules == ["link_in_shared_folder"])
    #expect(try bob.move(folder, to: inner).rules == ["link_in_shared_folder"])
    #expect(try bob.grant(folder, to: carol.account).rules == ["link_in_shared_folder"])
    let fresh = try bob.creation("folder")
    let answer = try bob.batch(
      files: [fresh, bob.creation("link", parent: fresh.file.id, target: two)],
      shares: [.grant(fresh.file.id, to: carol.account)])
    #expect(try answer.rules.contains("link_in_shared_folder"))
    try bob.move(link, to: bob.root).requireSuccess()
    #expect(try bob.move(folder, to: inner).status == 200)
  }

  @Test func `an account has at most 256 links`() throws {
    var limits = SyncLimits()
    limits.openInvitationCountMax = 1000
    limits.invitationsPerDay = 1000
    limits.receivedInvitationCountMax = 1000
    let server = try TestServer(limits: limits)
    let (alice, bob) = (try server.register(), try server.register())
    let files = try (0..<257).map { _ in try alice.creation() }
    try alice.batch(files: files).requireSuccess()
    try alice.batch(
      shares: files.map { change in ShareChange.grant(change.file.id, to: try bob.account) }
    ).requireSuccess()
    let links = try files.map { try bob.creation("link", target: $0.file.id) }
    let refused = try bob.batch(files: links)
    #expect(try refused.rules == ["too_many_links"])
    try bob.batch(files: Array(links.dropLast())).requireSuccess()
    #expect(try bob.batch(files: [links[256]]).rules == ["too_many_links"])
    let answer = try bob.batch(files: [
      bob.record(links[0].file.id).change { $0.deleted = true }, links[256],
    ])
    #expect(answer.status == 200)
  }

  @Test func `an account sees at most 256 other accounts' trees`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let owners = (0..<256).map { _ in Random.identifier() }
    try addAccounts(owners, server)
    let viewer = try bob.account
    try server.database.write(for: nil) { transaction in
      for (number, owner) in owners.enumerated() {
        try transaction.execute(
          """
          INSERT INTO sync.views (account_id, owner_id, number, from_seq) VALUES ($1, $2, $3, 0)
          """, .id(viewer), .id(owner), .integer(number))
      }
    }
    let file = try alice.add()
    try alice.grant(file, to: viewer).requireSuccess()
    #expect(try bob.accept(file).answer.rules == ["too_many_owners"])
    let full = try bob.updates()
    #expect(full.status == 200)
    #expect(try bob.updates(since: full.json["cursor"].string).status == 200)
  }

  /// Adds accounts for which no one has a key.
  private func addAccounts(_ accounts: [Identifier], _ server: TestServer) throws {
    try server.database.write(for: nil) { transaction in
      for account in accounts {
        try transaction.execute(
          """
          INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
          VALUES ($1, $1, 0, 0, 0)
          """, .id(account))
      }
    }
  }

  @Test func `a link is not shared on`() throws {
    let server = try TestServer()
    let (alice, bob, carol) = (
      try server.register(), try server.register(), try server.register()
    )
    let link = try alice.share(alice.add(), with: bob)
    #expect(try bob.grant(link, to: carol.account).rules == ["link_not_shareable"])
  }

  @Test func `a link outlives a revoked share and can be moved, renamed and deleted`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add()
    let link = try alice.share(file, with: bob)
    try alice.revoke(file, from: bob.account).requireSuccess()
    #expect(try bob.rename(link).status == 200)
    #expect(try bob.move(link, to: bob.add("folder")).status == 200)
    #expect(try bob.delete(link).status == 200)
    #expect(try alice.share(of: file, for: bob.account)?.state == "revoked")
  }
}
