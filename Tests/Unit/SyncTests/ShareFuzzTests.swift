import Accounts
import Base
import SeededRandom
import Sync
import TestDevices
import TestEngines
import Testing

/// Three accounts that share, move and delete at random, and clients that pull now and then.
@Suite struct ShareFuzzTests {
  private struct Scene {
    let server: TestServer
    let devices: [TestDevice]
    var random: SeededGenerator
    /// Every file that was ever created, with its owner's index among the devices.
    var files: [(id: Identifier, owner: Int)] = []
    var seen: [Int: Int] = [:]

    init(_ engine: TestEngine, seed: UInt64) throws {
      var limits = SyncLimits()
      limits.openInvitationCountMax = 1000
      limits.invitationsPerDay = 10_000
      limits.receivedInvitationCountMax = 10_000
      limits.requestBurst = 1_000_000
      let server = try TestServer(engine, limits: limits)
      self.server = server
      random = SeededGenerator(seed: seed)
      devices = try (0..<3).map { _ in try server.register() }
      for owner in 0..<2 {
        for _ in 0..<3 { files.append((try devices[owner].add("folder"), owner)) }
      }
    }

    /// Sends one request of a random account. If it is not accepted, everything must stay as it was.
    mutating func act() throws {
      let actor = Int.random(in: 0..<3, using: &random)
      let before = try server.state()
      guard let answer = try request(of: actor) else { return }
      seen[answer.status, default: 0] += 1
      guard answer.status != 200 else { return try keepLive() }
      #expect(try server.state() == before)
    }

    /// Forgets deleted files now and then, and never runs out of folders.
    private mutating func keepLive() throws {
      guard Int.random(in: 0..<5, using: &random) == 0 else { return }
      files = try files.filter { try !devices[$0.owner].record($0.id).deleted }
      while files.count < 6 {
        let owner = files.count % 2
        files.append((try devices[owner].add("folder"), owner))
      }
    }

    private mutating func request(of actor: Int) throws -> Answer? {
      let file = files.randomElement(using: &random)!
      let folder = files.filter { $0.owner == file.owner }.randomElement(using: &random)!
      let device = Int.random(in: 0..<3, using: &random) > 0 ? devices[file.owner] : devices[actor]
      let mode = Bool.random(using: &random) ? "read" : "write"
      let other = try devices.randomElement(using: &random)!.account
      let states = ["new", "pending", "accepted", "rejected", "revoked"]
      let real = try devices[file.owner].share(of: file.id, for: other)?.state ?? "new"
      let state =
        Int.random(in: 0..<5, using: &random) > 0 ? real : states.randomElement(using: &random)!
      switch Int.random(in: 0..<18, using: &random) {
      case 0, 1:
        let owner = Int.random(in: 0..<3, using: &random) > 0 ? folder.owner : actor
        let parent = owner == folder.owner ? folder.id : devices[owner].root
        let creation = try device.creation(
          Bool.random(using: &random) ? "folder" : "document", parent: parent,
          owner: devices[owner].account)
        let answer = try device.batch(files: [creation])
        if answer.status == 200 { files.append((creation.file.id, owner)) }
        return answer
      case 2: return try devices[file.owner].grant(file.id, to: other, mode: mode, expect: state)
      case 3: return try device.grant(file.id, to: other, mode: mode, expect: state)
      case 4: return try devices[file.owner].revoke(file.id, from: other, expect: state)
      case 5: return try devices[actor].reject(file.id, expect: state)
      case 6, 7:
        let sharee = devices[actor]
        let pending = try sharee.pulled().shares.values.filter { $0.state == "pending" }
        guard let share = pending.min(by: { $0.file < $1.file }) else { return nil }
        return try sharee.accept(share.file).answer
      case 8:
        let sharee = devices[actor]
        let links = try sharee.pulled().tree.values.filter { $0.type == "link" }
        guard let link = links.min(by: { $0.id < $1.id }) else { return nil }
        return try sharee.delete(link.id)
      case 9: return try visible(file.id, device).map { try device.rename($0) }
      case 10, 11: return try visible(file.id, device).map { try device.move($0, to: folder.id) }
      case 12:
        return try visible(file.id, device).map {
          try device.move($0, to: devices[file.owner].root)
        }
      case 13, 14, 15: return try together(file.owner, other)
      case 16: return try visible(file.id, device).map { try device.put($0, [1, 2], ifMatch: "*") }
      default:
        guard Bool.random(using: &random) else { return nil }
        return try visible(file.id, device).map { try device.delete($0) }
      }
    }

    /// Moves of an owner's files and a change of a share, in one batch.
    private mutating func together(
      _ owner: Int, _ other: Identifier
    ) throws -> Answer {
      let device = devices[owner]
      let own = files.filter { $0.owner == owner }.map(\.id)
      let moved = Set((0..<3).map { _ in own.randomElement(using: &random)! }).sorted()
      var changes: [FileChange] = []
      for id in moved {
        let parent =
          Int.random(in: 0..<4, using: &random) > 0
          ? own.randomElement(using: &random)! : device.root
        let isDeletion = Int.random(in: 0..<12, using: &random) == 0
        changes.append(
          try device.record(id).change {
            if isDeletion { $0.deleted = true } else { $0.parent = parent }
          })
      }
      let file = own.randomElement(using: &random)!
      let state = try device.share(of: file, for: other)?.state ?? "new"
      let isGrant = state == "new" || Bool.random(using: &random)
      let share = ShareChange(
        expect: state,
        ShareStatement(
          file: file, account: other,
          state: isGrant ? .granted(mode: "write", key: [1]) : .revoked))
      return try device.batch(files: changes, shares: Bool.random(using: &random) ? [share] : [])
    }

    private func visible(_ id: Identifier, _ device: TestDevice) throws -> Identifier? {
      try device.get("/v1/files/\(id)").status == 200 ? id : nil
    }
  }

  private static let roundCount = TestRun.isFull ? 250 : 120

  @Test(arguments: TestEngine.available)
  func `whatever is shared and moved, every client ends where a fresh one does`(
    engine: TestEngine
  ) throws {
    let seed = SeededGenerator.seed(of: "shares at random")
    var scene = try Scene(engine, seed: seed)
    var replicas = scene.devices.map { Replica($0) }
    for round in 1...Self.roundCount {
      try scene.act()
      let index = Int.random(in: 0..<3, using: &scene.random)
      if Bool.random(using: &scene.random) { try replicas[index].pullPage(limit: 2) }
      guard round.isMultiple(of: 12) else { continue }
      try scene.server.sweepDeletions()
      try replicas[index].pull(limit: Int.random(in: 1...5, using: &scene.random))
      try expectFresh(replicas[index], "seed \(seed), round \(round)")
    }
    try scene.server.sweepDeletions()
    for var replica in replicas {
      try replica.pull(limit: 3)
      try expectFresh(replica, "seed \(seed), at the end")
    }
    print("answers by status: \(scene.seen.sorted { $0.key < $1.key })")
    #expect(Set(scene.seen.keys).isSubset(of: [200, 403, 409, 410, 422]), "seed \(seed)")
    for device in scene.devices {
      let own = try device.account
      let live = try device.pulled().tree.values.filter { $0.owner == own }
      let bytes = live.map { 1000 + ($0.contentByteCount ?? 0) }.reduce(0, +)
      #expect(try device.usage() == bytes, "seed \(seed)")
    }
  }

  private func expectFresh(_ replica: Replica, _ comment: String) throws {
    let fresh = try replica.device.pulled()
    #expect(differences(replica, fresh) == "", "\(comment)")
    #expect(replica.troubles.isEmpty && fresh.troubles.isEmpty, "\(comment)")
  }

  private func differences(_ replica: Replica, _ fresh: Replica) -> String {
    var lines: [String] = []
    let (old, new) = (replica.tree, fresh.tree)
    for id in Set(old.keys).union(new.keys).sorted() {
      switch (old[id], new[id]) {
      case (let one?, nil): lines.append("\(one.type) \(id) should be gone")
      case (nil, let two?): lines.append("\(two.type) \(id) is missing")
      case (let one?, let two?) where !isSame(one, two):
        lines.append("\(one.type) \(id) of version \(one.version) is not that of \(two.version)")
      default: break
      }
    }
    for file in Set(replica.shares.keys).union(fresh.shares.keys).sorted()
    where replica.shares[file] != fresh.shares[file] {
      lines.append(
        "the share of \(file) is \(replica.shares[file]?.state ?? "none"), not \(fresh.shares[file]?.state ?? "none")"
      )
    }
    return lines.joined(separator: "; ")
  }

  /// Compares everything but the version: a file may get another number for others' sake, without being
  /// changed.
  private func isSame(_ one: SeenRecord, _ two: SeenRecord) -> Bool {
    one.statement == two.statement && one.signature == two.signature && one.deleted == two.deleted
      && one.contentVersion == two.contentVersion && one.shares == two.shares
  }
}
