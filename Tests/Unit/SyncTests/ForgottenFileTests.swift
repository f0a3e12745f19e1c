import Accounts
import Base
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Ids of files that were deleted so long ago that the server has forgotten them.
@Suite struct ForgottenFileTests {
  private struct Scene {
    let server: TestServer
    let alice: TestDevice
    let bob: TestDevice
    let file: Identifier
    let link: Identifier

    /// Gives Bob a link to a file that Alice deleted and the server forgot.
    init(_ engine: TestEngine) throws {
      server = try TestServer(engine)
      (alice, bob) = (try server.register(), try server.register())
      file = try alice.add()
      link = try alice.share(file, with: bob)
      try alice.delete(file).requireSuccess()
      server.clock.advance(.days(92))
      try server.sweeper().sweep()
    }

    func make(by device: TestDevice) throws -> Answer {
      try device.create(id: file).answer
    }
  }

  @Test(arguments: TestEngine.available)
  func `the id of a forgotten file is not made again while a link leads to it`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    #expect(try scene.make(by: scene.alice).rules == ["id_taken"])
    // Nor can another account that knows the id create it in its own tree.
    #expect(try scene.make(by: scene.server.register()).rules == ["id_taken"])
  }

  @Test(arguments: TestEngine.available)
  func `a file of a forgotten id is shared only with who accepts it anew`(
    engine: TestEngine
  ) throws {
    let scene = try Scene(engine)
    try scene.bob.delete(scene.link).requireSuccess()
    #expect(try scene.make(by: scene.alice).status == 200)
    try scene.alice.grant(scene.file, to: scene.bob.account).requireSuccess()
    #expect(try scene.bob.share(of: scene.file)?.state == "pending")
  }

  @Test(arguments: TestEngine.available)
  func `a file whose id was used anew since it was due is not forgotten`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let alice = try server.register()
    let (document, horizon) = (try alice.add(), server.clock.now)
    try server.database.write(for: nil) { transaction in
      try Pruning.files(transaction, [document], before: horizon)
    }
    #expect(try alice.get("/v1/files/\(document)").status == 200)
  }

  /// The account's tree as an archive brings it. Throws unless it breaks no rule.
  private func moved(_ device: TestDevice, on server: TestServer) throws -> MovedTree {
    let id = try device.account
    let (account, files) = try server.database.read { reader in
      (
        try #require(try MovedAccount(reader, id)),
        try MovedFile.page(reader, of: id, after: -1)
      )
    }
    var tree = MovedTree(of: account)
    for file in files { try tree.add(file) }
    try tree.requireWhole()
    return tree
  }

  /// Throws unless the account's tree breaks no rule, here and in an archive.
  private func requireMovable(_ device: TestDevice, on server: TestServer) throws {
    try server.requireSound([device])
    _ = try moved(device, on: server)
  }

  @Test(arguments: TestEngine.available)
  func `what the trash keeps of a forgotten folder breaks no rule, and comes back elsewhere`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, trashFor: 200)
    let device = try server.register()
    let folder = try device.add("folder")
    let inner = try device.add("folder", in: folder)
    let id = try device.add(in: inner)
    for deleted in [inner, folder] {
      try device.delete(deleted).requireSuccess()
      try server.sweepDeletions()
    }
    try device.purge(folder).requireDone()
    try server.sweepDeletions()
    server.clock.advance(.days(92))
    try server.sweeper().sweep()
    #expect(try device.get("/v1/files/\(folder)").status == 404)
    try requireMovable(device, on: server)
    #expect(try device.restoreDeleted(inner).problem == "parent_gone")
    try device.restoreDeleted(inner) { $0.parent = device.root }.requireDone()
    try server.sweepDeletions()
    #expect(try device.record(id).deleted == false)
    try server.requireRight([device])
    try requireMovable(device, on: server)
  }

  @Test(arguments: TestEngine.available)
  func `what was marked later than a forgotten folder breaks no rule`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let folder = try device.add("folder")
    _ = try device.add(in: folder)
    try device.delete(folder).requireSuccess()
    server.clock.advance(.days(1))
    try server.sweepDeletions()
    server.clock.advance(.days(90))
    try server.sweeper().sweep()
    #expect(try device.get("/v1/files/\(folder)").status == 404)
    try requireMovable(device, on: server)
  }

  @Test(arguments: TestEngine.available)
  func `the id of a forgotten folder is not made again while what was in it is told of`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (alice, mallory) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    _ = try alice.add(in: folder)
    try alice.delete(folder).requireSuccess()
    // The sweep is late, so that the folder's content was marked a day after the folder.
    server.clock.advance(.days(1))
    try server.sweepDeletions()
    server.clock.advance(.days(90))
    try server.sweeper().sweep()
    #expect(try mallory.create("folder", id: folder).answer.rules == ["id_taken"])
    server.clock.advance(.days(1))
    try server.sweeper().sweep()
    #expect(try mallory.create("folder", id: folder).answer.status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `an archive brings no deleted file into another account's folder, and no folder above one`(
    engine: TestEngine
  ) throws {
    let (here, there) = (try TestServer(engine), try TestServer(engine))
    let (alice, mallory) = (try here.register(), try there.register())
    let folder = try alice.add("folder")
    _ = try alice.add(in: folder)
    try alice.delete(folder).requireSuccess()
    // The sweep is late, so that the folder is forgotten a day before what was in it.
    here.clock.advance(.days(1))
    try here.sweepDeletions()
    here.clock.advance(.days(90))
    try here.sweeper().sweep()
    try mallory.create("folder", id: folder).answer.requireSuccess()
    let (hers, forged) = (try moved(alice, on: here), try moved(mallory, on: there))
    #expect(throws: MovingError.self) {
      try there.database.read { reader in try hers.requireForgotten(in: reader) }
    }
    #expect(throws: MovingError.self) {
      try here.database.read { reader in try forged.requireForgotten(in: reader) }
    }
    here.clock.advance(.days(1))
    try here.sweeper().sweep()
    try here.database.read { reader in try forged.requireForgotten(in: reader) }
  }

  @Test(arguments: TestEngine.available)
  func `an archive brings no file of which an erased account's shares are left, but links may be`(
    engine: TestEngine
  ) throws {
    let (here, there) = (try TestServer(engine), try TestServer(engine))
    let (alice, bob) = (try here.register(), try here.register())
    let file = try alice.add()
    let link = try alice.share(file, with: bob)
    let mallory = try there.register()
    try mallory.create(id: file).answer.requireSuccess()
    let forged = try moved(mallory, on: there)
    #expect(try alice.remove("/v1/account").status == 202)
    here.clock.advance(.days(8))
    try here.sweeper().sweepErasures()
    #expect(throws: MovingError.self) {
      try here.database.read { reader in try forged.requireForgotten(in: reader) }
    }
    here.clock.advance(here.limits.deletionHorizon)
    here.clock.advance(.days(2))
    try here.sweeper().sweepErasures()
    try here.database.read { reader in try forged.requireForgotten(in: reader) }
    #expect(try bob.record(link).deleted == false)
  }
}
