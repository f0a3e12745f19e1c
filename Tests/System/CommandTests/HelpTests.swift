import Testing

struct HelpTests {
  static let commands = [
    "migrate", "account list", "account show", "account create", "invite create",
    "invite list", "invite revoke", "usage show",
    "usage recount", "entitlement explain",
    "entitlement grant", "entitlement revoke", "subscription transfer", "subscription release",
    "subscription read", "plan list", "jobs list", "jobs retry", "webhook send", "request",
    "config",
  ]

  @Test func `the overview lists every command, setting and exit code`() throws {
    let finished = try Finished(["--help"])
    #expect(finished.code == 0)
    try expectGolden(finished.out, "help")
  }

  @Test(arguments: commands)
  func `every command explains itself`(command: String) throws {
    let words = command.split(separator: " ").map(String.init)
    let finished = try Finished(words + ["--help"])
    #expect(finished.code == 0)
    try expectGolden(finished.out, "help-" + words.joined(separator: "-"))
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

  @Test func `the overview names the commands that have goldens`() throws {
    let lines = try Finished(["--help"]).out.split(separator: "\n")
    let start = try #require(lines.firstIndex(of: "commands:"))
    var listed: [String] = []
    for line in lines[(start + 1)...].prefix(while: { $0.hasPrefix("  ") })
    where !line.hasPrefix("   ") {
      let words = line.split(separator: " ").prefix { $0.first?.isLowercase == true }
      listed.append(words.joined(separator: " "))
    }
    #expect(listed == Self.commands)
  }
}
