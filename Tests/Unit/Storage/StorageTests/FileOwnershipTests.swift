import Base
import Glibc
import TestEngines
import Testing

@Suite(.enabled(if: geteuid() == 0, "only root can make files of another user's"))
struct FileOwnershipTests {
  @Test(arguments: ["made", "made/"])
  func `what root makes belongs to the user who owns the folder around it`(name: String) throws {
    let scratch = try ScratchDirectory()
    #expect(give(scratch.path, to: 65534))
    #expect(FileOwnership.makeDirectory("\(scratch.path)/\(name)"))
    #expect(fileOwner("\(scratch.path)/made") == 65534)
  }
}
