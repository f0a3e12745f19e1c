import Backup
import Storage
import TestDevices
import Testing

@Suite struct BackupProgressTests {
  @Test func `a backup tells how much of the copy it has read again`() throws {
    let server = try TestServer()
    let backup = try BackupRun(
      into: server.directory + "/backups", of: server.database,
      at: .sqlite(directory: server.directory + "/database"), dumpingBy: nil, server.objects,
      installation: nil, goesOn: false, checksEarlier: false, contentByteCount: 0,
      apartFrom: [server.objectsDirectory])
    var readByteCounts: [Int64] = []
    let made = try backup.run(at: server.clock.now) { stage, done, _ in
      if stage == .digests { readByteCounts.append(done) }
    }
    #expect(readByteCounts.max() == made.head.files.values.map(\.byteCount).max())
  }

  @Test func `a check of small contents tells how many files it has read`() throws {
    let server = try TestServer()
    _ = try server.register().create()
    var fileCount: Int64 = 0
    _ = try InlineAudit(server.database).missing { fileCount = $0 }
    #expect(fileCount > 0)
    #expect(try server.count("files") == fileCount)
  }
}
