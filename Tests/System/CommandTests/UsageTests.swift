import TestEngines
import TestFiles
import Testing

struct UsageTests {
  @Test(arguments: [
    (
      [],
      "one of attention, find, event, whatif, audit, report, account, deletion, invite, app-password, usage, quota, tree, log, link, recovery, entitlement, subscription, refund, import, plan, reconcile, jobs, flow, notice, webhook, delivery, migrate, backup, restore, objects, doctor, config, request, completion, man, schema must follow; see --help"
    ),
    (
      ["account"],
      "one of list, show, told, validate, create, add-key, suspend, resume, export, import, delete must follow; see --help"
    ),
    (["acount", "list"], "there is no command acount list; did you mean account list?"),
    (["list", "accounts"], "there is no command list accounts; did you mean account list?"),
    (["acount"], "there is no command acount; did you mean account?"),
    (["usag", "ada"], "there is no command usag ada; did you mean usage?"),
    (["jobs", "lsit"], "there is no command jobs lsit; did you mean jobs list?"),
    (["nonsense"], "there is no command nonsense; see --help"),
    (["--versoin"], "coffer has no option --versoin; did you mean --version?"),
    (
      ["backup", "verfy"],
      "backup does not take verfy; did you mean backup verify? A path of that name is ./verfy"
    ),
    (["account", "list", "--jason"], "account list has no option --jason; did you mean --json?"),
    (["account", "show"], "account show needs <account>; see --help"),
    (["usage", "recount", "ada", "bob"], "usage recount does not take bob; see --help"),
    (["plan", "list", "premium"], "plan list does not take premium; see --help"),
    (["plan", "list", "--json=yes"], "--json takes no value"),
    (["plan", "list", "--json", "--json"], "--json is given twice"),
    (["plan", "list", "--config"], "--config <path> needs its value"),
    (["account", "list", "--limit", "0"], "--limit takes a number from 1 to 10000"),
    (["account", "create"], "give one of --public-key and --key-file"),
    (["account", "create", "--id", "7"], "--id takes a UUID"),
    (["entitlement", "grant", "ada", "--reason", "x"], "entitlement grant needs --plan"),
    (["entitlement", "grant", "ada", "--plan", "x"], "entitlement grant needs --reason"),
    (
      ["entitlement", "grant", "ada", "--plan", "x", "--reason", " \t"],
      "--reason is blank: say why"
    ),
    (
      ["entitlement", "grant", "ada", "--plan", "x", "--reason", "\u{200B}\u{A0}"],
      "--reason is blank: say why"
    ),
    (["audit", "show", "7"], "7 is not an entry of the audit log, e.g. billing:12"),
    (["audit", "verify", "--head", "ab"], "--head takes 64 hexadecimal digits"),
    (
      ["subscription", "release", "ada", "--reason", "x"], "the account is named by its id, a UUID"
    ),
    (["invite", "create", "--days", "0"], "--days takes a number from 1 to 3650"),
    (["invite", "list", "--after", "x"], "an invite is named by its id, a UUID"),
    (["config", "--program", "coffer"], "--program takes coffer-sync or coffer-billing"),
  ])
  func `a wrong command line is one line and code 64`(words: [String], complaint: String) throws {
    let scratch = try ScratchDirectory()
    let finished = try Finished(
      words, environment: ["COFFER_DATABASE": "sqlite://\(scratch.path)"])
    #expect(finished.code == 64)
    #expect(finished.errors == "coffer: \(complaint)\n")
    #expect(finished.out == "")
  }

  @Test func `each command of a runbook is one that coffer takes`() throws {
    let scratch = try ScratchDirectory()
    let values = [
      "<account>": "ada", "<store>": "stripe", "<file>": "/nowhere", "<delivery>": "1",
      "<id>": "0190a5e0-0000-7000-8000-00000000f001", "<subscription>": "sub_1",
      "<object>": "sub_1", "…": "a reason",
    ]
    var commands: Set<[String]> = []
    for page in Files.paths(under: "\(Files.repository)/ops/runbooks") {
      let text = try #require(Files.text("\(Files.repository)/ops/runbooks/\(page)"))
      for match in text.matches(of: #/`coffer ([^`]+)`/#) {
        commands.insert(match.1.split(separator: " ").map { values[String($0)] ?? String($0) })
      }
    }
    #expect(commands.count > 10)
    for words in commands {
      let run = try Finished(words, environment: ["COFFER_DATABASE": "sqlite://\(scratch.path)"])
      #expect(run.code != 64, "\(words): \(run.errors)")
    }
  }

  @Test(arguments: ["man", "--help"])
  func `an answer that cannot be written is code 69 and one line`(words: String) throws {
    let full = try Finished(
      path: "/bin/sh", ["-c", "exec \"$0\" \(words) >/dev/full", Binaries.directory + "/coffer"],
      environment: [:])
    #expect(full.code == 69)
    #expect(full.errors == "coffer: the answer could not be written: No space left on device\n")
  }

  @Test func `who reads no further than a line is no failure`() throws {
    let cut = try Finished(
      path: "/bin/sh", ["-c", "\"$0\" man | head -n 1", Binaries.directory + "/coffer"],
      environment: ["PATH": "/usr/bin:/bin"])
    #expect(cut.code == 0)
    #expect(cut.errors.isEmpty)
  }

  @Test func `what was pasted into a command comes back on one line without what a terminal obeys`()
    throws
  {
    let scratch = try ScratchDirectory()
    let pasted = try Finished(
      ["x\u{1B}[31m\ny" + String(repeating: "z", count: 5000)],
      environment: ["COFFER_DATABASE": "sqlite://\(scratch.path)"])
    #expect(pasted.code == 64)
    #expect(pasted.errors.split(separator: "\n").count == 1)
    #expect(!pasted.errors.contains("\u{1B}") && pasted.errors.count < 2100)
  }

  @Test(arguments: ["coffer-sync", "coffer-billing"])
  func `the programs take no argument they do not know`(program: String) throws {
    let finished = try Finished(program, ["--port", "1"])
    #expect(finished.code == 64)
    #expect(finished.errors == "\(program): there is no argument --port; see --help\n")
  }

  @Test(arguments: ["coffer", "coffer-sync", "coffer-billing"])
  func `a wrong configuration is a line for each problem and code 78`(program: String) throws {
    let finished = try Finished(
      program, program == "coffer" ? ["migrate"] : [], environment: ["COFFER_TYPO": "1"])
    #expect(finished.code == 78)
    let lines = finished.errors.split(separator: "\n")
    #expect(lines.count >= 2)
    #expect(lines.allSatisfy { $0.hasPrefix("\(program): ") })
    #expect(lines.first == "\(program): COFFER_TYPO (environment): no such setting")
  }

  @Test func `the effective configuration hides secrets`() throws {
    let finished = try Finished(
      ["config"],
      environment: [
        "COFFER_DATABASE": "postgres://coffer:hunter2@localhost/coffer",
        "COFFER_SEALING_KEYS": "hunter2", "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_hunter2",
        "COFFER_STRIPE_API_KEY": "sk_test_hunter2",
      ])
    #expect(finished.code == 78)
    #expect(finished.out.contains("COFFER_SEALING_KEYS (environment): key 1 is not 32 bytes"))
    #expect(!(finished.out + finished.errors).contains("hunter2"))
  }

  @Test func `a configuration file that is not there is a problem, not a crash`() throws {
    let finished = try Finished(["plan", "list", "--config", "/nowhere"])
    #expect(finished.code == 78)
    #expect(
      finished.errors
        == "coffer: configuration file \"/nowhere\" cannot be read: No such file or directory\n")
  }
}
