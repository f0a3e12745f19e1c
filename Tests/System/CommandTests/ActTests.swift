import Base
import Storage
import TestEngines
import TestFiles
import Testing

/// The common behaviour of all acts, shown with grants.
struct ActTests: CommandSuite {
  private let scratch: ScratchDirectory
  let environment: [String: String]

  init() throws {
    scratch = try ScratchDirectory()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database", "COFFER_ACTOR": "carol",
      "COFFER_MODE": "test", "COFFER_TEST_CLOCK": scratch.path + "/clock",
    ]
    try Files.write("1772445300000\n", to: scratch.path + "/clock")
    #expect(try coffer("migrate").code == 0)
    #expect(try createAda(environment).code == 0)
  }

  private func createAda(_ environment: [String: String]) throws -> Finished {
    try Finished(
      [
        "account", "create", "--username", "ada", "--public-key",
        "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
      ], environment: environment)
  }

  private static let grant = [
    "entitlement", "grant", "ada", "--plan", "premium", "--reason", "for a talk",
  ]

  @Test func `without --yes an act is shown with before and after, and nothing is changed`() throws
  {
    let before = try coffer("account", "show", "ada").out
    let shown = try Finished(Self.grant, environment: environment)
    #expect(shown.code == 3)
    #expect(shown.errors == "coffer: no changes made; --yes applies them\n")
    let lines = shown.out.split(separator: "\n").map { line in
      line.split(separator: " ").joined(separator: " ")
    }
    #expect(
      lines.dropFirst() == [
        "BEFORE AFTER", "cap 1 MB 30 GB", "plan free premium",
        "reason never_subscribed granted", "grants premium", "quota - -",
        "quota_until - -",
      ])
    #expect(try coffer("account", "show", "ada").out == before)
    #expect(try coffer("audit", "list", "--actor", "carol").out.split(separator: "\n").count == 3)
  }

  @Test func `programs read the same, whether it is done or not`() throws {
    let shown = try Finished(Self.grant + ["--json"], environment: environment)
    #expect(shown.code == 3)
    #expect(shown.out.contains("\"before\":{\"cap\":1000000,\"plan\":\"free\""))
    #expect(shown.out.contains("\"after\":{\"cap\":30000000000,\"plan\":\"premium\""))
    #expect(shown.out.hasSuffix("\"done\":false,\"audit\":null}\n"))
    let done = try Finished(Self.grant + ["--json", "--yes"], environment: environment)
    #expect(done.code == 0)
    #expect(done.out.hasSuffix("\"done\":true,\"audit\":\"billing:1\"}\n"))
  }

  @Test func `what was done is in the audit log with actor, reason, before and after`() throws {
    let done = try Finished(Self.grant + ["--yes"], environment: environment)
    #expect(done.code == 0, "\(done.errors)")
    #expect(done.out.hasSuffix("\naudit  billing:1\n"))
    let listed = try coffer("audit", "list", "--account", "ada", "--json").out
    for part in [
      "\"entry\":\"billing:1\",\"at\":\"2026-03-02T09:55:00Z\",\"actor\":\"carol (Unix user ",
      "\"act\":\"entitlement grant\"", "\"reason\":\"for a talk\"",
      "\"before\":{\"cap\":1000000,", "\"after\":{\"cap\":30000000000,",
      "\"entry\":\"sync:1\"", "\"act\":\"account create\"",
    ] {
      #expect(listed.contains(part), "\(part) in \(listed)")
    }
    let shown = try coffer("audit", "show", "billing:1").out
    #expect(shown.contains("reason   for a talk\n"))
    #expect(shown.contains("cap          1 MB              30 GB\n"))
    let verified = try coffer("audit", "verify")
    #expect(verified.code == 0, "\(verified.errors)")
    let table = try coffer("audit", "list")
    #expect(table.code == 0)
    #expect(table.out.hasSuffix("\nchain    intact over all 2 entries\n"))
  }

  @Test func `notices of one account that are sent again are among the acts about it`() throws {
    try scratch.change(.billing) { transaction in
      try transaction.execute(
        "INSERT INTO billing.notice_receiver (id, url_digest) VALUES (1, 'digest')")
    }
    let done = try coffer(
      "notice", "replay", "--since", "2h", "--account", "ada", "--reason", "lost", "--yes")
    #expect(done.code == 0, "\(done.errors)")
    let listed = try coffer("audit", "list", "--account", "ada").out
    #expect(listed.contains("notice replay"), "\(listed)")
  }

  @Test func `a log that was tampered with is named at its first broken entry, code 1`() throws {
    _ = try Finished(Self.grant + ["--yes"], environment: environment)
    let head = try #require(
      try coffer("audit", "verify").out.split(separator: "\n").last?.split(separator: " ").last)
    #expect(try coffer("audit", "verify", "--head", String(head)).code == 0)
    try scratch.change(.billing) { transaction in
      try transaction.execute("UPDATE billing.audit SET reason = 'another'")
    }
    let verified = try coffer("audit", "verify", "--head", String(head))
    #expect(verified.code == 1)
    #expect(verified.errors.hasPrefix("coffer: billing:1 is not what was written there"))
    let listed = try coffer("audit", "list")
    #expect(listed.code == 1)
    #expect(listed.out.contains("\nchain    BROKEN: billing:1 is not what was written there"))
    #expect(listed.out.contains("for a talk") == false)
  }

  @Test func `what an account that exists pays by itself is transferred once it is gone`() throws {
    #expect(
      try coffer(
        "account", "create", "--username", "bob", "--public-key",
        "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="
      ).code == 0)
    func write(_ statement: String, owning schema: Schema) throws {
      try scratch.change(schema) { try $0.execute(statement) }
    }
    let shown = try coffer("account", "show", "ada", "--json").out
    let ada = try #require(shown.firstMatch(of: #/"account":"([^"]*)"/#)).1
    try write(
      """
      INSERT INTO billing.subscriptions (object, environment, owner_evidence, label,
        label_without_access, will_renew, dirty, coverage, policy_version, catalogue_version,
        transition_count, updated_ms)
      VALUES ('btcpay:live:prepaid:\(ada)', 'live', 'none', 'pending', 'pending', 0, 0,
        '{"intervals":[],"alarms":[],"endings":[]}', '', '', 0, 0)
      """, owning: .billing)
    let transfer = [
      "subscription", "transfer", "btcpay:live:prepaid:\(ada)", "bob", "--reason", "n", "--yes",
    ]
    let refused = try Finished(transfer, environment: environment)
    #expect(refused.code == 1)
    #expect(
      refused.errors.contains(" (ada) pays at the BTCPay server, later payments too"))
    #expect(refused.errors.contains("--plan <id> --until <time> gives time for it"))
    try write(
      """
      INSERT INTO sync.account_deletions (account_id, asked_ms, erase_ms, begun_ms, erased_ms)
      SELECT id, 1, 2, 3, 4 FROM sync.accounts WHERE username = 'ada'
      """, owning: .sync)
    let done = try Finished(transfer, environment: environment)
    #expect(done.code == 0, "\(done.errors)")
  }

  /// The settings for another database, which has an account.
  private func environment(of database: ScratchDatabase) throws -> [String: String] {
    var environment = environment
    environment["COFFER_DATABASE"] = database.setting
    #expect(try Finished(["migrate"], environment: environment).code == 0)
    #expect(try createAda(environment).code == 0)
    return environment
  }

  @Test(arguments: TestEngine.available)
  func `every list answers while there is nothing, on both engines`(_ engine: TestEngine) throws {
    let database = try ScratchDatabase(engine)
    let environment = try environment(of: database)
    let lists = [
      ["account", "list"], ["attention"], ["audit", "list"], ["audit", "list", "--account", "ada"],
      ["deletion", "list"], ["event", "list"], ["event", "list", "--account", "ada"],
      ["flow", "list"], ["flow", "list", "--account", "ada"], ["invite", "list"], ["jobs", "list"],
      ["notice", "list"], ["plan", "history"], ["reconcile", "list"],
      ["reconcile", "list", "--repaired"], ["refund", "questions"],
      ["refund", "questions", "--account", "ada"], ["webhook", "proofs"],
    ]
    for words in lists {
      let listed = try Finished(words, environment: environment)
      #expect(listed.code == 0, "\(words): \(listed.errors)")
    }
  }

  @Test(arguments: TestEngine.available)
  func `an act and its entry are one, on both engines`(_ engine: TestEngine) throws {
    let database = try ScratchDatabase(engine)
    let environment = try environment(of: database)
    let refused = [
      "entitlement", "revoke", "ada", "--grant", "00000000-0000-4000-8000-000000000001",
      "--reason", "n", "--yes",
    ]
    #expect(try Finished(refused, environment: environment).code == 1)
    #expect(try Finished(Self.grant, environment: environment).code == 3)
    for until in [[], ["--until", "30d"]] {
      let done = try Finished(Self.grant + until + ["--yes"], environment: environment)
      #expect(done.code == 0, "\(done.errors)")
    }
    let verified = try Finished(["audit", "verify", "--json"], environment: environment).out
    #expect(verified.contains("{\"log\":\"sync\",\"entries\":1,"))
    #expect(verified.contains("{\"log\":\"billing\",\"entries\":2,"))
    #expect(verified.contains("\"faults\":[]"))
  }

  @Test func `what changes nothing is refused in one line, and logged nowhere`() throws {
    let granted = try Finished(Self.grant + ["--yes", "--json"], environment: environment)
    let grant = try #require(granted.out.firstMatch(of: #/"grant":"([^"]+)"/#)).1
    let quota = ["quota", "set", "ada", "2TB", "--until", "2027-01-01", "--reason", "n", "--yes"]
    #expect(try Finished(quota, environment: environment).code == 0)
    func refused(_ words: [String]) throws -> String {
      let refused = try Finished(words, environment: environment)
      #expect(refused.code == 1, "\(words)")
      #expect(refused.errors.split(separator: "\n").count == 1)
      return refused.errors
    }
    let again = try refused(Self.grant + ["--yes"])
    #expect(again.hasSuffix(" has premium without end: grant \(grant)\n"), "\(again)")
    let free = try refused([
      "entitlement", "grant", "ada", "--plan", "free", "--reason", "n", "--yes",
    ])
    #expect(free == "coffer: every account has the plan free\n")
    #expect(
      try refused(quota).hasSuffix(" has that quota already, since 2026-03-02T09:55:00Z\n"))
    let revoke = [
      "entitlement", "revoke", "ada", "--grant", String(grant), "--reason", "n", "--yes",
    ]
    #expect(try Finished(revoke, environment: environment).code == 0)
    #expect(
      try refused(revoke)
        == "coffer: grant \(grant) was revoked on 2026-03-02T09:55:00Z\n")
    let verified = try coffer("audit", "verify", "--json").out
    #expect(verified.contains("{\"log\":\"billing\",\"entries\":3,"))
  }

  @Test(arguments: [("y", true), ("n", false), ("", false)])
  func `a terminal is asked`(answer: String, isDone: Bool) throws {
    // script(1) of Debian's bsdutils provides a terminal for the command.
    let command = ([Binaries.directory + "/coffer"] + Self.grant).map { "'\($0)'" }
    let line = "echo '\(answer)' | script -qec \"\(command.joined(separator: " "))\" /dev/null"
    var variables = environment
    variables["PATH"] = "/usr/bin:/bin"
    let asked = try Finished(path: "/bin/sh", ["-c", line], environment: variables)
    #expect(asked.out.contains("do it? [y/N]"), "\(asked.out)\(asked.errors)")
    #expect(asked.code == (isDone ? 0 : 3))
    let plan = try coffer("account", "show", "ada", "--json").out
    #expect(plan.contains("\"plan\":\"premium\"") == isDone)
  }

  @Test func `what was shown long ago is not done`() throws {
    let command = ([Binaries.directory + "/coffer"] + Self.grant).map { "'\($0)'" }
    // Answers after the question has appeared and the clock has advanced.
    let line = """
      (until grep -q 'do it' out; do sleep 0.1; done; echo 1772445361000 >clock; echo y) |
      script -qefc "\(command.joined(separator: " "))" out
      """
    var variables = environment
    variables["PATH"] = "/usr/bin:/bin"
    let asked = try Finished(
      path: "/bin/sh", ["-c", "cd '\(scratch.path)'; touch out; \(line)"], environment: variables)
    #expect(asked.code == 1)
    #expect(
      asked.out.contains("coffer: it was shown more than a minute ago; look again"),
      "\(asked.out)\(asked.errors)")
    #expect(try coffer("account", "show", "ada", "--json").out.contains("\"plan\":\"free\""))
  }

  /// The actor of the newest entry.
  private func actor(_ variables: [String: String]) throws -> String {
    var environment = environment
    environment["COFFER_ACTOR"] = nil
    for (name, value) in variables { environment[name] = value }
    let made = try Finished(["invite", "create"], environment: environment)
    #expect(made.code == 0, "\(made.errors)")
    let listed = try Finished(
      ["audit", "list", "--limit", "1", "--json"], environment: environment)
    let rest = try #require(listed.out.firstRange(of: "\"actor\":\""))
    return String(listed.out[rest.upperBound...].prefix { $0 != "\"" })
  }

  @Test func `who never did anything is said not to be known, and who called sudo is found`() throws
  {
    _ = try actor(["SUDO_USER": "dave"])
    let found = try coffer("audit", "list", "--actor", "dave")
    #expect(found.out.contains("invite create") && found.errors.isEmpty)
    let nobody = try coffer("audit", "list", "--actor", "mallory")
    #expect(nobody.code == 0)
    #expect(nobody.errors == "coffer: no acts of mallory are known\n")
  }

  @Test func `an actor is the name given, a certificate's or the Unix user, with sudo beside it`()
    throws
  {
    let user = try actor([:])
    #expect(!user.isEmpty && !user.contains("("))
    #expect(
      try actor(["COFFER_ACTOR": "carol@example.com"]) == "carol@example.com (Unix user \(user))")
    // The user who called sudo is the actor, and is found by that name.
    #expect(try actor(["SUDO_USER": "dave"]) == "dave (sudo, Unix user \(user))")
    func member(_ bytes: [UInt8]) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: bytes.count >> (24 - 8 * $0)) } + bytes
    }
    let type = "ssh-ed25519-cert-v01@openssh.com"
    let certificate =
      member(Array(type.utf8)) + member([1, 2, 3]) + member([UInt8](repeating: 7, count: 32))
      + [0, 0, 0, 0, 0, 0, 0, 9] + [0, 0, 0, 1] + member(Array("erin@example.com".utf8)) + [0, 0]
    let path = try scratch.write(
      "publickey \(type) \(Base64.standard.encode(certificate))\n", to: "auth")
    #expect(
      try actor(["SSH_USER_AUTH": path])
        == "erin@example.com (SSH certificate, Unix user \(user))")
    let cut = try scratch.write(
      "publickey \(type) \(Base64.standard.encode(Array(certificate.prefix(60))))\n", to: "cut")
    #expect(try actor(["SSH_USER_AUTH": cut]) == user)
  }

  @Test func `an actor that is no name is a wrong configuration`() throws {
    var environment = environment
    for name in ["   ", "a\nb", String(repeating: "a", count: 101)] {
      environment["COFFER_ACTOR"] = name
      #expect(try Finished(["invite", "create"], environment: environment).code == 78)
    }
  }
}
