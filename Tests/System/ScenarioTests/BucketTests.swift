import Base
import Configuration
import Crypto
import Glibc
import JSON
import Objects
import S3
import TestDevices
import TestEngines
import TestFiles
import Testing

/// The S3 services that `ops/objects` started: COFFER_TEST_BUCKETS names them.
private let buckets: [String] = {
  let names = Launch.environment()["COFFER_TEST_BUCKETS"] ?? ""
  return names.split(separator: " ").map(String.init)
}()

/// The programs with large contents in a bucket.
@Suite(.serialized, .enabled(if: !buckets.isEmpty, "COFFER_TEST_BUCKETS is not set"))
struct BucketTests {
  private static let keys = "coffertest:coffertestsecret"

  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  /// A prefix of its own in the bucket.
  private static func fresh(_ bucket: String) -> String {
    let halves = bucket.split(separator: "?", maxSplits: 1)
    return "\(halves[0])/\(Random.identifier())?\(halves[1])"
  }

  private func install(
    _ bucket: String, _ engine: TestEngine = .sqlite, keys: String = keys
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
      #require(ObjectsLocation(location)), BucketKeys(keys))
    return try (UInt8.min...UInt8.max).reduce(0) { try $0 + store.list(beginningWith: $1).count }
  }

  @Test(arguments: TestEngine.available, buckets)
  func `documents go to a bucket and come back, whole and in parts, until they are erased`(
    _ engine: TestEngine, _ bucket: String
  ) throws {
    let location = Self.fresh(bucket)
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

  @Test(arguments: buckets)
  func `keys, buckets and names that are wrong end the start with one line`(_ bucket: String) throws
  {
    let cases = [
      (Self.fresh(bucket), "coffertest:wrongsecretwrong", "keys"),
      (
        bucket.replacing("s3://coffer", with: "s3://no-bucket-\(Random.identifier())"), Self.keys,
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

  @Test(arguments: buckets)
  func `a bucket is of one database at a time`(_ bucket: String) throws {
    let location = Self.fresh(bucket)
    let owner = try install(location).start(.sync)
    let refused = try install(location).launch(.sync)
    #expect(refused.process.wait(within: .seconds(60)) == .exited(69))
    #expect(
      refused.lastWords.contains("the object store is another database's"), "\(refused.lastWords)")
    #expect(owner.stop() == .exited(0))
  }
}
