import Configuration
internal import Glibc
import KnownStores
import Testing

// One at a time, since each may write the file.
@Suite(.serialized) struct DocumentTests {
  @Test func `the table of settings is the program's own`() throws {
    try expectBlock("settings", of: "docs/settings.md", SettingsHelp.markdown(.coffer))
  }

  @Test func `the exit codes are the program's own`() throws {
    try expectBlock(
      "exit codes", of: "docs/operating.md",
      "| code | meaning |\n|---|---|\n" + SettingsHelp.exitCodeRows())
  }

  /// Compares what stands between `<!-- name -->` and `<!-- end -->`; RECORD=1 writes it.
  private func expectBlock(_ name: String, of document: String, _ text: String) throws {
    let source = #filePath
    let path =
      String(try #require(source.ranges(of: "/Tests/").last.map { source[..<$0.lowerBound] }))
      + "/\(document)"
    let page = try ScratchFile.text(path)
    let start = try #require(page.firstRange(of: "<!-- \(name) -->\n")).upperBound
    let end = try #require(page[start...].firstRange(of: "<!-- end -->")).lowerBound
    let isCurrent = page[start..<end] == text
    if !isCurrent, unsafe getenv("RECORD") != nil {
      try ScratchFile.write(page[..<start] + text + page[end...], to: path)
    }
    #expect(isCurrent, "run this test with RECORD=1 to write the \(name) of \(document)")
  }
}
