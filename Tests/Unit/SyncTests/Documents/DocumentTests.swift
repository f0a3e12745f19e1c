import Base
import Crypto
import JSON
import Storage
import TestDevices
import TestEngines
import Testing

/// Documents of versions: what devices of an account say of them side by side, and what replaces what.
@Suite struct DocumentTests {
  private let document = Random.identifier()

  @Test(arguments: TestEngine.available)
  func `versions that do not know of each other stay side by side until a merge covers them`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    try a.push(a.version(document, 1, [1])).requireSuccess()
    try b.push(b.version(document, 1, [2])).requireSuccess()
    #expect(try Set(a.bodies(of: document)) == [[1], [2]])
    let merged = a.version(document, 2, covering: [a.publicKey: 1, b.publicKey: 1], [3])
    let answer = try a.push(merged)
    #expect(answer.status == 200)
    #expect(try answer.json["counter"].integer == 2)
    #expect(try answer.json["stored"].integer == 1)
    #expect(try b.bodies(of: document) == [[3]])
    #expect(try server.count("document_versions") == 1)
    try server.requireDocuments(a)
  }

  @Test(arguments: TestEngine.available)
  func `a clock replaces no more than it covers`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    try b.push(b.version(document, 4, [1])).requireSuccess()
    try a.push(a.version(document, 9, covering: [b.publicKey: 3], [2])).requireSuccess()
    #expect(try Set(a.bodies(of: document)) == [[1], [2]])
    let late = b.version(document, 5, covering: [b.publicKey: 4, a.publicKey: 8], [3])
    try b.push(late).requireSuccess()
    #expect(try Set(a.bodies(of: document)) == [[2], [3]])
  }

  @Test(arguments: TestEngine.available)
  func `a device's own version that its clock does not cover is refused, and a falling counter`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    try device.push(device.version(document, 5)).requireSuccess()
    let usage = try device.usage()
    #expect(try device.rules(device.push(device.version(document, 6))) == ["own_version_uncovered"])
    let other = Random.identifier()
    let refused = try device.push(device.version(other, 5), device.version(other, 4))
    #expect(try device.rules(refused) == ["counter_used", "counter_used"])
    #expect(try refused.json["counter"].integer == 5)
    #expect(try device.usage() == usage)
    #expect(try server.count("document_versions") == 1)
    #expect(try device.pull().counter == 5)
  }

  @Test(arguments: TestEngine.available)
  func `a forged version is refused with the whole batch, and nothing is written`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    let good = a.version(document, 1)
    let other = a.version(Random.identifier(), 2)
    for (forged, rule) in [
      (other.signed(by: b.key), "signature_invalid"),
      (b.version(Random.identifier(), 2).signed(by: b.key), "author_differs"),
    ] {
      #expect(try a.rules(a.push([good.signed(by: a.key), forged])) == [rule])
    }
    #expect(try a.pull().versions.isEmpty)
    #expect(try server.count("document_devices") == 0)
    try a.push(good, other).requireSuccess()
  }

  @Test(arguments: TestEngine.available)
  func `the same versions again are repeats, even after they were replaced`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 30)
    let devices = try server.devices(2)
    let (a, b) = (devices[0], devices[1])
    let batch = [a.version(document, 1), a.version(Random.identifier(), 2)]
    try a.push(batch).requireSuccess()
    try b.push(b.version(document, 3, covering: [a.publicKey: 1], [9])).requireSuccess()
    let usage = try a.usage()
    let again = try a.push(batch)
    #expect(again.status == 200)
    #expect(try again.json["stored"].integer == 0)
    #expect(try again.json["repeated"].integer == 2)
    #expect(try a.bodies(of: document) == [[9]])
    #expect(try a.usage() == usage)
    // Another version under a used counter is no repeat.
    #expect(try a.rules(a.push(a.version(document, 1, [8]))) == ["counter_used"])
  }

  @Test(arguments: TestEngine.available)
  func `a signed request that is sent again gets the recorded answer`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let body = JSONValue.object([
      .init("versions", .array([device.version(document, 1).signed(by: device.key)]))
    ]).encoded()
    let request = device.sign("POST", "/v1/documents", body: body)
    let first = try device.send(request)
    let second = try device.send(request)
    #expect(first.status == 200 && second.holds(first.body))
    #expect(try second.json["stored"].integer == 1)
  }

  @Test(arguments: TestEngine.available)
  func `a deletion wins over an edit that does not know of it, before and after`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, keepingFor: 30)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    try a.push(a.version(document, 1, [1])).requireSuccess()
    try b.push(b.version(document, 2, covering: [a.publicKey: 1], [2])).requireSuccess()
    let deletion = a.version(document, 2, covering: [a.publicKey: 1], nil)
    #expect(try a.push(deletion).json["deleted"].array?.isEmpty == true)
    #expect(try c.bodies(of: document) == [nil])
    let late = try c.push(c.version(document, 7, [3]))
    #expect(try late.json["deleted"].array?.compactMap(\.string) == [document.description])
    #expect(try c.bodies(of: document) == [nil])
    #expect(try c.replaced(of: document) == [[1], [2], [3]])
    try server.requireDocuments(a)
  }

  @Test func `a document takes at most 32 versions side by side`() throws {
    let server = try TestServer()
    let devices = try server.devices(33)
    for device in devices.prefix(32) {
      try device.push(device.version(document, 1)).requireSuccess()
    }
    let last = devices[32]
    #expect(try last.rules(last.push(last.version(document, 1))) == ["too_many_versions"])
    let clock = Dictionary(uniqueKeysWithValues: devices.map { ($0.publicKey, Int64(1)) })
    try last.push(last.version(document, 2, covering: clock)).requireSuccess()
    #expect(try last.pull().versions.count == 1)
  }

  @Test func `a batch may change a document twice`() throws {
    let server = try TestServer(keepingFor: 30)
    let device = try server.register()
    let answer = try device.push(
      device.version(document, 1, [1]),
      device.version(document, 2, covering: [device.publicKey: 1], [2]))
    #expect(try answer.json["stored"].integer == 2)
    #expect(try device.bodies(of: document) == [[2]])
    #expect(try device.replaced(of: document) == [[1]])
    try server.requireDocuments(device)
  }

  @Test func `a version that no device could make is refused with its place`() throws {
    let server = try TestServer()
    let device = try server.register()
    let unreadable = [
      device.version(document, 0), device.version(document, 1, []),
      device.version(document, 5, covering: [device.publicKey: 5]),
      device.version(document, 5, covering: [[1]: 5]),
      device.version(document, 5, [UInt8](repeating: 1, count: (1 << 20) + 1)),
    ]
    for version in unreadable {
      let answer = try device.push(version)
      #expect(answer.status == 400)
      #expect(try answer.problem == "body_invalid")
      #expect(try answer.json["path"].string?.hasPrefix("$.versions[0].version.") == true)
    }
    #expect(try device.push([MadeVersion]()).problem == "body_invalid")
  }

  @Test func `a version of a mebibyte is stored and pulled`() throws {
    let server = try TestServer(freeByteCount: 10_000_000)
    let device = try server.register()
    let body = [UInt8](repeating: 5, count: 1 << 20)
    for counter in 1...3 {
      try device.push(device.version(Random.identifier(), Int64(counter), body)).requireSuccess()
    }
    let page = try device.pullPage()
    #expect(try page.json["versions"].array?.count == 1)
    #expect(page.body.count < 5 << 19)
    #expect(try device.pull().versions.map(\.body) == [body, body, body])
  }

  @Test(arguments: TestEngine.available)
  func `a pull has what the clock lacks, in pages of any size`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    var sent: [MadeVersion] = []
    for device in devices {
      let versions = (1...7).map { device.version(Random.identifier(), $0, [UInt8($0)]) }
      try device.push(versions).requireSuccess()
      sent += versions
    }
    sent.sort {
      $0.author == $1.author
        ? $0.counter < $1.counter : $0.author.lexicographicallyPrecedes($1.author)
    }
    for limit in [1, 2, 7, 8, 21, 500] {
      let pulled = try devices[0].pull(limit: limit)
      #expect(pulled.versions.map(\.document) == sent.map(\.document))
      #expect(Set(pulled.clock.values) == [7] && pulled.clock.count == 3)
    }
    let known = [devices[0].publicKey: Int64(7), devices[1].publicKey: 5]
    let lacking = try devices[0].pull(known, limit: 2)
    #expect(
      lacking.versions.map(\.document)
        == sent.filter { $0.counter > known[$0.author] ?? 0 }.map(\.document))
    #expect(try devices[0].pull(lacking.clock).versions.isEmpty)
  }

  @Test func `a cursor or a limit that no pull gave is refused`() throws {
    let server = try TestServer()
    let device = try server.register()
    #expect(try device.pullPage(cursor: "x").problem == "cursor_invalid")
    #expect(try device.pullPage(limit: 0).problem == "limit_invalid")
    #expect(try device.pullPage(limit: 501).problem == "limit_invalid")
    #expect(try device.get("/v1/documents/\(document)/versions").problem == "document_not_found")
    #expect(try device.get("/v1/documents/x/versions").problem == "document_not_found")
  }

  @Test func `another account sees nothing of a document, and replaces nothing`() throws {
    let server = try TestServer()
    let (ada, bob) = (try server.register(), try server.register())
    try ada.push(ada.version(document, 1, [1])).requireSuccess()
    #expect(try bob.pull().versions.isEmpty)
    #expect(try bob.get("/v1/documents/\(document)/versions").status == 404)
    try bob.push(bob.version(document, 1, covering: [ada.publicKey: 1], nil)).requireSuccess()
    #expect(try ada.bodies(of: document) == [[1]])
  }
}
