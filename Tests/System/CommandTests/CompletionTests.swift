import TestEngines
import TestFiles
import Testing

/// The output of `coffer completion`, and its effect in each shell.
struct CompletionTests {
  @Test(arguments: ["bash", "zsh", "fish"])
  func `every shell has a script, which asks the program`(shell: String) throws {
    let finished = try Finished(["completion", shell])
    #expect(finished.code == 0)
    #expect(
      finished.out.contains("# Completes coffer in \(shell). Made by: coffer completion \(shell)"))
    #expect(finished.out.contains(" __complete "))
  }

  @Test func `the program tells a word from its text by a tab`() throws {
    #expect(
      try Finished(["__complete", "jobs", "list", "--d"]).out
        == "--dead\tonly dead jobs\n")
    #expect(try Finished(["__complete", "account", "show", "x"]).out == "")
    #expect(try Finished(["__complete"]).out.contains("report\t"))
  }

  @Test func `a shell that nobody teaches is code 64`() throws {
    let finished = try Finished(["completion", "tcsh"])
    #expect(finished.code == 64)
    #expect(finished.errors == "coffer: shell takes bash, zsh or fish\n")
  }

  /// The completions that bash offers with the cursor after the last of `words`.
  private func offered(_ words: [String], in directory: String = "/") throws -> [String] {
    let script = """
      cd "$1" || exit 1
      program=$2
      source <("$program" completion bash)
      complete -p coffer
      shift 2
      COMP_WORDS=("$program" "$@") COMP_CWORD=$#
      _coffer
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let finished = try Finished(
      path: "/bin/bash",
      ["--noprofile", "--norc", "-c", script, "bash", directory, Binaries.directory + "/coffer"]
        + words, environment: ["PATH": "/usr/bin:/bin"])
    #expect(finished.code == 0)
    #expect(finished.errors == "")
    var lines = finished.out.split(separator: "\n").map(String.init)
    #expect(lines.removeFirst() == "complete -F _coffer coffer")
    return lines
  }

  @Test func `bash offers every command that help lists, word by word`() throws {
    let commands = try HelpTests.listed()
    #expect(commands.count > 20)
    for command in commands {
      let words = command.split(separator: " ").map(String.init)
      for (count, word) in words.enumerated() {
        #expect(try offered(words.prefix(count) + [""]).contains(word), "\(command)")
        let beginning = String(word.prefix(3))
        #expect(try offered(words.prefix(count) + [beginning]).contains(word), "\(command)")
      }
    }
  }

  @Test func `bash offers a command's own options and those of every command`() throws {
    #expect(
      try offered(["jobs", "list", "--"]) == [
        "--limit", "--dead", "--after", "--config", "--json", "--help",
      ])
    #expect(try offered(["jobs", "list", "--d"]) == ["--dead"])
    #expect(try offered(["--j"]) == ["--json"])
    #expect(try offered(["account", "show", "ada", "--h"]) == ["--help"])
  }

  @Test func `an option's value is no word of the command`() throws {
    #expect(try offered(["--config", "/etc/coffer.env", "invite", "r"]) == ["revoke"])
    #expect(try offered(["jobs", "list", "--limit", "5", "--d"]) == ["--dead"])
    #expect(try offered(["jobs", "list", "--limit", "="]) == [])
    #expect(try offered(["jobs", "list", "--limit", "=", "5", "--d"]) == ["--dead"])
  }

  @Test func `bash offers the words of a value where there are few`() throws {
    #expect(try offered(["config", "--program", ""]) == ["coffer-sync", "coffer-billing"])
    #expect(try offered(["config", "--program", "=", "coffer-b"]) == ["coffer-billing"])
    #expect(try offered(["completion", "z"]) == ["zsh"])
    #expect(try offered(["account", "list", "--limit", ""]) == [])
  }

  @Test func `bash offers files where one is named`() throws {
    let scratch = try ScratchDirectory()
    try Files.write("x", to: scratch.path + "/invoice paid.http")
    #expect(try offered(["webhook", "send", "inv"], in: scratch.path) == ["invoice paid.http"])
    #expect(
      try offered(["request", "GET", "/", "--key-file", "i"], in: scratch.path)
        == ["invoice paid.http"])
  }
}
