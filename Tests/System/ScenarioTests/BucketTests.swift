import Base
import Configuration
import Crypto
import Glibc
import HTTPClient
import JSON
import Objects
import S3
import Storage
import TestBuckets
import TestDevices
import TestEngines
import TestFiles
import Testing

/// The programs with large contents in a bucket.
@Suite(.serialized, .enabled(if: !TestBucket.all.isEmpty, "COFFER_TEST_BUCKETS is not set"))
struct BucketTests {
  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  private func install(
    _ bucket: String, _ engine: TestEngine = .sqlite, keys: String = TestBucket.keyText
  ) throws -> Installation {
    try Installation(
      engine, startingAt: Clock.system.now(),
      settings: [
        "COFFER_OBJECTS": bucket, "COFFER_OBJECTS_KEY": keys, "TMPDIR": scratch.path,
        "COFFER_PLANS": Files.repository + "/webhooks/catalogue.json",
      ])
  }

  private func run(_ installation: Installation, _ words: String...) throws -> String {
    let made = try installation.command(words)
    #expect(made.end == .exited(0), "\(words): \(made.output)")
    return made.output
  }

  private static func objectCount(_ location: String) throws -> Int {
    let store = try ObjectStores.open(
      #require(ObjectsLocation(location)), TestBucket.keys)
    return try (UInt8.min...UInt8.max).reduce(0) { try $0 + store.list(beginningWith: $1).count }
  }

  @Test(arguments: TestEngine.available, TestBucket.all)
  func `documents go to a bucket and come back, whole and in parts, until they are erased`(
    _ engine: TestEngine, _ bucket: TestBucket
  ) throws {
    let location = bucket.freshName()
    let installation = try install(location, engine)
    let sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    _ = try run(
      installation, "entitlement", "grant", try device.account.description, "--plan", "premium",
      "--reason", "room for large documents", "--yes")
    let contents = [20_000, 1 << 20, 20 << 20].map { Random.bytes($0) }
    var documents: [Identifier] = []
    for content in contents {
      let (id, _) = try device.create()
      #expect(try device.put(id, content, ifMatch: "\"0\"").status == 200)
      documents.append(id)
    }
    for (id, content) in zip(documents, contents) {
      let whole = try device.get("/v1/files/\(id)/content")
      #expect(whole.status == 200 && whole.holds(content))
      let tag = try #require(whole.header("etag"))
      let (start, end) = (content.count / 3, content.count / 3 + 9_999)
      let part = try device.get(
        "/v1/files/\(id)/content", headers: [("Range", "bytes=\(start)-\(end)")])
      #expect(part.status == 206 && part.holds(Array(content[start...end])))
      #expect(part.header("content-range") == "bytes \(start)-\(end)/\(content.count)")
      let known = try device.get("/v1/files/\(id)/content", headers: [("If-None-Match", tag)])
      #expect(known.status == 304)
    }
    #expect(try Self.objectCount(location) == 3)
    #expect(Files.names(in: scratch.path) == [], "nothing stays on this machine")

    _ = try run(installation, "tree", "validate", "--all")
    _ = try run(installation, "doctor", "--all", "--objects")
    _ = try run(
      installation, "account", "export", try device.account.description, "--to",
      scratch.path + "/a.tar")
    let archive = try #require(Files.bytes(scratch.path + "/a.tar"))
    #expect(archive.count > contents.reduce(0) { $0 + $1.count })
    let made = try run(installation, "backup", scratch.path + "/backups", "--json")
    #expect(try JSON.parse(Array(made.utf8))["missing_objects"].integer == 0)
    _ = try run(installation, "backup", "verify", scratch.path + "/backups")

    // What is replaced, and then what is erased, is collected.
    #expect(try device.put(documents[1], Random.bytes(30_000), ifMatch: "*").status == 200)
    #expect(try device.delete(documents[2]).status == 200)
    try pass(.minutes(20), installation)
    try waitUntil { try Self.objectCount(location) == 2 }
    _ = try run(
      installation, "account", "delete", try device.account.description, "--reason", "asked",
      "--yes")
    try pass(.days(8), installation)
    sleep(8)
    try pass(.days(1), installation)
    try waitUntil { try Self.objectCount(location) == 0 }
    _ = try run(installation, "doctor", "--all", "--objects")
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
  }

  private func pass(_ span: Instant.Span, _ installation: Installation) throws {
    try installation.clock.set(installation.clock.now() + span)
  }

  private func waitUntil(_ condition: () throws -> Bool) throws {
    let deadline = MonotonicTime.now() + .seconds(90)
    while try !condition() {
      try #require(MonotonicTime.now() < deadline, "it does not come to pass")
      usleep(500_000)
    }
  }

  @Test(arguments: TestBucket.all)
  func `clients fetch large content from the bucket if the operator wants that`(
    _ bucket: TestBucket
  ) throws {
    let installation = try Installation(
      settings: [
        "COFFER_OBJECTS": bucket.freshName(), "COFFER_OBJECTS_KEY": TestBucket.keyText,
        "COFFER_OBJECTS_DIRECT": "on",
      ])
    let sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    let (small, large) = (Random.bytes(10_000), Random.bytes(100_000))
    let documents = try [small, large].map { content in
      let (id, _) = try device.create()
      #expect(try device.put(id, content, ifMatch: "\"0\"").status == 200)
      return id
    }
    #expect(try device.get("/v1/files/\(documents[0])/content").holds(small))
    let target = "/v1/files/\(documents[1])/content"
    let answer = try device.get(target)
    #expect(answer.status == 307 && answer.body.isEmpty)
    #expect(answer.header("cache-control") == "no-store")
    let link = try #require(answer.header("location"))
    let client = HTTPClient()
    #expect(try client.send("GET", link, timeout: .seconds(10)).body == large)
    let part = try device.get(target, headers: [("Range", "bytes=10-19")])
    #expect(part.status == 307)
    let tag = try #require(answer.header("etag"))
    #expect(try device.get(target, headers: [("If-None-Match", tag)]).status == 304)
    let stranger = try installation.device(of: sync)
    #expect(try stranger.get(target).status == 404)
    #expect(sync.stop() == .exited(0))
    let database = try Database.open(installation.location, owning: .sync)
    defer { database.close() }
    let sent = try database.read { reader in
      try reader.first("SELECT CAST(sum(sent_bytes) AS BIGINT) FROM sync.transfers") { row in
        try row.integer(0)
      }
    }
    #expect(sent == 110_010)
  }

  @Test(arguments: TestBucket.all)
  func `keys, buckets and names that are wrong end the start with one line`(_ bucket: TestBucket)
    throws
  {
    let cases = [
      (bucket.freshName(), "coffertest:wrongsecretwrong", "keys"),
      (
        bucket.text.replacing("s3://coffer", with: "s3://no-bucket-\(Random.identifier())"),
        TestBucket.keyText,
        "there is no bucket"
      ),
    ]
    for (location, keys, word) in cases {
      let sync = try install(location, keys: keys).launch(.sync)
      #expect(sync.process.wait(within: .seconds(60)) == .exited(78), "\(sync.lastWords)")
      #expect(
        sync.lastWords.contains("COFFER_OBJECTS: ") && sync.lastWords.contains(word),
        "\(sync.lastWords)")
    }
  }

  @Test(arguments: TestBucket.all)
  func `a bucket is of one database at a time`(_ bucket: TestBucket) throws {
    let location = bucket.freshName()
    let owner = try install(location).start(.sync)
    let refused = try install(location).launch(.sync)
    #expect(refused.process.wait(within: .seconds(60)) == .exited(69))
    #expect(
      refused.lastWords.contains("the object store is another database's"), "\(refused.lastWords)")
    #expect(owner.stop() == .exited(0))
  }
}
