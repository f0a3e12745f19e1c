import Configuration
internal import Glibc
import Testing

// One at a time, since each may write the file.
@Suite(.serialized) struct ReadmeTests {
  @Test func `the README's table of settings is the program's own`() throws {
    try expectBlock("settings", SettingsHelp.markdown())
  }

  @Test func `the README's exit codes are the program's own`() throws {
    try expectBlock("exit codes", "| code | meaning |\n|---|---|\n" + SettingsHelp.exitCodeRows())
  }

  /// Compares what stands between `<!-- name -->` and `<!-- end -->`; RECORD=1 writes it.
  private func expectBlock(_ name: String, _ text: String) throws {
    let source = #filePath
    let path =
      String(try #require(source.ranges(of: "/Tests/").last.map { source[..<$0.lowerBound] }))
      + "/README.md"
    let readme = try ScratchFile.text(path)
    let start = try #require(readme.firstRange(of: "<!-- \(name) -->\n")).upperBound
    let end = try #require(readme[start...].firstRange(of: "<!-- end -->")).lowerBound
    let isCurrent = readme[start..<end] == text
    if !isCurrent, unsafe getenv("RECORD") != nil {
      try ScratchFile.write(readme[..<start] + text + readme[end...], to: path)
    }
    #expect(isCurrent, "run this test with RECORD=1 to write the README's \(name)")
  }
}
