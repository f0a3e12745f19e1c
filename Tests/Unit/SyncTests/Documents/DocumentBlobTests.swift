import Accounts
import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Blobs: encrypted files that versions of documents name.
@Suite struct DocumentBlobTests {
  private let document = Random.identifier()
  private let content: [UInt8] = (0..<100).map { UInt8($0) }

  /// Sweeps until what nobody names is gone from the object store.
  private func sweep(_ server: TestServer) throws {
    try server.sweeper().sweep()
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
  }

  @Test(arguments: ContentPlace.all)
  func `a blob is uploaded, read in parts, and named by a version`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let device = try server.register()
    let usage = try device.usage()
    let (blob, answer) = try device.putBlob(content)
    #expect(answer.status == 200)
    #expect(try answer.json["bytes"].integer == 100)
    #expect(try device.usage() == usage + 1100)
    #expect(try device.getBlob(blob).holds(content))
    let part = try device.getBlob(blob, headers: [("Range", "bytes=10-19")])
    #expect(part.status == 206 && part.holds(Array(content[10..<20])))
    try device.push(device.version(document, 1, [1], naming: [blob])).requireSuccess()
    #expect(try device.usage() == usage + 1100 + 1000 + 128 + 64 + 1)
    let pulled = try device.pullPage().json["versions"][0]["version"]["blobs"]
    #expect(pulled.array?.map(\.string) == [blob.description])
    try server.requireDocuments(device)
  }

  @Test(arguments: ContentPlace.all)
  func `a blob that no version names goes after a day, and a named one stays`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let device = try server.register()
    let (named, _) = try device.putBlob([1])
    let (unnamed, _) = try device.putBlob([2])
    try device.push(device.version(document, 1, naming: [named])).requireSuccess()
    let usage = try device.usage()
    server.clock.advance(.hours(23))
    try sweep(server)
    #expect(try device.getBlob(unnamed).status == 200)
    server.clock.advance(.hours(1))
    try sweep(server)
    #expect(try device.getBlob(unnamed).problem == "blob_not_found")
    #expect(try device.getBlob(named).status == 200)
    #expect(try device.usage() == usage - 1001)
    #expect(try server.objectCount() == 1)
    try server.requireDocuments(device)
  }

  @Test(arguments: ContentPlace.all)
  func `a blob goes with the last version that names it, current or kept`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, keepingFor: 3, objects: place.store)
    let device = try server.register()
    let usage = try device.usage()
    let (blob, _) = try device.putBlob(content)
    try device.push(device.version(document, 1, naming: [blob])).requireSuccess()
    try device.push(device.version(document, 2, covering: [device.publicKey: 1], [1]))
      .requireSuccess()
    server.clock.advance(.days(2))
    try sweep(server)
    #expect(try device.getBlob(blob).status == 200)
    server.clock.advance(.days(1))
    try sweep(server)
    #expect(try device.getBlob(blob).status == 404)
    #expect(try device.usage() == usage + 1000 + 128 + 40 + 1)
    #expect(try server.objectCount() == 0)
    try server.requireDocuments(device)
  }

  @Test(arguments: ContentPlace.all)
  func `who holds a version reads its blobs, and nobody else`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let (ada, bob, eve) = (try server.register(), try server.register(), try server.register())
    try ada.shareLog(ada.createLog(), with: bob)
    let (blob, _) = try ada.putBlob(content)
    #expect(try bob.getBlob(blob).problem == "blob_not_found")
    try ada.push(ada.version(document, 1, to: [try bob.account], naming: [blob]))
      .requireSuccess()
    #expect(try bob.getBlob(blob).holds(content))
    #expect(try eve.getBlob(blob).problem == "blob_not_found")
    // Bob's version names it, too, and keeps it when Ada's are gone. Ada is charged for it.
    let usage = try ada.usage()
    try bob.push(bob.version(document, 2, covering: [ada.publicKey: 1], naming: [blob]))
      .requireSuccess()
    try ada.push(ada.version(document, 2, covering: [ada.publicKey: 1], nil)).requireSuccess()
    try sweep(server)
    #expect(try bob.getBlob(blob).holds(content))
    #expect(try ada.usage() == usage - 3 - 2 * 192 + 128 + 40)
    try bob.push(bob.version(document, 3, covering: [bob.publicKey: 2], nil)).requireSuccess()
    try sweep(server)
    #expect(try bob.getBlob(blob).status == 404)
    #expect(try server.objectCount() == 0)
    for device in [ada, bob] { try server.requireDocuments(device) }
  }

  @Test(arguments: ContentPlace.all)
  func `a version that names a blob of others, or none, is refused with nothing written`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let (ada, eve) = (try server.register(), try server.register())
    let (blob, _) = try ada.putBlob(content)
    let state = try server.state()
    for unknown in [blob, Random.identifier()] {
      let answer = try eve.push(
        eve.version(Random.identifier(), 1), eve.version(document, 2, naming: [unknown]))
      #expect(try eve.rules(answer) == ["blob_unknown"])
    }
    #expect(try server.state() == state)
    #expect(try server.count("document_versions") == 0)
    #expect(try server.count("document_blob_names") == 0)
  }

  @Test(arguments: ContentPlace.all)
  func `a blob never changes, and is refused without room or in a suspended account`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, freeByteCount: 10_000, objects: place.store)
    let (ada, eve) = (try server.register(), try server.register())
    let (blob, _) = try ada.putBlob(content)
    for device in [ada, eve] {
      let (_, answer) = try device.putBlob([7], blob)
      #expect(answer.status == 409)
      #expect(try answer.problem == "blob_exists")
    }
    #expect(try ada.getBlob(blob).holds(content))
    #expect(try ada.putBlob([7], ifMatch: nil).answer.problem == "precondition_required")
    #expect(try ada.putBlob([7], ifMatch: "\"3\"").answer.problem == "version_changed")
    let large = try ada.putBlob([UInt8](repeating: 1, count: 7000)).answer
    #expect(try large.problem == "over_cap")
    try server.suspend(ada.account, since: server.clock.now)
    #expect(try ada.putBlob([7]).answer.problem == "account_suspended")
    #expect(try ada.getBlob(blob).status == 200)
    #expect(try server.count("document_blobs") == 1)
    #expect(try server.count("reservations") == 0)
    try server.requireDocuments(ada)
  }

  @Test(arguments: ContentPlace.all)
  func `an erased account's blobs go, also those that others' versions name`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let (bob, blob) = try erasedBlob(server)
    try sweep(server)
    #expect(try bob.bodies(of: document) == [[5]])
    #expect(try bob.getBlob(blob).problem == "blob_not_found")
    #expect(try server.objectCount() == 0)
    try server.requireDocuments(bob)
  }

  /// A blob of an account that is erased, and a device of another account with a version that names it.
  private func erasedBlob(_ server: TestServer) throws -> (holder: TestDevice, blob: Identifier) {
    let (ada, bob) = (try server.register(), try server.register())
    try ada.shareLog(ada.createLog(), with: bob)
    let (blob, _) = try ada.putBlob(content)
    try ada.push(ada.version(document, 1, to: [try bob.account], naming: [blob]))
      .requireSuccess()
    try bob.push(bob.version(document, 2, covering: [ada.publicKey: 1], [5], naming: [blob]))
      .requireSuccess()
    #expect(try ada.remove("/v1/account").status == 202)
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
    return (bob, blob)
  }

  @Test(arguments: ContentPlace.all)
  func `a blob under the id of an erased one stays for the versions that name it`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let (bob, blob) = try erasedBlob(server)
    try bob.putBlob(content, blob).answer.requireSuccess()
    server.clock.advance(.days(1))
    for work in server.api.upkeep where work.name == "documents.blobs" {
      #expect(try work.slice())
      #expect(try !work.slice())
    }
    #expect(try bob.getBlob(blob).holds(content))
    try server.requireDocuments(bob)
  }

  @Test func `a version names at most 64 blobs, and a batch of 500 versions may`() throws {
    let server = try TestServer(freeByteCount: 20_000_000)
    let device = try server.register()
    let blobs = try (0..<64).map { _ in try device.putBlob([1]).id }
    let more = device.version(document, 1, naming: blobs + [Random.identifier()])
    #expect(try device.push(more).problem == "body_invalid")
    let versions = (Int64(1)...500).map {
      device.version(Random.identifier(), $0, [1], naming: blobs)
    }
    try device.push(versions).requireSuccess()
    #expect(try server.count("document_blob_names") == 32_000)
    let wide = device.version(
      document, 501, to: (0..<16).map { _ in Random.identifier() }, naming: blobs)
    // A batch whose copies name more blobs than that is refused before any row is read.
    #expect(
      try device.push((0..<30).map { _ in wide }).problem == "body_invalid")
    try server.requireDocuments(device)
  }
}
