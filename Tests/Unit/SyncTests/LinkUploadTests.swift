import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// The content of a public link in parts: the uploads of documents (`ResumableUploadTests`), judged as a link is.
@Suite struct LinkUploadTests {
  @Test(arguments: UploadScene.Dialect.all, ContentPlace.all)
  func `a content in parts is published at once and whole, and its owner asks for the token`(
    dialect: UploadScene.Dialect, place: ContentPlace
  ) throws {
    let scene = try UploadScene(linkOn: TestServer(place.engine, objects: place.store), dialect)
    let usage = try scene.device.usage()
    scene.query = "?max_age=60"
    try scene.create()
    #expect(try scene.append(0..<20_000).status == 204)
    #expect(try scene.offset() == 20_000)
    #expect(try scene.server.count("public_links") == 0)
    let last = try scene.append(20_000..<50_000)
    #expect(last.status == (dialect.testDescription == "tus" ? 204 : 201))
    #expect(last.header("ETag") == "\"1\"")
    let read = try scene.server.fetch(scene.renewedToken())
    #expect(read.holds(scene.content))
    #expect(read.header("Cache-Control") == "public, max-age=60")
    #expect(try scene.device.usage() == usage + 51_000)
    #expect(try scene.server.reservedObjects() == [])
    try scene.server.requireLinks(scene.device)
    try scene.expectAgain(last, 20_000..<50_000)
  }

  @Test(arguments: ContentPlace.all)
  func `a content in parts replaces the one that its device knows, under the same token`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(linkOn: TestServer(place.engine, objects: place.store))
    let published = try scene.device.publish(scene.document, [1])
    let token = try #require(try published.json["token"].string)
    try scene.create(ifMatch: "\"1\"")
    _ = try scene.append(0..<20_000)
    #expect(try scene.server.fetch(token).holds([1]))
    let last = try scene.append(20_000..<50_000)
    #expect(last.status == 200)
    #expect(last.header("ETag") == "\"2\"")
    #expect(try last.json["token"].isNull)
    #expect(try scene.server.fetch(token).holds(scene.content))
    try scene.server.requireLinks(scene.device)
  }

  @Test(arguments: ContentPlace.all)
  func `another account that has the URL publishes for its creator, and is told no token`(
    place: ContentPlace
  ) throws {
    let scene = try UploadScene(linkOn: TestServer(place.engine, objects: place.store))
    try scene.create()
    let stranger = try scene.server.register()
    let last = try stranger.send(scene.appending(0..<50_000))
    #expect(last.status == 201)
    #expect(try last.json["token"].isNull)
    let recorded = try scene.server.database.read { reader in
      try reader.rows("SELECT body FROM sync.uploads") { row in
        try JSON.parse(row.blob(0))["token"].isNull
      }
    }
    #expect(recorded == [true])
    #expect(try stranger.usage() == 1000)
    #expect(try stranger.get("/v1/public").json["links"].array?.isEmpty == true)
    let renewal = stranger.sign("POST", "\(scene.path)/token")
    #expect(try stranger.send(renewal).problem == "link_not_found")
    #expect(try scene.server.fetch(scene.renewedToken()).holds(scene.content))
  }

  // MARK: Creation

  @Test(arguments: TestEngine.available)
  func `a first part leaves the content that it is to replace as it is`(
    engine: TestEngine
  ) throws {
    let scene = try UploadScene(linkOn: TestServer(engine))
    let published = try scene.device.publish(scene.document, [1])
    let token = try #require(try published.json["token"].string)
    try scene.create(first: 20_000, ifMatch: "\"1\"")
    #expect(try scene.server.fetch(token).holds([1]))
    #expect(try scene.device.send(scene.request("DELETE")).status == 204)
    #expect(try scene.server.fetch(token).holds([1]))
    try scene.expectNothingLeft()
  }

  @Test(arguments: [UploadScene.Dialect.draft(8), .tus])
  func `what a PUT refuses, the creating request refuses before the first byte`(
    dialect: UploadScene.Dialect
  ) throws {
    let scene = try UploadScene(linkOn: TestServer(freeByteCount: 60_000), dialect)
    func problem(_ request: TestDevice.Signed) throws -> String? {
      try scene.device.send(request).problem
    }
    for query in ["?expires=x", "?expires=\(scene.server.clock.now.seconds)", "?max_age=86401"] {
      scene.query = query
      #expect(try problem(scene.creation()) == "link_terms_invalid")
    }
    scene.query = ""
    #expect(try problem(scene.creation(ifMatch: "\"7\"")) == "version_changed")
    #expect(try problem(scene.creation(length: "70000")) == "over_cap")
    #expect(try scene.server.reservedObjects() == [])
    try scene.create()
    // The upload holds its room. The same content again would replace it.
    #expect(try problem(scene.creation(digest: UploadScene.digest([7]))) == "over_cap")
  }

  // MARK: Ends

  @Test(arguments: TestEngine.available)
  func `a link that another device made meanwhile ends the upload`(engine: TestEngine) throws {
    let scene = try UploadScene(linkOn: TestServer(engine))
    try scene.create()
    _ = try scene.append(0..<20_000)
    let published = try scene.device.publish(scene.document, [3])
    let token = try #require(try published.json["token"].string)
    for _ in 0..<2 {
      #expect(try scene.append(20_000..<50_000).problem == "version_changed")
    }
    #expect(try scene.server.fetch(token).holds([3]))
    try scene.expectNothingLeft()
    try scene.server.requireLinks(scene.device)
  }

  @Test(arguments: TestEngine.available)
  func `a link whose time passed meanwhile is not made`(engine: TestEngine) throws {
    let scene = try UploadScene(linkOn: TestServer(engine))
    scene.query = "?expires=\(scene.server.clock.now.seconds + 100)"
    try scene.create()
    _ = try scene.append(0..<20_000)
    scene.server.clock.advance(.seconds(100))
    #expect(try scene.append(20_000..<50_000).problem == "link_terms_invalid")
    #expect(try scene.server.count("public_links") == 0)
    try scene.expectNothingLeft()
  }

  @Test(arguments: TestEngine.available)
  func `links that the account made meanwhile end the upload if there are too many`(
    engine: TestEngine
  ) throws {
    let scene = try UploadScene(linkOn: TestServer(engine))
    try scene.create()
    _ = try scene.append(0..<20_000)
    try scene.server.fillLinks(of: scene.device.account)
    for _ in 0..<2 {
      #expect(try scene.append(20_000..<50_000).problem == "too_many_links")
    }
    #expect(try scene.server.reservedObjects() == [])
  }
}
