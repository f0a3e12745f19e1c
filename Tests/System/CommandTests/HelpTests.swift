import Goldens
import Testing

struct HelpTests {
  /// The commands that the overview lists.
  static func listed() throws -> [String] {
    let lines = try Finished(["--help"]).out.split(separator: "\n")
    let start = try #require(lines.firstIndex(of: "commands:"))
    return lines[(start + 1)...].prefix { $0.hasPrefix("  ") }
      .filter { !$0.hasPrefix("   ") }
      .map { line in
        line.split(separator: " ").prefix { $0.first?.isLowercase == true }.joined(separator: " ")
      }
  }

  @Test func `the overview lists every command, setting and exit code`() throws {
    let finished = try Finished(["--help"])
    #expect(finished.code == 0)
    try expectGolden(finished.out, "help")
  }

  @Test func `every command explains itself`() throws {
    let commands = try Self.listed()
    #expect(commands.count > 20)
    for command in commands {
      let words = command.split(separator: " ").map(String.init)
      let finished = try Finished(words + ["--help"])
      #expect(finished.code == 0)
      try expectGolden(finished.out, "help-" + words.joined(separator: "-"))
    }
  }

  @Test func `a group of commands explains itself`() throws {
    try expectGolden(try Finished(["account", "--help"]).out, "help-account")
  }

  @Test(arguments: ["coffer-sync", "coffer-billing"])
  func `every program explains itself`(program: String) throws {
    let finished = try Finished(program, ["--help"])
    #expect(finished.code == 0)
    try expectGolden(finished.out, "help-" + program)
  }
}
