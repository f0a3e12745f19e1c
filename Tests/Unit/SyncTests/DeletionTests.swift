import Base
import Crypto
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

@Suite struct DeletionTests {
  /// A folder that contains a folder with a document.
  private struct Nest {
    let outer: Identifier
    let inner: Identifier
    let document: Identifier

    init(_ device: TestDevice, content: Int = 100) throws {
      outer = try device.add("folder")
      inner = try device.add("folder", in: outer)
      document = try device.add(in: inner)
      try device.put(document, Random.bytes(content), ifMatch: "*").requireSuccess()
    }
  }

  // MARK: At once

  @Test(arguments: TestEngine.available)
  func `a deleted folder takes all beneath it along at once`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let nest = try Nest(device)
    try device.delete(nest.outer).requireSuccess()
    #expect(try device.pulled().ids == [device.root])
    #expect(try device.get("/v1/files/\(nest.document)/content").problem == "file_deleted")
    let written = try device.put(nest.document, [1], ifMatch: "*")
    #expect(written.status == 410)
    #expect(try written.problem == "file_deleted")
  }

  @Test(arguments: TestEngine.available, [false, true])
  func `beneath a deleted folder nothing changes, moves out or comes in`(
    engine: TestEngine, isSwept: Bool
  ) throws {
    let server = try TestServer(engine)
    let (device, bob) = (try server.register(), try server.register())
    let nest = try Nest(device)
    let elsewhere = try device.add()
    let (inner, document) = (try device.record(nest.inner), try device.record(nest.document))
    try device.delete(nest.outer).requireSuccess()
    if isSwept { try server.sweepDeletions() }
    let before = try server.state()
    for change in [
      document.change { $0.name = .init() }, document.change { $0.parent = device.root },
      document.change { $0.deleted = true }, inner.change { $0.parent = device.root },
      inner.change { $0.key = [1] },
    ] {
      #expect(try device.batch(files: [change]).rules == ["file_deleted"])
    }
    for parent in [nest.outer, nest.inner] {
      #expect(try device.create(parent: parent).answer.rules == ["parent_deleted"])
      #expect(try device.move(elsewhere, to: parent).rules == ["parent_deleted"])
    }
    #expect(try device.grant(nest.document, to: bob.account).rules == ["file_deleted"])
    #expect(try server.state() == before)
  }

  @Test(arguments: TestEngine.available)
  func `what was moved out before stays`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let nest = try Nest(device)
    try device.move(nest.document, to: device.root).requireSuccess()
    try device.delete(nest.outer).requireSuccess()
    try server.sweepDeletions()
    #expect(try device.pulled().ids == [device.root, nest.document])
    #expect(try device.get("/v1/files/\(nest.document)/content").status == 200)
    #expect(try device.usage() == 2100)
  }

  @Test(arguments: TestEngine.available, [false, true])
  func `what the same batch moves out stays`(engine: TestEngine, isMovedFirst: Bool) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let nest = try Nest(device)
    var changes = [
      try device.record(nest.outer).change { $0.deleted = true },
      try device.record(nest.inner).change { $0.parent = device.root },
    ]
    if isMovedFirst { changes.reverse() }
    try device.batch(files: changes).requireSuccess()
    try server.sweepDeletions()
    #expect(try device.pulled().ids == [device.root, nest.inner, nest.document])
    #expect(try device.usage() == 3100)
  }

  @Test(arguments: TestEngine.available)
  func `nothing gets into a folder that the same batch deletes`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (folder, file) = (try device.add("folder"), try device.add())
    let before = try server.state()
    let answer = try device.batch(files: [
      device.record(folder).change { $0.deleted = true },
      device.record(file).change { $0.parent = folder }, device.creation(parent: folder),
    ])
    #expect(try answer.rules == ["parent_deleted"])
    #expect(try answer.failures.count == 2)
    #expect(try server.state() == before)
  }

  // MARK: For ever

  @Test(arguments: TestEngine.available)
  func `a deletion is final`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let id = try device.add()
    let record = try device.record(id)
    try device.delete(id).requireSuccess()
    let before = try server.state()
    for change in [
      record.change { _ in }, record.change { $0.name = .init() },
      record.change { $0.deleted = true }, FileChange(record.statement!),
    ] {
      let answer = try device.batch(files: [change])
      #expect(try answer.problem == "updates_required")
      #expect(try answer.staleFiles == [id.description])
    }
    #expect(try server.state() == before)
  }

  @Test(arguments: TestEngine.available)
  func `a deletion changes nothing else of the record`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (id, folder) = (try device.add(), try device.add("folder"))
    let record = try device.record(id)
    let before = try server.state()
    let bends: [(inout FileStatement) -> Void] = [
      { $0.name = .init() }, { $0.name.ciphertext = [1] }, { $0.key = [1] },
      { $0.parent = folder },
    ]
    for bend in bends {
      let change = record.change {
        bend(&$0)
        $0.deleted = true
      }
      #expect(try device.batch(files: [change]).rules == ["deletion_changes_record"])
    }
    #expect(try server.state() == before)
  }

  @Test func `nobody creates a deleted file`() throws {
    let server = try TestServer()
    let device = try server.register()
    var change = try device.creation()
    change.file.deleted = true
    #expect(try device.batch(files: [change]).rules == ["file_not_found"])
  }

  // MARK: What follows

  @Test(arguments: TestEngine.available)
  func `space is given back at once for the folder, and by the sweep for what was in it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let nest = try Nest(device, content: 20_000)
    #expect(try device.usage() == 24_000)
    try device.delete(nest.outer).requireSuccess()
    #expect(try device.usage() == 23_000)
    try server.sweepDeletions()
    #expect(try device.usage() == 1000)
    try server.sweepDeletions()
    #expect(try device.usage() == 1000)
  }

  @Test(arguments: TestEngine.available)
  func `the sweep names the folder that was deleted, and leaves signatures as they were`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let nest = try Nest(device)
    try device.delete(nest.outer).requireSuccess()
    try server.sweepDeletions()
    let replica = try device.pulled()
    #expect(replica.troubles.isEmpty)
    for id in [nest.inner, nest.document] {
      #expect(replica.records[id]?.deleted == true)
      #expect(replica.records[id]?.deletedWith == nest.outer)
      #expect(replica.records[id]?.isSignatureValid == true)
    }
    #expect(replica.records[nest.outer]?.deletedWith == nil)
    #expect(replica.records[nest.outer]?.isSignatureValid == true)
  }

  @Test(arguments: TestEngine.available)
  func `a wide and deep folder is swept in slices, each told to clients`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let chain = try device.addChain(4)
    for folder in chain {
      try device.batch(files: (0..<5).map { _ in try device.creation(parent: folder) })
        .requireSuccess()
    }
    var replica = try device.pulled()
    try device.delete(chain[0]).requireSuccess()
    var (slices, usage) = (0, try device.usage())
    while try server.markDeleted(count: 3) {
      slices += 1
      let now = try device.usage()
      #expect(now >= usage - 3000)
      usage = now
      try replica.pull(limit: 2)
      #expect(replica.ids == [device.root])
    }
    #expect(slices > 23 / 3)
    #expect(usage == 1000)
    #expect(replica.records.values.filter { !$0.deleted }.map(\.id) == [device.root])
  }

  @Test(arguments: TestEngine.available)
  func `two deletions are swept side by side`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let folders = try [alice, bob].map { device in
      let folder = try device.add("folder")
      try device.batch(files: (0..<10).map { _ in try device.creation(parent: folder) })
        .requireSuccess()
      return folder
    }
    try alice.delete(folders[0]).requireSuccess()
    server.clock.advance(.seconds(1))
    try bob.delete(folders[1]).requireSuccess()
    for _ in 0..<2 {
      server.clock.advance(.seconds(1))
      _ = try server.markDeleted(count: 5)
    }
    #expect(try alice.usage() == 6000)
    #expect(try bob.usage() == 6000)
  }

  @Test(arguments: TestEngine.available)
  func `a folder deleted within a folder that is being swept is counted once`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let nest = try Nest(device)
    try device.delete(nest.inner).requireSuccess()
    try device.delete(nest.outer).requireSuccess()
    try server.sweepDeletions()
    #expect(try device.usage() == 1000)
    let count = try server.database.read { reader in
      try reader.first("SELECT record_count FROM sync.accounts") { try $0.integer(0) }
    }
    #expect(count == 1)
  }

  @Test(arguments: TestEngine.available)
  func `a batch deletes a folder and what is in it`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let nest = try Nest(device)
    let changes = try [nest.outer, nest.document, nest.inner].map { id in
      try device.record(id).change { $0.deleted = true }
    }
    try device.batch(files: changes).requireSuccess()
    #expect(try device.usage() == 1000)
    try server.sweepDeletions()
    #expect(try device.usage() == 1000)
  }

  @Test(arguments: ContentPlace.all)
  func `the content of what is deleted is gone, in the database and beside it`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let device = try server.register()
    let folder = try device.add("folder")
    for count in [100, 20_000] {
      try device.put(device.add(in: folder), Random.bytes(count), ifMatch: "*").requireSuccess()
    }
    try device.delete(folder).requireSuccess()
    try server.sweepDeletions()
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    let left = try server.database.read { reader in
      try reader.rows("SELECT file_id FROM sync.inline_contents") { row in try row.id(0) }.count
        + reader.rows("SELECT object_id FROM sync.files WHERE object_id IS NOT NULL") { row in
          try row.id(0)
        }.count + reader.rows("SELECT object_id FROM sync.garbage") { try $0.id(0) }.count
    }
    #expect(left == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a link that goes with its folder gives the share back`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let (alice, bob) = (try server.register(), try server.register())
    let file = try alice.add("folder")
    let folder = try bob.add("folder")
    try alice.grant(file, to: bob.account).requireSuccess()
    try bob.accept(file, parent: folder).answer.requireSuccess()
    #expect(try bob.share(of: file)?.state == "accepted")
    try bob.delete(folder).requireSuccess()
    try server.sweepDeletions()
    #expect(try bob.share(of: file)?.state == "pending")
    #expect(try alice.share(of: file, for: bob.account)?.state == "pending")
    #expect(try bob.accept(file).answer.status == 200)
  }
}
