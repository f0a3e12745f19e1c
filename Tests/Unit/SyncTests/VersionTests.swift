import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers

/// The earlier contents of documents: how they are kept, listed, read, restored, charged and deleted.
@Suite struct VersionTests {
  private let small = Random.bytes(100)
  private let large = Random.bytes(20_000)

  @Test(arguments: ContentPlace.all)
  func `a replaced content is listed with its author and times, and read by its version`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, keepingFor: 30, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    let first = try device.write(id, small)
    server.clock.advance(.hours(1))
    let second = try device.write(id, large)
    let third = try device.write(id, [])
    let listed = try device.versions(id)
    #expect(listed.map(\.number) == [second, first])
    #expect(listed.map(\.byteCount) == [20_000, 100])
    let page = try device.get("/v1/files/\(id)/versions").json["versions"]
    #expect(page[1]["author"].string == Base64.standard.encode(device.key.publicKey.bytes))
    #expect(page[1]["written"].string == (server.clock.now - .hours(1)).description)
    #expect(page[1]["replaced"].string == server.clock.now.description)
    #expect(page[1]["until"].string == (server.clock.now + .days(30)).description)
    for (version, content) in [(first, small), (second, large), (third, [])] {
      let answer = try device.get("/v1/files/\(id)/content?version=\(version)")
      #expect(answer.holds(content))
      #expect(answer.header("ETag") == "\"\(version)\"")
    }
    for other in ["0", "x", "-1", "99999"] {
      let answer = try device.get("/v1/files/\(id)/content?version=\(other)")
      #expect(try (answer.status, answer.problem) == (404, "version_not_found"))
    }
  }

  @Test func `versions are listed in pages`() throws {
    let server = try TestServer(keepingFor: 30)
    let device = try server.register()
    let id = try device.add()
    let written = try (0..<6).map { _ in try device.write(id, small) }
    var (seen, before) = ([Int64](), "")
    repeat {
      let page = try device.get("/v1/files/\(id)/versions?limit=2\(before)").json
      seen += (page["versions"].array ?? []).compactMap { $0["version"].integer }
      before = page["next"].integer.map { "&before=\($0)" } ?? ""
    } while before != "" && seen.count < 10
    #expect(seen == written.dropLast().reversed())
  }

  @Test(arguments: ContentPlace.all)
  func `without days in the plan nothing is kept`(place: ContentPlace) throws {
    for server in [
      try TestServer(place.engine, keepingFor: nil, objects: place.store),
      try TestServer(place.engine, keepingFor: 5, count: 0, objects: place.store),
    ] {
      let device = try server.register()
      let id = try device.add()
      for content in [small, large, small] { _ = try device.write(id, content) }
      #expect(try device.versions(id).isEmpty)
      #expect(try device.usage() == 2100)
    }
  }

  @Test(arguments: ContentPlace.all)
  func `versions are charged to the owner, apart from what is live`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, keepingFor: 30, objects: place.store)
    let (alice, bob) = (try server.register(), try server.register())
    let folder = try alice.add("folder")
    let id = try alice.add(in: folder)
    try alice.share(folder, with: bob, mode: "write")
    for content in [small, large, small] { _ = try bob.write(id, content) }
    let parts = try alice.get("/v1/account").json["usage_parts"]
    #expect(parts["live"].integer == 3100)
    #expect(parts["history"].integer == 20_100)
    #expect(try alice.usage() == 23_200)
    #expect(try bob.get("/v1/account").json["usage_parts"]["history"].integer == 0)
    #expect(try bob.versions(id).count == 2)
    try server.requireRight([alice, bob])
  }

  @Test(arguments: ContentPlace.all)
  func `only who may read the file sees its versions, and only a writer restores one`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, keepingFor: 30, objects: place.store)
    let (alice, bob, eve) = (try server.register(), try server.register(), try server.register())
    let folder = try alice.add("folder")
    let id = try alice.add(in: folder)
    try alice.share(folder, with: bob, mode: "read")
    let first = try alice.write(id, small)
    _ = try alice.write(id, large)
    #expect(try bob.get("/v1/files/\(id)/content?version=\(first)").holds(small))
    #expect(try bob.restore(id, first).problem == "not_permitted")
    for target in ["versions", "content?version=\(first)"] {
      #expect(try eve.get("/v1/files/\(id)/\(target)").problem == "file_not_found")
    }
    #expect(try eve.restore(id, first).problem == "file_not_found")
    #expect(try alice.get("/v1/files/\(folder)/versions").problem == "not_a_document")
    try server.requireRight([alice, bob])
  }

  @Test(arguments: ContentPlace.all)
  func `restoring makes a version the content, and the replaced content a version`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, keepingFor: 30, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    var replica = try device.pulled()
    let contents = [small, large, Random.bytes(30_000)]
    let versions = try contents.map { try device.write(id, $0) }
    for index in [0, 1, 0] {
      let current = try #require(try device.record(id).contentVersion)
      let wanted = try #require(
        try device.versions(id).first { $0.byteCount == contents[index].count })
      let stale = try device.restore(id, wanted.number, ifMatch: "\"1\"")
      #expect(try stale.problem == "version_changed")
      let answer = try device.restore(id, wanted.number, ifMatch: "\"\(current)\"")
      #expect(answer.status == 200)
      let version = try #require(try answer.json["version"].integer)
      #expect(version > versions[2])
      #expect(answer.header("ETag") == "\"\(version)\"")
      #expect(try device.get("/v1/files/\(id)/content").holds(contents[index]))
      #expect(try device.versions(id).count == 2)
      #expect(try device.restore(id, wanted.number).problem == "version_not_found")
      #expect(try device.usage() == 2000 + 50_100)
    }
    try replica.pull()
    #expect(replica.records[id]?.contentByteCount == 100)
    try server.requireRight([device])
  }

  @Test(arguments: ContentPlace.all)
  func `a restore that is sent again has one effect`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, keepingFor: 30, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    let first = try device.write(id, small)
    _ = try device.write(id, large)
    let request = device.restoring(id, first, ifMatch: "*")
    let answers = try (0..<3).map { _ in try device.send(request) }
    #expect(answers.map(\.status) == [200, 200, 200])
    #expect(try Set(answers.map { try $0.json["version"].integer }).count == 1)
    #expect(try device.versions(id).count == 1)
  }

  @Test func `a restore has no members but its own`() throws {
    let server = try TestServer(keepingFor: 30)
    let device = try server.register()
    let id = try device.add()
    let first = try device.write(id, small)
    _ = try device.write(id, large)
    let body: JSONValue = ["version": .integer(first), "note": "mine"]
    let answer = try device.send(
      device.sign(
        "POST", "/v1/files/\(id)/restore", body: body.encoded(), headers: [("If-Match", "*")]))
    #expect(answer.status == 400)
    #expect(try answer.json["path"].string == "$.note")
  }

  @Test(arguments: ContentPlace.all)
  func `the oldest versions beyond the count go with the write`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, keepingFor: 30, count: 2, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    let written = try (1...6).map { try device.write(id, Random.bytes(20_000 + $0)) }
    #expect(try device.versions(id).map(\.number) == [written[4], written[3]])
    #expect(try device.usage() == 2000 + 60_015)
    try server.requireRight([device])
  }

  @Test(arguments: ContentPlace.all)
  func `versions are deleted once their days are over`(place: ContentPlace) throws {
    let server = try TestServer(place.engine, keepingFor: 2, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    _ = try device.write(id, large)
    _ = try device.write(id, small)
    server.clock.advance(.days(1))
    let third = try device.write(id, large)
    try server.sweepDeletions()
    #expect(try device.versions(id).count == 2)
    server.clock.advance(.days(1))
    try server.sweepDeletions()
    #expect(try device.versions(id).map(\.byteCount) == [100])
    server.clock.advance(.days(1))
    try server.sweepDeletions()
    #expect(try device.versions(id).isEmpty)
    #expect(try device.get("/v1/files/\(id)/content?version=\(third)").holds(large))
    #expect(try device.usage() == 22_000)
    try server.requireRight([device])
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try server.objectCount() == 1)
  }

  @Test(arguments: ContentPlace.all, [false, true])
  func `the versions of a deleted document go, by itself or with its folder`(
    place: ContentPlace, isInFolder: Bool
  ) throws {
    let server = try TestServer(place.engine, keepingFor: 30, objects: place.store)
    let device = try server.register()
    let folder = try device.add("folder")
    let id = try device.add(in: folder)
    for content in [large, small, large, small] { _ = try device.write(id, content) }
    try device.delete(isInFolder ? folder : id).requireSuccess()
    #expect(try device.get("/v1/files/\(id)/versions").problem == "file_deleted")
    try server.sweepDeletions()
    #expect(try device.usage() == (isInFolder ? 1000 : 2000))
    #expect(try server.count("versions") == 0)
    #expect(try server.count("deletions") == 0)
    try server.requireRight([device])
  }
}
