import Goldens
import Testing

struct HelpTests {
  /// The names of the commands that `coffer help commands` lists.
  static func listed() throws -> [String] {
    try abstracts().map(\.words)
  }

  private static func abstracts() throws -> [(words: String, abstract: String)] {
    try Finished(["help", "commands"]).out.split(separator: "\n").dropFirst().map { line in
      let words = line.split(separator: " ").prefix { $0.first?.isLowercase == true }
      let name = words.joined(separator: " ")
      return (name, line.dropFirst(2 + name.count).drop { $0 == " " }.description)
    }
  }

  @Test func `the overview fits a screen and names every command`() throws {
    let finished = try Finished(["--help"])
    #expect(finished.code == 0)
    let lines = finished.out.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 60 && lines.allSatisfy { $0.count <= 90 })
    try expectGolden(finished.out, "help")
  }

  @Test(arguments: ["commands", "settings", "exit-codes"])
  func `help has a page for each topic`(topic: String) throws {
    let finished = try Finished(["help", topic])
    #expect(finished.code == 0)
    try expectGolden(finished.out, "help-topic-" + topic)
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

  @Test func `an abstract is an imperative of at most 60 characters`() throws {
    for (words, abstract) in try Self.abstracts() {
      #expect(abstract.count <= 60, "\(words)")
      #expect(abstract.first?.isUppercase == true && abstract.last != ".", "\(words)")
      let verb = try #require(abstract.split(separator: " ").first)
      #expect(!verb.hasSuffix("s") || verb.hasSuffix("ss"), "\(words)")
    }
  }

  @Test func `every command shows examples of itself, in sentences of at most 35 words`() throws {
    for command in try Self.listed() {
      let text = try Finished(command.split(separator: " ").map(String.init) + ["--help"]).out
      let parts = text.split(separator: "\nexamples:\n", maxSplits: 1)
      let examples = try #require(parts.last, "\(command)").split(separator: "\n")
      #expect(parts.count == 2 && !examples.isEmpty, "\(command)")
      #expect(examples.allSatisfy { $0.hasPrefix("  coffer \(command)") }, "\(command)")
      let prose = parts[0].split(separator: "\n\n").dropFirst(2).prefix {
        !$0.hasPrefix("arguments:") && !$0.hasPrefix("options:")
      }
      for sentence in prose.joined(separator: " ").split(separator: "\n").joined(separator: " ")
        .split(separator: ". ")
      {
        let count = sentence.split(separator: " ").count
        #expect(count <= 35, "\(command): \(sentence)")
      }
    }
  }

  @Test(
    arguments: [
      (["help", "account", "list"], ["account", "list", "--help"]),
      (["account", "list", "help"], ["account", "list", "--help"]),
      (["help", "account"], ["account", "--help"]), (["account", "help"], ["account", "--help"]),
      (["help"], ["--help"]), (["version"], ["--version"]),
    ])
  func `help and version are also words`(words: [String], same: [String]) throws {
    let (finished, expected) = (try Finished(words), try Finished(same))
    #expect(finished.code == 0 && finished.out == expected.out)
  }

  @Test func `help on what does not exist says so in one line`() throws {
    let finished = try Finished(["help", "acount"])
    #expect(finished.code == 64)
    #expect(finished.errors == "coffer: there is no command acount; did you mean account?\n")
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
