import LocalServer
import Objects
import RecordedStories
import Storage
import TestEngines
import TestFiles
import Testing

/// Another catalogue for an installation in which Ada has bought premium.
struct PlanChangeTests: CommandSuite {
  private static let story = RecordedStory.all.first {
    $0.name == "stripe/2025-03-31.basil/first-purchase"
  }!

  private let scratch: ScratchDirectory
  let environment: [String: String]
  private let billing: Running
  /// A catalogue with a smaller premium.
  private let smaller: String

  init() throws {
    let shop = try FirstPurchase()
    (scratch, environment, billing) = (shop.scratch, shop.environment, shop.billing)
    let text = String(decoding: RecordedStory.catalogue, as: UTF8.self)
    smaller = try scratch.write(
      text.replacing("fixtures-1", with: "smaller-2").replacing("30000000000", with: "20000000000"),
      to: "smaller.json")
  }

  /// The settings without the file, so that the catalogue of record applies.
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

  @Test func `a price that changes is told before it is applied`() throws {
    let dearer = try scratch.write(
      String(decoding: RecordedStory.catalogue, as: UTF8.self)
        .replacing("fixtures-1", with: "dearer-2")
        .replacing(#""amount": 299,"#, with: #""amount": 499,"#),
      to: "dearer.json")
    let found = try coffer("plan", "diff", dearer)
    let lines = found.out.split(separator: "\n").map { line in
      line.split(separator: " ").joined(separator: " ")
    }
    let table = lines.drop { $0 != "prices:" }.dropFirst().prefix(2)
    #expect(table.first == "PLAN BEFORE AFTER", "\(found.out)\(found.errors)")
    #expect(
      table.last?.contains("2.99 USD/month") == true
        && table.last?.contains("4.99 USD/month") == true)
    #expect(!found.out.contains("restart coffer-sync"))
    let json = try coffer("plan", "diff", dearer, "--json").out
    #expect(json.contains(#""prices":[{"plan":"premium","before":[{"amount":299,"#), "\(json)")
  }

  @Test func `a changed free plan is told with the restart that it takes`() throws {
    let freer = try scratch.write(
      String(decoding: RecordedStory.catalogue, as: UTF8.self)
        .replacing("fixtures-1", with: "freer-2")
        .replacing(#""bytes": 1000000\#n"#, with: #""bytes": 2000000\#n"#),
      to: "freer.json")
    let sentence =
      "restart coffer-sync, which uses the old values of these until then: the free plan, "
      + "the plans that it offers to full accounts\n"
    #expect(try coffer("plan", "diff", freer).out.contains("once it is applied " + sentence))
    let applied = try coffer("plan", "apply", freer, "--reason", "more for all", "--yes")
    #expect(applied.out.hasSuffix("\n" + sentence), "\(applied.out)\(applied.errors)")
  }

  @Test func `who keeps a plan that is less than the free one is told`() throws {
    let without = try scratch.write(
      #"{"version":"generous-2","free":{"id":"free","title":"Free","bytes":90000000000},"plans":[]}"#,
      to: "generous.json")
    let found = try coffer("plan", "diff", without)
    #expect(
      found.out.contains(
        "accounts that keep the plan premium, 30 GB, have less than free accounts: 90 GB\n"),
      "\(found.out)\(found.errors)")
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
      applied.errors.contains("COFFER_PLANS (environment) names another catalogue, fixtures-1"),
      "\(applied.errors)")
    let refused = try coffer("entitlement", "explain", "ada")
    #expect(refused.code == 78 && refused.errors.contains("or remove the setting"))
    #expect(try coffer("jobs", "list").code == 0)
    let plans = try coffer("plan", "list")
    #expect(plans.out.contains("20 GB") && plans.errors.contains("names another catalogue"))
    let listed = try Finished(["account", "list"], environment: unnamed())
    #expect(listed.out.contains("20 GB  premium  subscribed"), "\(listed.errors)")
    // The server that still has the old file derives a redelivery under the new one.
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

  @Test func `a catalogue that held goes back to be the one of record, to the byte`() throws {
    let digest = try Self.digest(of: try coffer("plan", "diff", smaller, "--json").out)
    #expect(
      try coffer("plan", "apply", smaller, "--reason", "dearer disks", "--yes").code == 0)
    let shown = try Finished(["plan", "show", "1"], environment: unnamed())
    #expect(shown.code == 0, "\(shown.errors)")
    #expect(shown.out == String(decoding: RecordedStory.catalogue, as: UTF8.self))
    let path = try scratch.write(shown.out, to: "back.json")
    let back = try coffer("plan", "apply", path, "--reason", "cheaper again", "--yes", "--json")
    #expect(back.out.contains("\"digest\":\"\(digest)\""), "\(back.errors)")
    let json = try coffer("plan", "show", "3", "--json").out
    #expect(json.contains("\"digest\":\"\(digest)\",\"catalogue\":{"))
    let missing = try coffer("plan", "show", "4")
    #expect(missing.code == 1)
    #expect(
      missing.errors == "coffer: there is no catalogue 4; coffer plan history lists them\n")
  }

  @Test func `a version that means another catalogue already is refused`() throws {
    let text = String(decoding: RecordedStory.catalogue, as: UTF8.self)
    let other = try scratch.write(
      text.replacing("30000000000", with: "40000000000"), to: "other.json")
    let found = try coffer("plan", "diff", other)
    #expect(found.code == 0)
    #expect(found.errors.contains("the version fixtures-1 is that of catalogue 1"))
    let refused = try coffer("plan", "apply", other, "--reason", "n", "--yes")
    #expect(refused.code == 1)
    #expect(refused.errors.contains("the version fixtures-1 is that of catalogue 1"))
  }

  @Test func `of two catalogues applied at once both are done`() throws {
    let text = String(decoding: RecordedStory.catalogue, as: UTF8.self)
    let files = try (1...2).map { number in
      try scratch.write(
        text.replacing("fixtures-1", with: "both-\(number)")
          .replacing("30000000000", with: "2\(number)000000000"), to: "both\(number).json")
    }
    let children = try files.map { file in
      try Finished.start(
        Binaries.directory + "/coffer", ["plan", "apply", file, "--reason", "n", "--yes"],
        environment, out: file + ".out", errors: file + ".errors")
    }
    let codes = try children.map { try Finished.code(of: $0) }
    #expect(codes == [0, 0], "\(files.map { Files.text($0 + ".errors") ?? "" })")
    let record = try coffer("plan", "list").out.contains("21 GB") ? 0 : 1
    let outs = files.map { Files.text($0 + ".out") ?? "" }
    for out in outs { #expect(out.contains("applied  "), "\(out)") }
    #expect(outs[record].contains("derived  "))
  }

  @Test func `a change that was broken off goes on once that is agreed to`() throws {
    var shop: FirstPurchase? = try FirstPurchase()
    let (scratch, environment) = try #require(shop.map { ($0.scratch, $0.environment) })
    // No server remains that could finish the change.
    shop = nil
    try scratch.change(.billing) { transaction in
      try transaction.execute("UPDATE billing.rules_in_force SET applied = 0")
      try transaction.execute("UPDATE billing.subscriptions SET rules = 'others'")
    }
    let words = ["plan", "apply", RecordedStory.cataloguePath, "--reason", "it was cut off"]
    let doctor = try Finished(["doctor"], environment: environment).out
    #expect(
      doctor.contains("not all subscriptions are derived under the current rules yet"), "\(doctor)")
    let shown = try Finished(words, environment: environment)
    #expect(shown.code == 3)
    #expect(shown.out.contains("all but 1 subscription"), "\(shown.out)\(shown.errors)")
    let done = try Finished(words + ["--yes"], environment: environment)
    #expect(done.code == 0, "\(done.errors)")
    #expect(done.out.hasSuffix("derived  1 subscription\n"), "\(done.out)")
    let audit = try Finished(["audit", "list", "--json"], environment: environment).out
    #expect(audit.contains("\"reason\":\"it was cut off\""))
    let again = try Finished(words + ["--yes"], environment: environment)
    #expect(again.out == "fixtures-1 is the catalogue of record already\n")
  }

  private static func digest(of difference: String) throws -> Substring {
    let name = try #require(difference.firstRange(of: "\"before\":\""))
    return difference[name.upperBound...].prefix(64)
  }

  @Test func `a catalogue whose file was never kept is not made up`() throws {
    try scratch.change(.billing) { transaction in
      try transaction.execute(
        """
        INSERT INTO billing.catalogues_of_record (number, digest, version, content, since_ms)
        SELECT 2, digest, version, substr(content, 1, $1) || '}', since_ms
        FROM billing.catalogues_of_record WHERE number = 1
        """, .integer(try Self.lengthWithoutFile(transaction)))
    }
    let refused = try coffer("plan", "show", "2")
    #expect(refused.code == 1 && refused.out.isEmpty)
    #expect(refused.errors.hasPrefix("coffer: catalogue 2, fixtures-1, was kept by an earlier"))
  }

  private static func lengthWithoutFile(_ transaction: Transaction) throws -> Int {
    let content = try transaction.first(
      "SELECT content FROM billing.catalogues_of_record WHERE number = 1"
    ) { row in try row.text(0) }
    let text = try #require(content)
    let range = try #require(text.firstRange(of: ",\"file\":"))
    return text.distance(from: text.startIndex, to: range.lowerBound)
  }

  @Test func `products that come to mean something else are told`() throws {
    let other = try scratch.write(
      String(decoding: RecordedStory.catalogue, as: UTF8.self)
        .replacing("fixtures-1", with: "other-2")
        .replacing("com.example.coffer.premium.monthly", with: "com.example.coffer.premium.weekly"),
      to: "other.json")
    let found = try coffer("plan", "diff", other)
    #expect(found.code == 0, "\(found.errors)")
    let lines = found.out.split(separator: "\n").map { line in
      line.split(separator: " ").joined(separator: " ")
    }
    let table = lines.drop { $0 != "products:" }.dropFirst().prefix(3)
    #expect(
      Array(table) == [
        "STORE PRODUCT BEFORE AFTER",
        "apple com.example.coffer.premium.monthly premium - (owners keep premium)",
        "apple com.example.coffer.premium.weekly - premium",
      ])
    let json = try coffer("plan", "diff", other, "--json").out
    #expect(
      json.contains(
        """
        "product":"com.example.coffer.premium.weekly","before":null,"after":"premium"}
        """))
  }

  @Test func `what derives nothing goes on beside another file, and doctor tells of it`() throws {
    #expect(
      try coffer("plan", "apply", smaller, "--reason", "dearer disks", "--yes").code == 0)
    let listed = try coffer("account", "list")
    #expect(listed.code == 0 && listed.out.contains("20 GB"), "\(listed.errors)")
    #expect(try coffer("account", "show", "ada").code == 0)
    #expect(try coffer("usage", "show", "ada").code == 0)
    let doctor = try coffer("doctor")
    #expect(doctor.code == 1)
    #expect(
      doctor.out.contains("catalogue    failed   COFFER_PLANS is fixtures-1"), "\(doctor.out)")
  }

  @Test func `what decides nothing by the catalogue goes on beside another file`() throws {
    #expect(
      try coffer("plan", "apply", smaller, "--reason", "dearer disks", "--yes").code == 0)
    _ = try DirectoryStore(directory: scratch.path + "/objects")
    var environment = environment
    environment["COFFER_OBJECTS"] = "file://\(scratch.path)/objects"
    for words in [
      ["backup", scratch.path + "/backups"], ["backup", "verify", scratch.path + "/backups"],
      ["tree", "validate", "--all"], ["account", "export", "ada", "--to", scratch.path + "/ada"],
      ["invite", "create"], ["invite", "list"], ["notice", "list"], ["reconcile", "list"],
      ["refund", "questions"],
    ] {
      let found = try Finished(words, environment: environment)
      #expect(found.code == 0, "\(words): \(found.errors)")
    }
  }

  @Test(arguments: ["coffer-sync", "coffer-billing", "coffer"])
  func `a program with another file than the one of record ends with both digests, code 78`(
    program: String
  ) throws {
    var other = environment
    other["COFFER_PLANS"] = smaller
    other["COFFER_BILLING_LISTEN"] = "127.0.0.1:\(Ports.free())"
    other["COFFER_SYNC_LISTEN"] = "127.0.0.1:\(Ports.free())"
    other["COFFER_SYNC_AUTHORITIES"] = "localhost"
    other["COFFER_OBJECTS"] = "file://\(scratch.path)/objects"
    let refused = try Finished(
      program, program == "coffer" ? ["entitlement", "explain", "ada"] : [], environment: other)
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
