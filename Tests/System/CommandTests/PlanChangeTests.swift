import Base
import RecordedStories
import TestEngines
import TestFiles
import Testing

/// Another catalogue, for an installation on which Ada has bought premium.
struct PlanChangeTests {
  private static let story = RecordedStory.all.first {
    $0.name == "stripe/2025-03-31.basil/first-purchase"
  }!

  private let scratch: ScratchDirectory
  private let environment: [String: String]
  private let billing: Running
  /// With a smaller premium.
  private let smaller: String

  init() throws {
    scratch = try ScratchDirectory()
    let port = Running.freePort()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_BILLING_LISTEN": "127.0.0.1:\(port)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Running.freePort())",
      "COFFER_PLANS": RecordedStory.cataloguePath,
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
      "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_test",
      "COFFER_MODE": "test", "COFFER_TEST_CLOCK": scratch.path + "/clock",
    ]
    let text = String(decoding: RecordedStory.catalogue, as: UTF8.self)
    smaller = try scratch.write(
      text.replacing("fixtures-1", with: "smaller-2").replacing("30000000000", with: "20000000000"),
      to: "smaller.json")
    try Files.write("1772445300000\n", to: scratch.path + "/clock")
    billing = try Running("coffer-billing", environment: environment, port: port)
    #expect(
      try coffer(
        "account", "create", "--id", Self.story.account.description, "--username", "ada",
        "--public-key", "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
      ).code == 0)
    for (second, delivery) in [
      (1_772_445_604, "02-checkout.session.completed.http"),
      (1_772_445_605, "03-customer.subscription.created.http"),
      (1_772_445_606, "04-invoice.paid.http"),
    ] {
      try Files.write("\(second)000\n", to: scratch.path + "/clock")
      let path = "\(RecordedStory.folder)/\(Self.story.name)/\(delivery)"
      #expect(try coffer("webhook", "send", path).code == 0)
    }
  }

  private func coffer(_ words: String...) throws -> Finished {
    try Finished(words, environment: environment)
  }

  /// The settings without the file, so that the one of record holds.
  private func unnamed() -> [String: String] {
    var environment = environment
    environment["COFFER_PLANS"] = nil
    return environment
  }

  @Test func `another fee for each record is told with what it takes`() throws {
    let dearer = try scratch.write(
      String(decoding: RecordedStory.catalogue, as: UTF8.self)
        .replacing("fixtures-1", with: "dearer-2")
        .replacing(#""metadata_fee_bytes": 1000"#, with: #""metadata_fee_bytes": 2000"#),
      to: "dearer.json")
    let found = try coffer("plan", "diff", dearer)
    #expect(found.out.contains("each record costs 2000 bytes instead of 1000"), "\(found.errors)")
    #expect(found.out.contains("coffer usage recount --all"))
    let json = try coffer("plan", "diff", dearer, "--json").out
    #expect(json.contains(#""fee_before":1000,"fee_after":2000"#))
  }

  @Test func `who would lose is told before anything changes`() throws {
    let before = try coffer("account", "list").out
    let found = try coffer("plan", "diff", smaller)
    #expect(found.code == 0, "\(found.errors)")
    #expect(found.out.contains("premium   30 GB   20 GB"))
    #expect(found.out.contains("accounts compared: 1; 1 lose, 0 gain, 0 keep"))
    #expect(found.out.contains("30 GB premium subscribed  20 GB premium subscribed"))
    #expect(try coffer("account", "list").out == before)
    let same = try coffer("plan", "diff", RecordedStory.cataloguePath)
    #expect(same.out.contains("accounts compared: 1; 0 lose, 0 gain, 0 keep"))
  }

  @Test func `an applied catalogue holds at once, for servers that run and programs without one`()
    throws
  {
    let shown = try coffer("plan", "apply", smaller, "--reason", "dearer disks")
    #expect(shown.code == 3)
    #expect(try coffer("account", "list").out.contains("30 GB  premium"))
    let applied = try coffer("plan", "apply", smaller, "--reason", "dearer disks", "--yes")
    #expect(applied.code == 0, "\(applied.errors)")
    #expect(
      applied.errors.contains("COFFER_PLANS (environment) names another one, fixtures-1"),
      "\(applied.errors)")
    let refused = try coffer("account", "list")
    #expect(refused.code == 78 && refused.errors.contains("or take the setting out"))
    #expect(try coffer("jobs", "list").code == 0)
    let plans = try coffer("plan", "list")
    #expect(plans.out.contains("20 GB") && plans.errors.contains("names another one"))
    let listed = try Finished(["account", "list"], environment: unnamed())
    #expect(listed.out.contains("20 GB  premium  subscribed"), "\(listed.errors)")
    // A redelivery is derived under the new one by the server that still has the old file.
    let path = "\(RecordedStory.folder)/\(Self.story.name)/04-invoice.paid.http"
    #expect(try Finished(["webhook", "send", path], environment: unnamed()).code == 0)
    #expect(
      try Finished(["account", "list"], environment: unnamed()).out.contains("20 GB  premium"))
    let history = try coffer("plan", "history").out.split(separator: "\n").map { line in
      line.split(separator: " ").prefix(3).joined(separator: " ")
    }
    #expect(
      history == [
        "NUMBER SINCE VERSION", "2 2026-03-02T10:00:06Z smaller-2",
        "1 2026-03-02T09:55:00Z fixtures-1",
      ])
    let again = try coffer("plan", "apply", smaller, "--reason", "dearer disks", "--yes")
    #expect(again.out == "smaller-2 is the catalogue of record already\n")
  }

  @Test(arguments: ["coffer-sync", "coffer-billing", "coffer"])
  func `a program with another file than the one of record ends with both digests, code 78`(
    program: String
  ) throws {
    var other = environment
    other["COFFER_PLANS"] = smaller
    other["COFFER_BILLING_LISTEN"] = "127.0.0.1:\(Running.freePort())"
    other["COFFER_SYNC_LISTEN"] = "127.0.0.1:\(Running.freePort())"
    other["COFFER_SYNC_AUTHORITIES"] = "localhost"
    other["COFFER_OBJECTS"] = "file://\(scratch.path)/objects"
    let refused = try Finished(
      program, program == "coffer" ? ["account", "list"] : [], environment: other)
    #expect(refused.code == 78)
    let lines = refused.errors.split(separator: "\n").filter { $0.hasPrefix("\(program): ") }
    #expect(lines.count == 3)
    #expect(lines[0].contains("is the catalogue smaller-2, digest "))
    #expect(lines[1].contains("the catalogue of record is fixtures-1, digest "))
    #expect(lines[0].suffix(64) != lines[1].suffix(64))
  }

  @Test func `a file that is no catalogue is refused`() throws {
    let path = try scratch.write("{\"version\":1}", to: "broken.json")
    for command in ["diff", "apply"] {
      let reason = command == "apply" ? ["--reason", "n"] : []
      let refused = try Finished(["plan", command, path] + reason, environment: environment)
      #expect(refused.code == 1)
      #expect(refused.errors.hasPrefix("coffer: \(path) $.version: "))
    }
  }
}
