import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// A blob in parts: the uploads of documents (`ResumableUploadTests`), judged as a blob is.
@Suite struct BlobUploadTests {
  @Test(arguments: UploadScene.Dialect.all, ContentPlace.all)
  func `a blob in parts is stored at once and whole, and versions may name it`(
    dialect: UploadScene.Dialect, place: ContentPlace
  ) throws {
    let scene = try UploadScene(blobOn: TestServer(place.engine, objects: place.store), dialect)
    let device = scene.device
    let usage = try device.usage()
    try scene.create()
    #expect(try scene.append(0..<20_000).status == 204)
    #expect(try scene.offset() == 20_000)
    #expect(try device.get(scene.path).problem == "blob_not_found")
    let last = try scene.append(20_000..<50_000)
    #expect(last.status == (dialect.testDescription == "tus" ? 204 : 200))
    #expect(try scene.isStored())
    #expect(try device.get(scene.path).header("ETag") == last.header("ETag"))
    #expect(try device.usage() == usage + 51_000)
    #expect(try scene.server.reservedObjects() == [])
    try device.push(device.version(Random.identifier(), 1, naming: [scene.document]))
      .requireSuccess()
    try scene.server.requireDocuments(device)
    try scene.expectAgain(last, 20_000..<50_000)
  }

  // MARK: Creation

  @Test(arguments: [UploadScene.Dialect.draft(8), .tus])
  func `what a PUT refuses, the creating request refuses before the first byte`(
    dialect: UploadScene.Dialect
  ) throws {
    let scene = try UploadScene(blobOn: TestServer(freeByteCount: 60_000), dialect)
    let device = scene.device
    func problem(_ request: TestDevice.Signed) throws -> String? {
      try device.send(request).problem
    }
    #expect(try problem(scene.creation(ifMatch: "\"7\"")) == "version_changed")
    #expect(try problem(scene.creation(length: "70000")) == "over_cap")
    #expect(try scene.server.reservedObjects() == [])
    try scene.create()
    // The upload holds its room. The same content again would replace it.
    #expect(try problem(scene.creation(digest: UploadScene.digest([7]))) == "over_cap")
    #expect(try scene.append(0..<50_000).status < 300)
    #expect(try problem(scene.creation()) == "blob_exists")
  }

  // MARK: Ends

  @Test(arguments: ContentPlace.all)
  func `a blob that another device stored under the id meanwhile ends the upload`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(blobOn: TestServer(place.engine, objects: place.store))
    try scene.create()
    _ = try scene.append(0..<20_000)
    #expect(try scene.device.putBlob([3], scene.document).answer.status == 200)
    for _ in 0..<2 {
      #expect(try scene.append(20_000..<50_000).problem == "blob_exists")
    }
    #expect(try scene.device.get(scene.path).holds([3]))
    try scene.expectNothingLeft()
    try scene.server.requireDocuments(scene.device)
  }
}
