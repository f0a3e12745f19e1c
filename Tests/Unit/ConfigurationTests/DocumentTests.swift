import Configuration
import Goldens
import KnownStores
import TestFiles
import Testing

// Serialized, because each test may write the file.
@Suite(.serialized) struct DocumentTests {
  @Test func `the table of settings is the program's own`() throws {
    try expectBlock("settings", of: "docs/settings.md", SettingsHelp.markdown(.coffer))
  }

  @Test func `the file of settings that a package installs has every one of them`() throws {
    let path = "\(Files.repository)/ops/package.d/coffer.env"
    if Files.text(path) != SettingsHelp.file(.coffer) {
      try expectGolden(SettingsHelp.file(.coffer), file: path)
    }
  }

  @Test func `the rotation of a sealing key is what the programs advise`() throws {
    try expectBlock(
      "sealing key rotation", of: "docs/cookbook.md", Advice.sealingKeyRotation.list)
  }

  @Test func `the exit codes are the program's own`() throws {
    try expectBlock(
      "exit codes", of: "docs/commands.md",
      "| code | meaning |\n|---|---|\n" + SettingsHelp.exitCodeRows())
  }
}
