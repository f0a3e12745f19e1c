import Base
import Objects
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// A signed request has no Authorization field, so RFC 9111 would let shared caches keep its answer.
@Suite struct CachingTests {
  @Test func `no cache may keep what an account is answered, granted or refused`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = try device.add()
    let written = try device.put(id, [1, 2, 3], ifMatch: "*")
    let stranger = server.device()
    let answers = [
      written,
      try device.get("/v1/account"),
      try device.get("/v1/updates"),
      try device.get("/v1/files/\(id)"),
      try device.get("/v1/files/\(id)/content", headers: [("Range", "bytes=5-")]),
      try device.get("/v1/files/\(id)/content", headers: [("If-Match", "\"1\"")]),
      try device.get("/v1/files/\(id)/content?version=99"),
      try device.get("/v1/files/\(Identifier(high: 1, low: 1))"),
      try device.get("/v1/updates?limit=0"),
      try device.send(device.sign("POST", "/v1/sessions")),
      try stranger.get("/v1/account"),
      try device.send(
        .init(
          method: "GET", target: "/v1/account", headers: [("Host", TestServer.authority)], body: [])
      ),
    ]
    #expect(answers.map(\.status) == [200, 200, 200, 200, 416, 412, 404, 404, 400, 201, 401, 401])
    for answer in answers {
      #expect(answer.header("Cache-Control") == "private, no-store", "\(answer.status)")
    }
  }

  @Test(arguments: [3, 20_000], ContentPlace.all)
  func `a client's cache keeps a version for ever, and asks again for the latest`(
    count: Int, place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, keepingFor: 30, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    let first = try device.write(id, [UInt8](repeating: 1, count: count))
    let second = try device.write(id, [UInt8](repeating: 2, count: count))
    for (version, byte) in [(first, UInt8(1)), (second, 2)] {
      let target = "/v1/files/\(id)/content?version=\(version)"
      let tag = "\"\(version)\""
      let answers = [
        try device.get(target), try device.get(target, headers: [("Range", "bytes=0-1")]),
        try device.get(target, headers: [("If-None-Match", tag)]),
      ]
      #expect(answers.map(\.status) == [200, 206, 304])
      #expect(answers.map { $0.body.allSatisfy { $0 == byte } } == [true, true, true])
      for answer in answers {
        #expect(answer.header("Cache-Control") == "private, max-age=31536000, immutable")
        #expect(answer.header("ETag") == tag)
      }
    }
    let latest = "/v1/files/\(id)/content"
    let answers = [
      try device.get(latest), try device.get(latest, headers: [("If-None-Match", "\"\(second)\"")]),
      try device.get(latest, headers: [("If-None-Match", "\"\(first)\"")]),
    ]
    #expect(answers.map(\.status) == [200, 304, 200])
    for answer in answers { #expect(answer.header("Cache-Control") == "private, no-cache") }
  }

  @Test(arguments: ContentPlace.all)
  func `a lagging client gets the large content that it was told of, until it is collected`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let (alice, bob, eve) = (try server.register(), try server.register(), try server.register())
    let folder = try alice.add("folder")
    let id = try alice.add(in: folder)
    try alice.share(folder, with: bob, mode: "read")
    let content = [UInt8](repeating: 7, count: 20_000)
    let version = try alice.write(id, content)
    _ = try alice.write(id, [1])
    let target = "/v1/files/\(id)/content?version=\(version)"
    server.clock.advance(.minutes(9))
    try server.sweeper().sweep()
    for device in [alice, bob] { #expect(try device.get(target).holds(content)) }
    #expect(try eve.get(target).problem == "file_not_found")
    #expect(try alice.versions(id).isEmpty)
    server.clock.advance(.minutes(2))
    try server.sweeper().sweep()
    #expect(try alice.get(target).problem == "version_not_found")
  }

  @Test(arguments: ContentPlace.all)
  func `a lagging client gets the large content of a version that the next write dropped`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, keepingFor: 30, count: 1, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    let content = [UInt8](repeating: 7, count: 20_000)
    let version = try device.write(id, content)
    let second = try device.write(id, [1])
    _ = try device.write(id, [2])
    #expect(try device.versions(id).map(\.number) == [second])
    let target = "/v1/files/\(id)/content?version=\(version)"
    #expect(try device.get(target).holds(content))
    server.clock.advance(.minutes(11))
    try server.sweeper().sweep()
    #expect(try device.get(target).problem == "version_not_found")
  }

  @Test(arguments: TestEngine.available)
  func `a lagging client gets the small content that it was told of, for ten minutes`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let id = try device.add()
    let contents: [[UInt8]] = [[1], [2, 2], []]
    let versions = try contents.map { try device.write(id, $0) }
    _ = try device.write(id, [UInt8](repeating: 7, count: 20_000))
    #expect(try device.usage() == 22_000)
    #expect(try device.versions(id).isEmpty)
    for (version, content) in zip(versions, contents) {
      #expect(try device.get("/v1/files/\(id)/content?version=\(version)").holds(content))
    }
    server.clock.advance(.minutes(10))
    for version in versions {
      let answer = try device.get("/v1/files/\(id)/content?version=\(version)")
      #expect(try answer.problem == "version_not_found")
    }
    try server.sweeper().sweep()
    #expect(try server.count("former_contents") == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a lagging client gets the small content of a version that the next write dropped`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 30, count: 1)
    let device = try server.register()
    let id = try device.add()
    let version = try device.write(id, [1])
    for byte in [2, 3] as [UInt8] { _ = try device.write(id, [byte]) }
    #expect(try device.versions(id).count == 1)
    #expect(try device.get("/v1/files/\(id)/content?version=\(version)").holds([1]))
  }

  @Test func `an account has only the latest of its small contents that were replaced`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = try device.add()
    for byte in 1...70 as ClosedRange<UInt8> { _ = try device.write(id, [byte]) }
    #expect(try server.count("former_contents") == 64)
  }

  @Test(arguments: ContentPlace.all)
  func `a content that is collected while it is asked for is no longer there`(
    place: ContentPlace
  ) throws {
    let server = try TestServer(place.engine, objects: place.store)
    let device = try server.register()
    let id = try device.add()
    let version = try device.write(id, [UInt8](repeating: 7, count: 20_000))
    let object = try #require(
      try server.database.read { reader in
        try reader.first("SELECT object_id FROM sync.files WHERE id = $1", .id(id)) {
          try $0.id(0)
        }
      })
    _ = try device.write(id, [1])
    try server.objects.delete(object)
    let answer = try device.get("/v1/files/\(id)/content?version=\(version)")
    #expect(try answer.problem == "version_not_found")
  }
}
