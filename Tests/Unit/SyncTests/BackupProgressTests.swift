import Backup
import Base
import Crypto
import Glibc
import Objects
import Storage
import TestBuckets
import TestDevices
import TestEngines
import TestFiles
import Testing

@Suite struct BackupProgressTests {
  private func backup(of server: TestServer) throws -> BackupRun {
    try BackupRun(
      into: server.directory + "/backups", of: server.database,
      at: .sqlite(directory: server.directory + "/database"), dumpingBy: nil, server.objects,
      installation: nil, goesOn: false, checksEarlier: false, contentByteCount: 0,
      apartFrom: [server.objectsDirectory])
  }

  @Test func `a backup tells how much of the copy it has read again`() throws {
    let server = try TestServer()
    var readByteCounts: [Int64] = []
    let made = try backup(of: server).run(at: server.clock.now) { stage, done, _ in
      if stage == .digests { readByteCounts.append(done) }
    }
    #expect(readByteCounts.max() == made.head.files.values.map(\.byteCount).max())
  }

  @Test func `backups of one second have names of their own`() throws {
    let server = try TestServer()
    let first = try backup(of: server).run(at: server.clock.now) { _, _, _ in }
    let second = try backup(of: server).run(at: server.clock.now) { _, _, _ in }
    #expect(second.path == first.path + "-2")
  }

  @Test func `a run keeps only the objects of one that was killed`() throws {
    let server = try TestServer()
    let device = try server.register()
    _ = try device.write(device.add(), Random.bytes(20_000))
    let killed = try backup(of: server).run(at: server.clock.now) { _, _, _ in }
    let backups = server.directory + "/backups"
    #expect(unsafe rename(killed.path, backups + "/unfinished") == 0)
    var kept: [String] = []
    _ = try backup(of: server).run(at: server.clock.now) { stage, _, _ in
      if stage == .digests { kept = Files.names(in: backups + "/interrupted-1") }
    }
    #expect(kept == ["objects"])
  }

  @Test func `that a backup is damaged is still known after a power failure`() throws {
    let server = try TestServer()
    let made = try backup(of: server).run(at: server.clock.now) { _, _, _ in }
    let restore = try Restore(of: made.path, into: server.directory + "/new", .copied)
    let watch = try DirectoryWatch(made.path)
    #expect(restore.noteDamage())
    #expect(watch.wasOpened())
  }

  @Test func `a manifest whose sizes have no sum is damaged`() throws {
    let server = try TestServer()
    let made = try backup(of: server).run(at: server.clock.now) { _, _, _ in }
    let path = made.path + "/manifest"
    var lines = try #require(Files.text(path)).split(separator: "\n").map { String($0) }
    let end = lines.removeLast()
    for low in UInt64(1)...2 {
      let digest = String(repeating: "0", count: 64)
      lines.append("object \(Identifier(high: 0, low: low)) \(Int64.max) \(digest)")
    }
    try Files.write((lines + [end, ""]).joined(separator: "\n"), to: path)
    let error = #expect(throws: BackupError.self) {
      try Restore(of: made.path, into: server.directory + "/new", .copied)
    }
    #expect(error?.kind == .damaged)
  }

  @Test(arguments: TestBucket.all)
  func `a backup goes on if an object is deleted while it is fetched from a bucket`(
    _ bucket: TestBucket
  ) throws {
    let objects = try bucket.start()
    let store = HookedStore(objects)
    let server = try TestServer(objects: store)
    let device = try server.register()
    let id = try device.add()
    _ = try device.write(id, Random.bytes(20_000))
    store.afterOpening { key in try objects.delete(key) }
    let made = try backup(of: server).run(at: server.clock.now) { _, _, _ in }
    #expect(made.sum.objectCount == 0)
    #expect(made.sum.missingCount == 1)
  }

  @Test func `a check of small contents tells how many files it has read`() throws {
    let server = try TestServer()
    _ = try server.register().create()
    var fileCount: Int64 = 0
    _ = try InlineAudit(server.database).missing { fileCount = $0 }
    #expect(fileCount > 0)
    #expect(try server.count("files") == fileCount)
  }

  @Test func `a sample of few small contents is all of them, wherever it begins`() throws {
    let server = try TestServer()
    let accounts = try (0..<3).map { _ in
      let device = try server.register()
      _ = try device.create()
      return try device.account
    }
    for account in accounts {
      var fileCount: Int64 = 0
      _ = try InlineAudit(server.database).missing(sample: account) { fileCount = $0 }
      #expect(try server.count("files") == fileCount)
    }
  }
}
