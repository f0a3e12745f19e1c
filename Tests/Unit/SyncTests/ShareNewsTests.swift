import Accounts
import Base
import JSON
import SeededRandom
import Sync
import TestDevices
import TestEngines
import Testing

/// Both sides of a share learn of everything that happens to it, whatever is below the file.
@Suite struct ShareNewsTests {
  /// Alice's folder with `fileCount` files below it, two invited accounts, and the state of all their
  /// clients.
  private struct Scene {
    private let server: TestServer
    let alice: TestDevice
    let sharees: [TestDevice]
    let folder: Identifier
    var owner: Replica
    var others: [Replica]

    init(_ engine: TestEngine, fileCount: Int) throws {
      server = try TestServer(engine, freeByteCount: 10_000_000)
      let server = server
      let alice = try server.register()
      let folder = try alice.add("folder")
      self.alice = alice
      self.folder = folder
      sharees = try (0..<2).map { _ in try server.register() }
      for start in stride(from: 0, to: fileCount, by: 500) {
        let files = try (start..<min(fileCount, start + 500)).map { _ in
          try alice.creation(parent: folder)
        }
        try alice.batch(files: files).requireSuccess()
      }
      owner = try alice.pulled()
      others = try sharees.map { try $0.pulled() }
    }

    /// Pulls on every client. Returns the states that the owner's client and the sharees' clients know.
    mutating func told() throws -> (owner: [String], sharees: [String]) {
      try owner.pull()
      for index in others.indices { try others[index].pull() }
      let shares = owner.records[folder]?.shares ?? []
      return (
        try sharees.map { sharee in
          let account = try sharee.account
          return shares.first { $0.account == account }?.state ?? "new"
        },
        others.map { $0.shares[folder]?.state ?? "new" }
      )
    }
  }

  @Test(arguments: TestEngine.byTurns([998, 999, 1000, 1500]))
  func `the owner of a folder of any size learns that its share was accepted, and can revoke it`(
    fileCount: Int, engine: TestEngine
  ) throws {
    var scene = try Scene(engine, fileCount: fileCount)
    let (alice, bob) = (scene.alice, scene.sharees[0])
    try alice.grant(scene.folder, to: bob.account).requireSuccess()
    #expect(try scene.told().owner[0] == "pending")
    try bob.accept(scene.folder).answer.requireSuccess()
    let known = try scene.told().owner[0]
    #expect(known == "accepted")
    #expect(try alice.revoke(scene.folder, from: bob.account, expect: known).status == 200)
    #expect(try scene.told().owner[0] == "revoked")
    #expect(scene.others[0].shares[scene.folder]?.state == "revoked")
    #expect(try bob.get("/v1/files/\(scene.folder)").status == 404)
  }

  @Test(arguments: TestEngine.byTurns([3, 998, 1001]))
  func `whatever happens to shares of a folder of any size, both sides learn of it`(
    fileCount: Int, engine: TestEngine
  ) throws {
    let seed = SeededGenerator.seed(of: "share news, \(fileCount) files on \(engine)")
    var random = SeededGenerator(seed: seed)
    var scene = try Scene(engine, fileCount: fileCount)
    let folder = scene.folder
    var links: [Int: Identifier] = [:]
    var states = ["new", "new"]
    for step in 0..<16 {
      let index = Int.random(in: 0...1, using: &random)
      let (sharee, state) = (scene.sharees[index], states[index])
      switch (state, Int.random(in: 0...2, using: &random)) {
      case ("pending", 0):
        let (link, answer) = try sharee.accept(folder)
        try answer.requireSuccess()
        links[index] = link
        states[index] = "accepted"
      case ("pending", 1) where links[index] == nil:
        try sharee.reject(folder).requireSuccess()
        states[index] = "rejected"
      case ("accepted", 0):
        if let link = links.removeValue(forKey: index) { try sharee.delete(link).requireSuccess() }
        states[index] = "pending"
      case ("pending", _), ("accepted", _):
        try scene.alice.revoke(folder, from: sharee.account, expect: state).requireSuccess()
        states[index] = "revoked"
      default:
        try scene.alice.grant(folder, to: sharee.account, expect: state).requireSuccess()
        states[index] = links[index] == nil ? "pending" : "accepted"
      }
      // Some clients follow each change, and some skip a few.
      guard Int.random(in: 0...2, using: &random) > 0 || step == 15 else { continue }
      let told = try scene.told()
      try #require(told.owner == states, "seed \(seed), step \(step)")
      try #require(told.sharees == states, "seed \(seed), step \(step)")
    }
  }

  // MARK: Restarts

  @Test(arguments: TestEngine.byTurns([1, 1200]))
  func `an invitation outlives the restart that accepting another one brings`(
    fileCount: Int, engine: TestEngine
  ) throws {
    var scene = try Scene(engine, fileCount: fileCount)
    let (alice, bob) = (scene.alice, scene.sharees[0])
    let offered = try alice.add()
    try alice.grant(offered, to: bob.account).requireSuccess()
    try alice.grant(scene.folder, to: bob.account).requireSuccess()
    try scene.others[0].pull()
    #expect(scene.others[0].ids.contains(offered))
    try bob.accept(scene.folder).answer.requireSuccess()
    let page = try bob.updates(since: scene.others[0].cursor).json
    #expect(page["restart"].array?.map(\.string) == [try alice.account.description])
    try scene.others[0].pull()
    #expect(scene.others[0].ids.contains(offered))
    #expect(try scene.others[0].ids == bob.pulled().ids)
  }

  @Test(arguments: TestEngine.byTurns([1100, 2100]))
  func `an invitation outlives the restart that a large move brings`(
    fileCount: Int, engine: TestEngine
  ) throws {
    var scene = try Scene(engine, fileCount: fileCount)
    let (alice, bob) = (scene.alice, scene.sharees[0])
    let shared = try alice.add("folder")
    try alice.share(shared, with: bob)
    let offered = try alice.add()
    try alice.grant(offered, to: bob.account).requireSuccess()
    try scene.others[0].pull()
    for parent in [shared, alice.root] {
      try alice.move(scene.folder, to: parent).requireSuccess()
      let page = try bob.updates(since: scene.others[0].cursor).json
      #expect(page["restart"].array?.count == 1)
      try scene.others[0].pull(limit: 300)
      #expect(scene.others[0].ids.contains(offered))
      #expect(try scene.others[0].ids == bob.pulled().ids)
    }
  }

  // MARK: Many invitations

  /// Creates `count` documents of Alice's, each with an invitation for Bob.
  private func offer(
    _ count: Int, by alice: TestDevice, to bob: TestDevice
  ) throws -> Set<Identifier> {
    let account = try bob.account
    var offered: Set<Identifier> = []
    for start in stride(from: 0, to: count, by: 250) {
      let files = try (start..<min(count, start + 250)).map { _ in try alice.creation() }
      let shares = files.map { ShareChange.grant($0.file.id, to: account) }
      try alice.batch(files: files, shares: shares).requireSuccess()
      offered.formUnion(files.map(\.file.id))
    }
    return offered
  }

  private static func server(_ engine: TestEngine) throws -> TestServer {
    var limits = SyncLimits()
    limits.openInvitationCountMax = 10_000
    limits.invitationsPerDay = 10_000
    limits.receivedInvitationCountMax = 10_000
    return try TestServer(engine, freeByteCount: 10_000_000, limits: limits)
  }

  @Test(arguments: TestEngine.mainly(.postgres))
  func `a thousand invitations outlive a restart, and the end of the view that is read again`(
    engine: TestEngine
  ) throws {
    let server = try Self.server(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let offered = try offer(999, by: alice, to: bob)
    let folder = try alice.add("folder")
    var whole = try bob.pulled()
    var half = whole
    try alice.share(folder, with: bob)
    try whole.pull()
    #expect(offered.isSubset(of: whole.ids))
    // A client that has begun to read the view again when the view ends.
    try half.pullPage(limit: 10)
    try alice.revoke(folder, from: bob.account, expect: "accepted").requireSuccess()
    try half.pull(limit: 100)
    #expect(half.ids.intersection(offered).count == 999)
  }

  @Test(arguments: TestEngine.available)
  func `of one account's files another has a thousand shares at most`(engine: TestEngine) throws {
    let server = try Self.server(engine)
    let (alice, bob, carol) = (
      try server.register(), try server.register(), try server.register()
    )
    let offered = try offer(999, by: alice, to: bob).sorted()
    let two = try (0..<2).map { _ in try alice.add() }
    let account = try bob.account
    let refused = try alice.batch(shares: two.map { ShareChange.grant($0, to: account) })
    #expect(try refused.rules == ["too_many_shares"])
    try alice.share(two[0], with: bob)
    #expect(try alice.grant(two[1], to: account).rules == ["too_many_shares"])
    try alice.grant(two[1], to: carol.account).requireSuccess()
    try alice.revoke(offered[0], from: account, expect: "pending").requireSuccess()
    try alice.grant(two[1], to: account).requireSuccess()
    // A live share may get another key.
    try alice.grant(offered[1], to: account, mode: "write", expect: "pending").requireSuccess()
  }

  @Test(arguments: TestEngine.available)
  func `a share that is told again is the same to all who know of it`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let (shared, offered) = (try alice.add("folder"), try alice.add())
    try alice.grant(offered, to: bob.account).requireSuccess()
    try alice.share(shared, with: bob)
    var replicas = [try alice.pulled(), try bob.pulled()]
    let before = replicas[1].shares[offered]
    // The end of the view reports the invitation again; then a change of its file does.
    try alice.revoke(shared, from: bob.account, expect: "accepted").requireSuccess()
    for step in 0..<2 {
      for index in replicas.indices {
        try replicas[index].pull()
        let fresh = try replicas[index].device.pulled()
        #expect(replicas[index].records[offered] == fresh.records[offered], "step \(step)")
        #expect(replicas[index].shares == fresh.shares)
      }
      #expect(replicas[0].records[offered]?.shares == before.map { [$0] })
      #expect(replicas[1].shares[offered] == before)
      try alice.rename(offered).requireSuccess()
    }
  }
}
