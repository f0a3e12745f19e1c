import Configuration
import Goldens
import KnownStores
import TestFiles
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
    let path = "\(Files.repository)/\(document)"
    let page = try #require(Files.text(path))
    let start = try #require(page.firstRange(of: "<!-- \(name) -->\n")).upperBound
    let end = try #require(page[start...].firstRange(of: "<!-- end -->")).lowerBound
    guard page[start..<end] != text else { return }
    try expectGolden(page[..<start] + text + page[end...], file: path)
  }
}
