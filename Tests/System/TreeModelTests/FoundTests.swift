import Base
import Crypto
import Sync
import TestDevices
import TestEngines
import Testing
import TreeSimulation

/// Errors that the model found, each in the smallest story that shows it.
@Suite struct FoundTests {
  @Test func `a file beneath a folder that moves to no parent has no parent, and is not too deep`()
    throws
  {
    let server = try TreeServer(.sqlite)
    let device = try server.register()
    let (folder, _) = try device.create("folder")
    let answer = try device.batch(files: [
      device.record(folder).change { $0.parent = Random.identifier() },
      device.creation(parent: folder),
    ])
    #expect(answer.status == 422)
    #expect(try answer.rules == ["parent_not_found"])
  }

  @Test func `a share is not rejected while a new link takes the place of the old one`() throws {
    let server = try TreeServer(.sqlite)
    let (owner, sharee) = (try server.register(), try server.register())
    let (folder, _) = try owner.create("folder")
    let link = try owner.share(folder, with: sharee)
    let rejection = ShareStatement(
      file: folder, account: try sharee.account, state: .rejected)
    let answer = try sharee.batch(
      files: [
        sharee.record(link).change { $0.deleted = true },
        sharee.creation("link", target: folder),
      ],
      shares: [ShareChange(expect: "accepted", rejection)])
    #expect(answer.status == 422)
    #expect(try answer.rules == ["link_exists"])
  }

  /// The client never saw the file in its new place, and the file did not leave from the old one.
  @Test(arguments: [1, 1100], TestEngine.available)
  func `what moved into a folder that then left is gone, though it was read before`(
    count: Int, engine: TestEngine
  ) throws {
    let server = try TreeServer(engine)
    let (owner, sharee) = (try server.register(), try server.register())
    let (shared, _) = try owner.create("folder")
    let (leaving, _) = try owner.create("folder", parent: shared)
    let (moved, _) = try owner.create(parent: shared)
    let (deleted, _) = try owner.create(parent: shared)
    for start in stride(from: 1, to: count, by: 500) {
      let files = try (start..<min(count, start + 500)).map { _ in
        try owner.creation(parent: leaving)
      }
      #expect(try owner.batch(files: files).status == 200)
    }
    try owner.share(shared, with: sharee)
    var replica = Replica(sharee)
    try replica.pull()
    #expect(try owner.move(moved, to: leaving).status == 200)
    #expect(try owner.move(deleted, to: leaving).status == 200)
    #expect(try owner.delete(deleted).status == 200)
    #expect(try owner.move(leaving, to: owner.root).status == 200)
    try replica.pull()
    #expect(replica.ids.count == 3)
    #expect(replica.ids.isDisjoint(with: [moved, deleted, leaving]))
  }

  @Test func `a link that is refused in another's tree does not stand in the way of a rejection`()
    throws
  {
    let server = try TreeServer(.sqlite)
    let (owner, sharee) = (try server.register(), try server.register())
    let (folder, _) = try owner.create("folder")
    #expect(try owner.grant(folder, to: sharee.account).status == 200)
    let link = try sharee.creation("link", owner: owner.account, target: folder)
    let rejection = ShareStatement(file: folder, account: try sharee.account, state: .rejected)
    let answer = try sharee.batch(
      files: [link], shares: [ShareChange(expect: "pending", rejection)])
    #expect(try answer.failures == [Failure(file: "\(link.file.id)", rule: "owner_differs")])
  }

  /// The height that was counted at the move is less than the height that the deleted folders below had left.
  @Test func `no folder with many levels moves deep because it once had few`() throws {
    let server = try TreeServer(.sqlite)
    let device = try server.register()
    func chain(beneath folder: Identifier, levels: Int) throws -> [Identifier] {
      var parent = folder
      let changes = try (0..<levels).map { _ in
        let change = try device.creation("folder", parent: parent)
        parent = change.file.id
        return change
      }
      #expect(try device.batch(files: changes).status == 200)
      return changes.map(\.file.id)
    }
    let (moved, _) = try device.create("folder")
    let (inner, _) = try device.create("folder", parent: moved)
    #expect(try device.delete(chain(beneath: inner, levels: 100)[0]).status == 200)
    while try server.trees.markDeleted() {}
    let deep = try chain(beneath: device.root, levels: 100)
    #expect(try device.move(moved, to: deep[39]).status == 200)
    _ = try chain(beneath: inner, levels: 80)
    #expect(try device.move(moved, to: deep[99]).rules == ["too_deep"])
  }
}
