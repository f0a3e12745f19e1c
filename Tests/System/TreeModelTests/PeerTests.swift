import Base
import Crypto
import Storage
import Sync
import TestDevices
import TestEngines
import Testing
import TreeSimulation

/// Stories that end badly if versions are times, if a share by a move is reported for one file only, if
/// access is a list in the record, and if a tree is validated as a whole.
@Suite struct PeerTests {
  // MARK: Lost updates

  /// A change stamped by a clock that was set back would come before what a client has read.
  @Test(arguments: [-3600, -1, 0, 3600], TestEngine.available)
  func `no change is lost to a cursor, whatever the clock does between two commits`(
    seconds: Int64, engine: TestEngine
  ) throws {
    let server = try TreeServer(engine)
    let (device, sharee) = (try server.register(), try server.register())
    let (folder, _) = try device.create("folder")
    try device.share(folder, with: sharee)
    let (document, _) = try device.create(parent: folder)
    var replicas = [Replica(device), Replica(sharee)]
    for step in 0..<6 {
      for index in replicas.indices { try replicas[index].pull() }
      // Also after changes that the clients have read, without another change in between.
      server.advance(.seconds(step.isMultiple(of: 2) ? seconds : -seconds))
      let hmac = [UInt8](repeating: UInt8(step), count: 32)
      #expect(try device.rename(document, hmac: hmac).status == 200)
      #expect(
        try device.put(document, [UInt8](repeating: 0, count: step), ifMatch: "*").status == 200)
      for index in replicas.indices {
        try replicas[index].pull()
        let seen = replicas[index].tree[document]
        #expect(seen?.name?.hmac == hmac)
        #expect(seen?.contentByteCount == Int64(step))
      }
    }
  }

  // MARK: Shares by move

  /// Beyond a thousand files the whole view is sent again, instead of a number for each file.
  @Test(arguments: [3, 1100], TestEngine.available)
  func `a folder that moves into a share brings all beneath it, and takes it away again`(
    count: Int, engine: TestEngine
  ) throws {
    let server = try TreeServer(engine)
    let (owner, sharee) = (try server.register(), try server.register())
    let (shared, _) = try owner.create("folder")
    try owner.share(shared, with: sharee)
    let (folder, _) = try owner.create("folder")
    let (inner, _) = try owner.create("folder", parent: folder)
    var files: Set = [folder, inner]
    while files.count < count {
      let changes = try (files.count..<min(count, files.count + 500)).map { number in
        try owner.creation(parent: number.isMultiple(of: 2) ? folder : inner)
      }
      #expect(try owner.batch(files: changes).status == 200)
      files.formUnion(changes.map(\.file.id))
    }
    var replica = Replica(sharee)
    try replica.pull()
    #expect(replica.ids.isDisjoint(with: files))
    #expect(try owner.move(folder, to: shared).status == 200)
    try replica.pull(limit: 100)
    #expect(files.subtracting(replica.ids).count == 0)
    #expect(try owner.move(folder, to: owner.root).status == 200)
    try replica.pull(limit: 100)
    #expect(replica.ids.intersection(files).count == 0)
  }

  // MARK: Revoked shares

  @Test(arguments: TestEngine.available)
  func `a revoked share is told as revoked, without its key, and its row is kept`(
    engine: TestEngine
  ) throws {
    let server = try TreeServer(engine)
    let (owner, sharee) = (try server.register(), try server.register())
    let (folder, _) = try owner.create("folder")
    let (document, _) = try owner.create(parent: folder)
    try owner.share(folder, with: sharee, mode: "write")
    var replicas = [Replica(owner), Replica(sharee)]
    for index in replicas.indices { try replicas[index].pull() }
    #expect(replicas[1].ids.contains(document))
    #expect(try owner.revoke(folder, from: sharee.account).status == 200)
    for index in replicas.indices { try replicas[index].pull() }
    #expect(replicas[1].ids.isDisjoint(with: [folder, document]))
    for share in [replicas[0].tree[folder]?.shares.first, replicas[1].shares[folder]] {
      #expect(share?.state == "revoked")
      #expect(share?.key == nil)
      #expect(share?.isSignatureValid == true)
    }
    let states = try server.database.read { reader in
      try reader.rows("SELECT state FROM sync.shares") { row in try row.text(0) }
    }
    #expect(states == ["revoked"])
  }

  // MARK: One broken record

  enum Damage: String, CaseIterable {
    case orphan, cycle, danglingLink, foreignParent, documentParent
  }

  @Test(arguments: Damage.allCases, TestEngine.available)
  func `one broken record stops none of its owner's other changes`(
    damage: Damage, engine: TestEngine
  ) throws {
    let server = try TreeServer(engine)
    let (device, other) = (try server.register(), try server.register())
    let (broken, _) = try device.create("folder")
    let (beneath, _) = try device.create("folder", parent: broken)
    let (theirs, _) = try other.create("folder")
    let link = try other.share(theirs, with: device)
    let (folder, _) = try device.create("folder")
    let (document, _) = try device.create(parent: folder)
    try server.database.write(for: nil) { transaction in
      // A change that no request can make.
      let (file, column, value): (Identifier, String, Identifier) =
        switch damage {
        case .orphan: (broken, "parent_id", Random.identifier())
        case .cycle: (broken, "parent_id", beneath)
        case .foreignParent: (broken, "parent_id", other.root)
        case .documentParent: (broken, "parent_id", document)
        case .danglingLink: (link, "target_id", Random.identifier())
        }
      try transaction.execute(
        "UPDATE sync.files SET \(column) = $2 WHERE id = $1", .id(file), .id(value))
    }

    #expect(try device.create(parent: folder).answer.status == 200)
    #expect(try device.create("folder").answer.status == 200)
    #expect(try device.rename(document).status == 200)
    #expect(try device.put(document, [1, 2, 3], ifMatch: "*").status == 200)
    #expect(try device.move(document, to: device.root).status == 200)
    #expect(try device.share(folder, with: server.register()) != folder)
    #expect(try device.delete(folder).status == 200)
    while try server.trees.markDeleted() {}
    var replica = Replica(device)
    try replica.pull(limit: 3)
    #expect(replica.tree[document]?.parent == device.root)
    #expect(!replica.ids.contains(folder))
    // The broken record itself causes no server error.
    #expect(try device.rename(broken).status < 500)
    #expect(try device.create(parent: beneath).answer.status < 500)
    #expect(try device.move(beneath, to: device.root).status < 500)
  }
}
