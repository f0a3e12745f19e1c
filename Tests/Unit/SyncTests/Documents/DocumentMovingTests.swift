import Accounts
import Archive
import Base
import Crypto
import Documents
import JSON
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Documents of versions in an archive of their account: what arrives means there what it meant here.
@Suite struct DocumentMovingTests {
  /// An account with documents that were merged, replaced and deleted, whose oldest deletion is forgotten.
  private struct Scene {
    let server: TestServer
    let devices: [TestDevice]
    let merged = Random.identifier()
    let gone = Random.identifier()
    let forgotten = Random.identifier()
    /// Of a device that was away since before the oldest deletion.
    let oldClock: [[UInt8]: Int64]
    /// Of one that knows of that deletion.
    let clock: [[UInt8]: Int64]

    init(_ engine: TestEngine) throws {
      server = try TestServer(engine, keepingFor: 30)
      devices = try server.devices(2)
      let (a, b) = (devices[0], devices[1])
      try a.push(a.version(forgotten, 1), a.version(merged, 2, [1])).requireSuccess()
      oldClock = try b.pull().clock
      try a.push(a.version(forgotten, 3, covering: [a.publicKey: 1], nil)).requireSuccess()
      server.clock.advance(.days(91))
      try server.sweeper().sweep()
      clock = try b.pull().clock
      try b.push(
        b.version(merged, 1, covering: [a.publicKey: 2], [2]), b.version(gone, 2, [5])
      ).requireSuccess()
      try a.push(
        a.version(merged, 4, covering: [a.publicKey: 2], [3]),
        a.version(gone, 5, covering: [b.publicKey: 2], nil)
      ).requireSuccess()
    }

    func export() throws -> ArchiveReader {
      let path = "\(server.directory)/\(Random.identifier()).tar"
      let writer = try ArchiveWriter(path, kind: "test", format: 1, at: server.clock.now)
      _ = try server.database.read { [account = try devices[0].account] reader in
        try VersionedDocuments.export(account, from: reader, to: writer) { _ in }
      }
      _ = try writer.finish()
      return try ArchiveReader(path, kind: "test", format: 1)
    }

    /// The account as it is after a move to a new server.
    func moved(_ engine: TestEngine) throws -> Scene {
      let archive = try export()
      let (id, now) = (try devices[0].account, server.clock.now)
      let (account, files) = try server.database.read { reader in
        (
          try #require(try MovedAccount(reader, id)),
          try MovedFile.page(reader, of: id, after: -1)
        )
      }
      let target = try TestServer(engine, keepingFor: 30)
      target.clock.advance(now - target.clock.now)
      let catalogue = target.catalogue
      let documents = try DocumentMovingTests.arriving(
        archive, keys: Set(devices.map(\.publicKey)), sequence: account.sequence)
      try target.database.write(for: nil) { transaction in
        try account.insert(at: now, in: transaction)
        for file in files { try file.insert(contentIn: nil, in: transaction) }
        try documents.insert(
          of: id, pages: DocumentMovingTests.pages(of: archive), objects: [:], at: now,
          in: transaction)
        try MovedTree(of: account).charge(
          catalogue, beside: documents.weight, at: now, in: transaction)
      }
      return Scene(
        target, devices.map { target.device(key: $0.key, root: $0.root) }, oldClock, clock)
    }

    private init(
      _ server: TestServer, _ devices: [TestDevice], _ oldClock: [[UInt8]: Int64],
      _ clock: [[UInt8]: Int64]
    ) {
      (self.server, self.devices) = (server, devices)
      (self.oldClock, self.clock) = (oldClock, clock)
    }
  }

  private static func pages(of archive: ArchiveReader) -> ArrivingDocuments.Pages {
    { each in
      for file in archive.files where file.name.hasPrefix(ArrivingDocuments.folder) {
        try each(JSON.parse(archive.bytes(of: file)))
      }
    }
  }

  private static func arriving(
    _ archive: ArchiveReader, keys: Set<[UInt8]>, sequence: Int64
  ) throws -> ArrivingDocuments {
    let list = try #require(archive.file(named: ArrivingDocuments.list))
    return try ArrivingDocuments(
      JSON.parse(archive.bytes(of: list)), pages: pages(of: archive), blobs: [:], keys: keys,
      sequence: sequence)
  }

  @Test(arguments: TestEngine.available)
  func `after a move a pull of any clock gives the answer that it gave before`(
    engine: TestEngine
  ) throws {
    let old = try Scene(engine)
    let new = try old.moved(engine)
    for (before, after) in zip(old.devices, new.devices) {
      for clock in [[:], old.clock, try before.pull().clock] {
        let (first, second) = (try before.pull(clock, limit: 2), try after.pull(clock, limit: 2))
        #expect(first.versions == second.versions)
        #expect(first.clock == second.clock && first.counter == second.counter)
      }
      #expect(try after.pullPage(old.oldClock).problem == "clock_expired")
    }
    #expect(try new.devices[0].pull().versions.count == 3)
  }

  @Test(arguments: TestEngine.available)
  func `after a move the charge is what it was, the rows are right, and the history is there`(
    engine: TestEngine
  ) throws {
    let old = try Scene(engine)
    let new = try old.moved(engine)
    let (before, after) = (old.devices[0], new.devices[0])
    #expect(try before.usage() == after.usage())
    try new.server.requireDocuments(after)
    #expect(try before.replaced(of: old.merged) == [[1]])
    #expect(try after.replaced(of: old.merged) == [[1]])
    #expect(try old.export().digest == new.export().digest)
    // A sweep on the first day takes nothing away, because the account has no plan yet.
    try new.server.sweeper().sweep()
    #expect(try after.replaced(of: old.gone) == [[5]])
    new.server.clock.advance(.days(31))
    try new.server.sweeper().sweep()
    #expect(try after.replaced(of: old.gone).isEmpty)
    try new.server.requireDocuments(after)
  }

  @Test(arguments: TestEngine.available)
  func `after a move what was pushed is a repeat, and counters go on`(engine: TestEngine) throws {
    let old = try Scene(engine)
    let new = try old.moved(engine)
    let (a, b) = (new.devices[0], new.devices[1])
    let again = try b.push(b.version(old.merged, 1, covering: [a.publicKey: 2], [2]))
    #expect(try again.json["repeated"].integer == 1)
    #expect(try a.rules(a.push(a.version(Random.identifier(), 5))) == ["counter_used"])
    try a.push(a.version(old.merged, 6, covering: [a.publicKey: 4, b.publicKey: 1], [9]))
      .requireSuccess()
    #expect(try b.bodies(of: old.merged) == [[9]])
    try new.server.requireDocuments(a)
  }

  @Test(arguments: TestEngine.available)
  func `an archive says how many versions and blobs of other accounts it does not hold`(
    engine: TestEngine
  ) throws {
    let scene = try DocumentScene(engine)
    let (ada, bob) = (scene.ada, scene.bob)
    let (first, second) = (try ada.putBlob([1]).id, try bob.putBlob([2]).id)
    try ada.push(
      ada.version(Random.identifier(), 1, to: [try bob.account], naming: [first]),
      ada.version(Random.identifier(), 2, to: [try bob.account], naming: [first])
    ).requireSuccess()
    try bob.push(bob.version(Random.identifier(), 1, naming: [second])).requireSuccess()
    let path = "\(scene.server.directory)/\(Random.identifier()).tar"
    let writer = try ArchiveWriter(path, kind: "test", format: 1, at: scene.server.clock.now)
    let left = try scene.server.database.read { [account = try bob.account] reader in
      try VersionedDocuments.export(account, from: reader, to: writer) { _ in }.left
    }
    _ = try writer.finish()
    #expect(left.map(\.name) == ["versions_left", "blobs_left"])
    #expect(left.map(\.count) == [2, 1])
  }

  // MARK: Archives that no server wrote

  private let own = Ed25519PrivateKey()
  private let other = Ed25519PrivateKey()
  private let document = Random.identifier()

  /// A version of a device with the highest counter 9, as it is in an archive.
  private func stored(
    _ counter: Int64, _ number: Int64, by key: Ed25519PrivateKey? = nil, isDeletion: Bool = false,
    isReplaced: Bool = false, signedBy signer: Ed25519PrivateKey? = nil
  ) -> JSONValue {
    let key = key ?? own
    let made = MadeVersion(
      document: document, author: key.publicKey.bytes, counter: counter, clock: [:],
      body: isDeletion ? nil : [1])
    return [
      "signed": made.signed(by: signer ?? key), "number": .integer(number), "stored_ms": 1,
      "replaced_ms": isReplaced ? 2 : .null,
    ]
  }

  private func arriving(
    _ versions: [JSONValue], of keys: [Ed25519PrivateKey]? = nil
  ) throws -> ArrivingDocuments {
    let list = (keys ?? [own, other]).map { key in
      ["key": .base64(key.publicKey.bytes), "counter": 9, "collected": 3] as JSONValue
    }
    let page = try JSON.parse(JSONValue.object([.init("versions", .array(versions))]).encoded())
    return try ArrivingDocuments(
      JSON.parse(JSONValue.object([.init("devices", .array(list))]).encoded()),
      pages: { each in try each(page) }, blobs: [:],
      keys: [own.publicKey.bytes, other.publicKey.bytes], sequence: 20)
  }

  @Test(arguments: TestEngine.available)
  func `an arriving version that names a blob of others lets nobody read it`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let (ada, eve) = (try server.register(), try server.register())
    let blob = try ada.putBlob([1, 2, 3]).id
    let version = eve.version(document, 1, naming: [blob]).signed(by: eve.key)
    let page: JSONValue = [
      "versions": .array([
        ["signed": version, "number": 1, "stored_ms": 1, "replaced_ms": .null]
      ])
    ]
    let list: JSONValue = [
      "devices": .array([["key": .base64(eve.publicKey), "counter": 1, "collected": 0]])
    ]
    let arriving = try ArrivingDocuments(
      JSON.parse(list.encoded()), pages: { each in try each(JSON.parse(page.encoded())) },
      blobs: [:], keys: [eve.publicKey], sequence: 1)
    let (account, now) = (try eve.account, server.clock.now)
    try server.database.write(for: nil) { transaction in
      try arriving.insert(
        of: account, pages: { each in try each(JSON.parse(page.encoded())) }, objects: [:],
        at: now, in: transaction)
    }
    #expect(try eve.bodies(of: document) == [[1, 2, 3]])
    #expect(try eve.getBlob(blob).problem == "blob_not_found")
    #expect(try server.count("document_blob_names") == 0)
    #expect(try ada.getBlob(blob).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `an arriving blob that no arriving version names goes after a day`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let blobs = [Random.identifier(), Random.identifier()]
    let version = device.version(document, 1, naming: [blobs[0]]).signed(by: device.key)
    let page: JSONValue = [
      "versions": .array([
        ["signed": version, "number": 1, "stored_ms": 1, "replaced_ms": .null]
      ])
    ]
    let list: JSONValue = [
      "devices": .array([["key": .base64(device.publicKey), "counter": 1, "collected": 0]]),
      "blobs": .array(
        blobs.enumerated().map { index, id in
          ["id": .string(id.description), "number": .integer(Int64(index) + 2), "bytes": 0]
        }),
    ]
    let files = blobs.map { "\(ArrivingDocuments.blobs)\($0)" }
    let arriving = try ArrivingDocuments(
      JSON.parse(list.encoded()), pages: { each in try each(JSON.parse(page.encoded())) },
      blobs: [files[0]: 0, files[1]: 0], keys: [device.publicKey], sequence: 3)
    let objects = [files[0]: Random.identifier(), files[1]: Random.identifier()]
    let (account, now) = (try device.account, server.clock.now)
    try server.database.write(for: nil) { transaction in
      try arriving.insert(
        of: account, pages: { each in try each(JSON.parse(page.encoded())) }, objects: objects,
        at: now, in: transaction)
    }
    #expect(try server.count("document_blobs") == 2)
    server.clock.advance(.days(1))
    try server.sweeper().sweep()
    #expect(try server.count("document_blobs") == 1)
    #expect(try server.count("document_blobs WHERE due_ms IS NULL") == 1)
  }

  @Test func `versions that no server has written together are refused`() throws {
    let good = [
      stored(4, 7, isReplaced: true), stored(5, 8), stored(4, 9, by: other),
    ]
    #expect(try arriving(good).count == 3)
    #expect(try arriving(good).weight.recordCount == 2)
    let wrong: [[JSONValue]] = [
      [stored(5, 8, signedBy: other)], [stored(5, 8), stored(6, 8, isReplaced: true)],
      [stored(5, 8, isReplaced: true), stored(5, 9)], [stored(10, 8)], [stored(5, 21)],
      [stored(5, 8), stored(6, 9)], [stored(5, 8), stored(5, 9, by: other, isDeletion: true)],
      [["number": 5]],
    ]
    for versions in wrong {
      #expect(throws: JSONError.self) { try arriving(versions) }
    }
    #expect(throws: JSONError.self) { try arriving([], of: [Ed25519PrivateKey()]) }
    #expect(throws: JSONError.self) { try arriving([], of: [own, own]) }
  }
}
