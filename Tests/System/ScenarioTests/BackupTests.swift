import Base
import Configuration
import Crypto
import Glibc
import JSON
import S3
import Storage
import TestBuckets
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Backups of an installation in use, and what is restored from them.
@Suite(.serialized) struct BackupTests {
  private static let writerCount = 3

  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  private var backups: String { scratch.path + "/backups" }

  private func backUp(_ installation: Installation) throws -> JSON {
    let made = try installation.command("backup", backups, "--json")
    #expect(made.end == .exited(0), "\(made.output)")
    return try JSON.parse(Array(made.output.utf8))
  }

  @Test(arguments: TestEngine.available)
  func `a backup that is taken while devices write has every document and every cap`(
    engine: TestEngine
  ) throws {
    let installation = try Installation(engine)
    let sync = try installation.start(.sync)
    let billing = try installation.start(.billing)
    let writers = try (0..<Self.writerCount).map { index in
      try KeepingWriter(installation.device(of: sync), seed: UInt64(index))
    }
    for writer in writers { writer.write(times: 40) }
    let granted = try grant(writers[0], installation)
    let first = try backUp(installation)
    let isStopped = Locked(false)
    let threads = writers.map { writer in
      Thread { while !isStopped.withLock({ $0 }) { writer.write(times: 1) } }
    }
    let before = writers.map(\.versions)
    let second = try backUp(installation)
    let after = writers.map(\.versions)
    isStopped.withLock { $0 = true }
    for thread in threads { thread.join() }
    #expect(writers.flatMap(\.trouble) == [])
    #expect(before != after, "nobody wrote meanwhile")
    #expect(first["missing_objects"].integer == 0 && second["missing_objects"].integer == 0)
    // A grant made now is not part of the backup.
    _ = try grant(writers[1], installation)
    let cursors = try writers.map { try $0.device.updates().json["cursor"].string }
    #expect(sync.stop() == .exited(0) && billing.stop() == .exited(0))

    let restored = try Installation(
      restored: engine, from: installation, backups: backups, in: scratch.path + "/restored")
    let again = try restored.start(.sync)
    for (index, writer) in writers.enumerated() {
      let device = restored.device(of: again, key: writer.device.key, root: writer.device.root)
      #expect(try device.updates(since: cursors[index]).problem == "history_changed")
      // The backup may already contain a write whose answer comes later.
      try writer.check(through: device, from: before[index], to: writer.versions)
      let cap = try device.get("/v1/account").json["cap"].integer
      #expect(cap == (index == 0 ? granted : 1_000_000))
    }
    let found = try restored.command("doctor", "--all", "--objects", "--deep", "--json")
    #expect(found.end == .exited(0), "\(found.output)")
    let valid = try restored.command("tree", "validate", "--all")
    #expect(valid.end == .exited(0), "\(valid.output)")
    #expect(again.stop() == .exited(0), "\(again.lastWords)")
  }

  /// Grants premium and returns the resulting cap.
  private func grant(_ writer: KeepingWriter, _ installation: Installation) throws -> Int64 {
    let granted = try installation.command(
      "entitlement", "grant", try writer.device.account.description, "--plan", "premium",
      "--reason", "a backup is to have it", "--yes")
    #expect(granted.end == .exited(0), "\(granted.output)")
    return try #require(try writer.device.get("/v1/account").json["cap"].integer)
  }

  /// An installation with some documents and stopped servers.
  private func written(times count: Int = 60) throws -> (Installation, KeepingWriter) {
    let installation = try Installation()
    let sync = try installation.start(.sync)
    let writer = try KeepingWriter(installation.device(of: sync), seed: 1)
    writer.write(times: count)
    #expect(writer.trouble == [])
    #expect(sync.stop() == .exited(0))
    return (installation, writer)
  }

  @Test func `what an earlier backup has is not copied again, and neither needs the other`() throws
  {
    let (installation, _) = try written()
    let first = try backUp(installation)
    let second = try backUp(installation)
    #expect(first["copied_objects"].integer == first["objects"].integer)
    #expect(first["objects"].integer ?? 0 > 0)
    #expect(second["copied_objects"].integer == 0)
    #expect(second["objects"].integer == first["objects"].integer)
    Files.removeAll(try #require(first["backup"].string))
    let verified = try installation.command("backup", "verify", backups)
    #expect(verified.end == .exited(0), "\(verified.output)")
    #expect(Files.names(in: backups).count == 2, "the scratch directory stays")
  }

  @Test(arguments: ["manifest", "sync.db", "objects"])
  func `a byte that changed in a backup is found`(part: String) throws {
    let (installation, _) = try written()
    let made = try #require(try backUp(installation)["backup"].string)
    let path =
      part == "objects"
      ? "\(made)/objects/\(try #require(Files.paths(under: made + "/objects").first))"
      : "\(made)/\(part)"
    var bytes = try #require(Files.bytes(path))
    bytes[bytes.count / 2] ^= 1
    try Files.write(bytes, to: path)
    let verified = try installation.command("backup", "verify", backups)
    #expect(verified.end == .exited(1), "\(verified.output)")
    #expect(verified.output.contains("damaged"), "\(verified.output)")
  }

  /// A verification as JSON, with its exit code.
  private func verify(
    _ installation: Installation, _ words: String...
  ) throws -> (code: ChildProcess.End, json: JSON) {
    let verified = try installation.command(["backup", "verify", backups, "--json"] + words)
    let line = verified.output.split(separator: "\n").first ?? ""
    return (verified.end, try JSON.parse(Array(line.utf8)))
  }

  private func state(_ name: String, _ json: JSON) -> String? {
    json["checks"].array?.first { $0["name"].string == name }?["state"].string
  }

  @Test func `a backup tells its age, and fails where it is too old`() throws {
    let (installation, _) = try written(times: 5)
    let made = try backUp(installation)
    let young = try verify(installation, "--max-age", "1h")
    #expect(young.code == .exited(0))
    #expect(young.json["backup"].string == made["backup"].string)
    #expect(young.json["taken"].string == made["taken"].string)
    #expect(0...3600 ~= (young.json["age_seconds"].integer ?? -1))
    try restate(made) { $0.hasPrefix("taken ") ? "taken 2026-01-01T00:00:00Z" : $0 }
    let old = try verify(installation, "--max-age", "2d")
    #expect(old.code == .exited(1))
    #expect(state("age", old.json) == "failed")
    #expect(state("digests", old.json) == "ok")
  }

  /// Changes what a backup's manifest says, and keeps the manifest's own digest valid.
  private func restate(_ made: JSON, _ line: (String) -> String?) throws {
    let manifest = try #require(made["backup"].string) + "/manifest"
    let lines = try #require(Files.text(manifest)).split(separator: "\n").map(String.init)
    let text = lines.dropLast().compactMap(line).map { $0 + "\n" }.joined()
    let end = try #require(lines.last).split(separator: " ").dropLast().joined(separator: " ")
    try Files.write(text + "\(end) \(Hex.encode(SHA256.hash(Array(text.utf8))))\n", to: manifest)
  }

  @Test func `a backup of a time to come passes for the newest nowhere`() throws {
    let (installation, _) = try written(times: 5)
    let wrong = try backUp(installation)
    try restate(wrong) { $0.hasPrefix("taken ") ? "taken 2999-01-01T00:00:00Z" : $0 }
    let ahead = "\(backups)/2999-01-01T00-00-00Z"
    try rename(try #require(wrong["backup"].string), ahead)
    let next = try installation.command("backup", backups)
    #expect(next.end == .exited(0))
    #expect(next.output.contains("\(ahead) has a later time"), "\(next.output)")
    let found = try verify(installation)
    #expect(found.code == .exited(1))
    #expect(state("age", found.json) == "failed")
    let place = scratch.path + "/restored"
    let refused = try installation.command("restore", backups, "--into", place)
    #expect(refused.end == .exited(1))
    #expect(refused.output.contains("\(ahead) is from the future"), "\(refused.output)")
    #expect(try installation.command("restore", ahead, "--into", place).end == .exited(0))
  }

  @Test func `a directory of another installation's backups is refused`() throws {
    let (installation, _) = try written(times: 5)
    _ = try backUp(installation)
    let (other, _) = try written(times: 5)
    let refused = try other.command("backup", backups)
    #expect(refused.end == .exited(1))
    #expect(refused.output.contains("is from another installation"), "\(refused.output)")
    #expect(try other.command("backup", backups, "--go-on").end == .exited(0))
    #expect(try installation.command("backup", backups).end == .exited(1))
  }

  @Test func `a backup that names no installation is read and gone on behind`() throws {
    let (installation, _) = try written(times: 5)
    try restate(try backUp(installation)) { line in
      if line == "coffer-backup 2" { return "coffer-backup 1" }
      return line.hasPrefix("installation ") ? nil : line
    }
    #expect(try verify(installation).code == .exited(0))
    #expect(try backUp(installation)["copied_objects"].integer == 0)
  }

  /// Changes a byte of one object in a backup.
  private func damage(_ made: JSON) throws {
    let objects = try #require(made["backup"].string) + "/objects"
    let path = "\(objects)/\(try #require(Files.paths(under: objects).first))"
    var bytes = try #require(Files.bytes(path))
    bytes[bytes.count / 2] ^= 1
    try Files.write(bytes, to: path)
  }

  @Test func `what a verification found damaged is copied anew in the next night`() throws {
    let (installation, _) = try written()
    try damage(try backUp(installation))
    let found = try installation.command("backup", "verify", backups)
    #expect(found.end == .exited(1))
    #expect(found.output.contains("coffer backup \(backups) --check copies them again"))
    let next = try backUp(installation)
    #expect(next["copied_objects"].integer == 1)
    #expect(try verify(installation).code == .exited(0))
    #expect(try backUp(installation)["copied_objects"].integer == 0)
  }

  @Test func `a backup that checks what it takes over copies anew what is damaged`() throws {
    let (installation, _) = try written()
    try damage(try backUp(installation))
    #expect(try installation.command("backup", backups, "--check").end == .exited(0))
    #expect(try verify(installation).code == .exited(0))
  }

  @Test func `later runs that left no backup are told, and what verifications left goes`() throws {
    let (installation, _) = try written(times: 5)
    _ = try backUp(installation)
    let stale = "\(backups)/verify-\(Random.identifier())"
    for folder in ["2999-01-01T00-00-00Z", "unfinished"] {
      try Files.createFolder("\(backups)/\(folder)")
    }
    try Files.createFolder(stale)
    try Files.write("a copy", to: stale + "/sync.db")
    let found = try verify(installation)
    #expect(found.code == .exited(0))
    #expect(state("later runs", found.json) == "warning")
    #expect(Files.permissions(stale) == nil)
    try Files.createFolder(stale)
    _ = try backUp(installation)
    #expect(Files.permissions(stale) == nil)
  }

  /// PostgreSQL with its schemas, and an object store.
  private func postgres() throws -> Installation {
    let installation = try Installation(.postgres)
    #expect(try installation.start(.sync).stop() == .exited(0))
    return installation
  }

  @Test(
    .enabled(if: TestEngine.postgresURL != nil),
    arguments: [
      #"echo junk > "$COFFER_DUMP""#,
      #"pg_dump --dbname=postgres://127.0.0.1:1/none | gzip > "$COFFER_DUMP""#,
      #"pg_dump --format=custom --schema=sync --file="$COFFER_DUMP" --dbname="$COFFER_DUMP_OF""#,
      #"pg_dump --format=custom --schema-only --file="$COFFER_DUMP" --dbname="$COFFER_DUMP_OF""#,
    ])
  func `a dump that has not both schemas is no backup`(command: String) throws {
    let refused = try postgres().command("backup", backups, "--dump", command)
    #expect(refused.end == .exited(1), "\(refused.output)")
    #expect(refused.output.contains("is not a complete dump of a Coffer database"))
    #expect(!Files.names(in: backups).contains { $0.hasPrefix("2") })
  }

  @Test(.enabled(if: TestEngine.postgresURL != nil))
  func `a dump that was cut off is found without a database to load it into`() throws {
    let installation = try postgres()
    let made = try installation.command(
      "backup", backups, "--dump",
      #"pg_dump --format=custom -n sync -n billing "$COFFER_DUMP_OF" | head -c -200 > "$COFFER_DUMP""#
    )
    #expect(made.end == .exited(0), "its list is whole: \(made.output)")
    let verified = try verify(installation)
    #expect(verified.code == .exited(1))
    #expect(state("digests", verified.json) == "ok")
    #expect(state("database", verified.json) == "failed")
  }

  @Test(.enabled(if: TestEngine.postgresURL != nil))
  func `a database that has a schema already is refused, and the backup is not called bad`() throws
  {
    let installation = try postgres()
    _ = try backUp(installation)
    let spare = try ScratchDatabase(.postgres)
    guard case .postgres(let secret) = spare.location else { return }
    let url = String(decoding: secret.exposed, as: UTF8.self)
    let first = try verify(installation, "--database", url)
    #expect(first.code == .exited(0), "\(first.json)")
    let second = try installation.command("backup", "verify", backups, "--database", url)
    #expect(second.end == .exited(64))
    #expect(second.output.contains("already has a schema sync: dropdb and createdb it"))
  }

  @Test(.enabled(if: TestEngine.postgresURL != nil))
  func `a restore into PostgreSQL prints the setting, without the password`() throws {
    let installation = try postgres()
    _ = try backUp(installation)
    let spare = try ScratchDatabase(.postgres)
    guard case .postgres(let secret) = spare.location else { return }
    let url = String(decoding: secret.exposed, as: UTF8.self)
    let restored = try installation.command(
      "restore", backups, "--into", scratch.path + "/restored", "--database",
      url.replacing("postgres://postgres@", with: "postgres://postgres:secret@"))
    #expect(restored.end == .exited(0), "\(restored.output)")
    #expect(restored.output.contains("\nCOFFER_DATABASE=\(url)\n"))
  }

  @Test func `what is missing of a backup is code 1, and the rest is looked at`() throws {
    let (installation, _) = try written()
    let made = try #require(try backUp(installation)["backup"].string)
    let object = "\(made)/objects/\(try #require(Files.paths(under: made + "/objects").first))"
    #expect(Files.remove(object))
    try Files.createFolder(object)
    let strange = try verify(installation)
    #expect(strange.code == .exited(1))
    #expect(state("digests", strange.json) == "failed")
    #expect(state("schema", strange.json) == "ok")
    let restored = try installation.command("restore", made, "--into", scratch.path + "/restored")
    #expect(restored.end == .exited(1), "\(restored.output)")
    #expect(Files.permissions(scratch.path + "/restored/database/sync.db") == 0o600)
    #expect(Files.remove(made + "/sync.db"))
    let missing = try verify(installation)
    #expect(missing.code == .exited(1))
    #expect(state("digests", missing.json) == "failed")
    #expect(state("database", missing.json) == "skipped")
  }

  @Test func `a restore prints settings that programs take, however its directory is named`() throws
  {
    let (installation, _) = try written(times: 5)
    _ = try backUp(installation)
    let place = installation.directory + "/place"
    try Files.createFolder(place)
    let restored = try installation.command(
      "restore", backups, "--into", "\(place)/../place/back", "--json")
    let lines = restored.output.split(separator: "\n")
    let json = try JSON.parse(Array(try #require(lines.first).utf8))
    #expect(json["database"].string?.hasSuffix("/place/back/database") == true)
    #expect(json["objects"].string?.contains("..") == false)
    #expect(lines.last?.contains("accounts erased since") == true)
  }

  @Test(arguments: TestStore.all)
  func `a backup is restored into another store, also after an interruption`(_ store: TestStore)
    throws
  {
    let (installation, writer) = try written()
    _ = try backUp(installation)
    let (place, objects) = (scratch.path + "/restored", store.location(in: scratch.path))
    let words = ["restore", backups, "--into", place, "--objects", objects]
    installation.set(["COFFER_OBJECTS_KEY": TestBucket.keyText])
    let (cutOff, _) = try installation.begin(words)
    usleep(200_000)
    cutOff.send(SIGKILL)
    #expect(cutOff.wait(within: .seconds(60)) != nil)
    Files.removeAll(place)
    let restored = try installation.command(words)
    #expect(restored.end == .exited(0), "\(restored.output)")
    let location = try #require(ObjectsLocation(objects))
    #expect(restored.output.contains("\nCOFFER_OBJECTS=\(location)\n"), "\(restored.output)")
    #expect(Files.names(in: place) == ["database"])

    let next = try Installation(directory: place)
    next.set(["COFFER_OBJECTS": objects, "COFFER_OBJECTS_KEY": TestBucket.keyText])
    let sync = try next.start(.sync)
    let device = next.device(of: sync, key: writer.device.key, root: writer.device.root)
    try writer.check(through: device, from: writer.versions, to: writer.versions)
    let found = try next.command("doctor", "--all", "--objects")
    #expect(found.end == .exited(0), "\(found.output)")
    #expect(sync.stop() == .exited(0))
    Files.removeAll(place)
    let again = try installation.command(words)
    #expect(again.end == .exited(1), "\(again.output)")
    #expect(again.output.contains("is in use"), "\(again.output)")
  }

  @Test func `a restore that was cut off earlier is named`() throws {
    let (installation, _) = try written(times: 5)
    _ = try backUp(installation)
    let place = scratch.path + "/restored"
    try Files.createFolder(place)
    try Files.createFolder(place + "/objects")
    let refused = try installation.command("restore", backups, "--into", place)
    #expect(refused.end == .exited(1))
    #expect(refused.output.contains("left from an interrupted restore"), "\(refused.output)")
  }

  @Test(arguments: [["backup", ""], ["backup", "verify", "DIR", "--database", "postgres://h/d"]])
  func `what a command line names wrongly is code 64`(words: [String]) throws {
    let (installation, _) = try written(times: 5)
    _ = try backUp(installation)
    let refused = try installation.command(words.map { $0 == "DIR" ? backups : $0 })
    #expect(refused.end == .exited(64), "\(refused.output)")
  }

  @Test func `a backup that was cut off is none, and the next one takes over what it had`() throws {
    let (installation, _) = try written()
    _ = try backUp(installation)
    let whole = try #require(Files.names(in: backups).first { $0.hasPrefix("2") })
    // As left by a run that was killed before it wrote the manifest.
    try rename("\(backups)/\(whole)", "\(backups)/unfinished")
    #expect(Files.remove("\(backups)/unfinished/manifest"))
    let restored = try installation.command(
      "restore", backups, "--into", scratch.path + "/restored")
    #expect(restored.end == .exited(1))
    #expect(restored.output.hasSuffix("is not a complete backup: it has no manifest\n"))
    let next = try backUp(installation)
    #expect(next["objects"].integer ?? 0 > 0)
    #expect(next["copied_objects"].integer == 0)
    #expect(Files.names(in: backups).count == 2, "what was interrupted is cleared away")
    let verified = try installation.command("backup", "verify", backups)
    #expect(verified.end == .exited(0), "\(verified.output)")
  }

  private func rename(_ path: String, _ other: String) throws {
    guard unsafe Glibc.rename(path, other) == 0 else {
      throw ScenarioError("cannot rename \(path)")
    }
  }

  @Test(.enabled(if: SmallDisk.isAvailable))
  func `a backup onto a full disk says so and leaves none`() throws {
    let (installation, _) = try written()
    let disk = try SmallDisk(byteCount: 300_000)
    let place = disk.path + "/backups"
    let made = try installation.command("backup", place)
    #expect(made.end == .exited(69), "\(made.output)")
    #expect(made.output.contains("No space left") || made.output.contains("disk is full"))
    #expect(!Files.names(in: place).contains { $0.hasPrefix("2") })
    try disk.resize(byteCount: 64 << 20)
    #expect(try installation.command("backup", place).end == .exited(0))
    #expect(try installation.command("backup", "verify", place).end == .exited(0))
  }

  @Test func `a directory that is not for it is left alone`() throws {
    let (installation, _) = try written(times: 5)
    _ = try backUp(installation)
    let other = try scratch.write("mine", to: "documents/letter")
    let place = scratch.path + "/documents"
    let cases: [(words: [String], complaint: String)] = [
      (["backup", place], "\(place) is not empty and holds no backups of Coffer"),
      (
        ["backup", installation.directory + "/objects/backups"],
        "cannot hold backups: it shares files with"
      ),
      (["restore", backups, "--into", place], "\(place) is not empty"),
      (["restore", place, "--into", scratch.path + "/new"], "is not a complete backup"),
      (["restore", "/nowhere", "--into", scratch.path + "/new"], "there is no backup in /nowhere"),
    ]
    for (words, complaint) in cases {
      let refused = try installation.command(words)
      #expect(refused.end == .exited(1), "\(words): \(refused.output)")
      #expect(refused.output.contains(complaint), "\(refused.output)")
    }
    #expect(Files.text(other) == "mine")
    #expect(Files.permissions(scratch.path + "/new") == nil)
  }

  @Test func `a backup of a newer version is refused`() throws {
    let (installation, _) = try written(times: 5)
    let made = try #require(try backUp(installation)["backup"].string)
    let lines = try #require(Files.text(made + "/manifest")).split(separator: "\n").dropLast()
    let newer = lines.map { $0.hasPrefix("schema sync ") ? "schema sync 999" : $0 }
      .map { $0 + "\n" }.joined()
    let sum = newer.split(separator: "\n").filter { $0.hasPrefix("object ") }
    let byteCount = sum.compactMap { Int($0.split(separator: " ")[2]) }.reduce(0, +)
    try Files.write(
      newer + "end \(sum.count) \(byteCount) 0 \(Hex.encode(SHA256.hash(Array(newer.utf8))))\n",
      to: made + "/manifest")
    let restored = try installation.command("restore", made, "--into", scratch.path + "/new")
    #expect(restored.end == .exited(1))
    #expect(restored.output.contains("is of a newer version"), "\(restored.output)")
  }
}

extension Installation {
  /// An installation restored from the newest backup, next to the backed-up one.
  fileprivate convenience init(
    restored engine: TestEngine, from other: Installation, backups: String, in directory: String
  ) throws {
    try self.init(engine, directory: directory)
    var words = ["restore", backups, "--into", directory]
    if case .postgres(let url) = location {
      words += ["--database", String(decoding: url.exposed, as: UTF8.self)]
    }
    let restored = try other.command(words)
    guard restored.end == .exited(0) else { throw ScenarioError(restored.output) }
  }
}
