import CommandLine
import TestEngines
import Testing

struct OutputFileTests {
  @Test func `a new file keeps its name after a power failure`() throws {
    let scratch = try ScratchDirectory()
    let watch = try DirectoryWatch(scratch.path)
    try OutputFile.write([1], to: scratch.path + "/key")
    #expect(watch.wasOpened())
  }
}
