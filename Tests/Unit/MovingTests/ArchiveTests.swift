import Archive
import Base
import Sync
import TestEngines
import TestFiles
import Testing

@testable import Moving

struct ArchiveTests {
  @Test func `an archive of something else is refused`() throws {
    let scratch = try ScratchDirectory()
    let path = scratch.path + "/backup"
    let writer = try ArchiveWriter(
      path, kind: "coffer-backup", format: 1, at: Instant(seconds: 1_772_445_300))
    _ = try writer.finish()
    #expect(throws: (any Error).self) { try ArrivingAccount(path) }
  }

  @Test func `a finished archive keeps its name after a power failure`() throws {
    let scratch = try ScratchDirectory()
    let path = scratch.path + "/archive"
    let writer = try ArchiveWriter(
      path, kind: "coffer-account", format: 1, at: Instant(seconds: 1_772_445_300))
    let watch = try DirectoryWatch(scratch.path)
    _ = try writer.finish()
    #expect(watch.wasOpened())
  }

  @Test func `what tar unpacks from an archive is its owner's to read`() throws {
    let scratch = try ScratchDirectory()
    let path = scratch.path + "/archive"
    let writer = try ArchiveWriter(
      path, kind: "coffer-account", format: 1, at: Instant(seconds: 1_772_445_300))
    _ = try writer.finish()
    // The mode, in octal digits, follows the name in the header of a file.
    let mode = try #require(Files.bytes(path))[100..<107]
    #expect(String(decoding: mode, as: UTF8.self) == "0000600")
  }

  @Test func `parts are numbered so that their order is that of their names`() {
    let names = [1, 2, 10, 999].map { ArchiveWriter.numbered(TreeExport.files, $0) }
    #expect(names == names.sorted())
    #expect(names[0].hasPrefix("files/") && names[0].hasSuffix(".json"))
  }
}
