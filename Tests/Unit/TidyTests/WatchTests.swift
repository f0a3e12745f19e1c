import TestFiles
import Testing

/// Everything that ops/watch watches exists, and each alert explains what to do.
@Suite struct WatchTests {
  private static let rules = "ops/watch/rules.yml"

  private static func text(_ path: String) throws -> String {
    try #require(Files.text("\(Files.repository)/\(path)"), "\(path)")
  }

  @Test func `each alert has its runbook, and each runbook its alert`() throws {
    let alerts = try Self.text(Self.rules).matches(of: #/- alert: (\w+)/#).map { String($0.1) }
    #expect(alerts.count > 10)
    #expect(Set(alerts).count == alerts.count)
    let pages = Files.paths(under: "\(Files.repository)/ops/runbooks")
    #expect(Set(pages) == Set(alerts.map { "\($0).md" }))
    for alert in alerts {
      #expect(
        try Self.text(Self.rules).contains(
          "runbook: /usr/share/doc/coffer/runbooks/\(alert).md\n"), "where ops/package puts it")
      let page = try Self.text("ops/runbooks/\(alert).md")
      #expect(page.hasPrefix("# \(alert)\n"))
      #expect(page.contains("\n## Look\n") && page.contains("\n## Do\n"), "\(alert)")
    }
  }

  /// Code on two lines, when pasted, runs as two commands.
  @Test func `what is to be pasted stands on one line`() throws {
    let pages = Files.paths(under: "\(Files.repository)/ops/runbooks").map { "ops/runbooks/\($0)" }
    let manual = ["operating", "commands", "cookbook", "backups"].map { "docs/\($0).md" }
    for path in pages + manual {
      let text = try Self.text(path).replacing(#/(?m)^ *```[^`]*```$/#, with: "")
      // Every second part is between backticks.
      let spans = text.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        .filter { $0.offset % 2 == 1 && $0.element.contains("\n") }
      #expect(spans.map(\.element) == [], "\(path)")
    }
  }

  @Test(arguments: [rules, "ops/watch/dashboard.json"])
  func `each metric that is watched is one that the programs tell`(path: String) throws {
    let known = Set(
      try Self.text("docs/metrics.md").matches(of: #/\| `(coffer_\w+)` \|/#).map { String($0.1) })
    #expect(known.count > 40)
    let named = try Self.text(path).matches(of: #/\bcoffer_\w+/#).map { match in
      let name = String(match.output)
      let parts = ["_bucket", "_sum", "_count"]
      return parts.first { name.hasSuffix($0) && !known.contains(name) }
        .map { String(name.dropLast($0.count)) } ?? name
    }
    #expect(named.count > 10)
    for name in Set(named) { #expect(known.contains(name), "\(path) names \(name)") }
  }

  @Test func `every alarm is explained to whoever gets it`() throws {
    let source = try Self.text("Sources/Billing/Ledger/Rows/AlarmName.swift")
    let list = try #require(source.split(separator: "enum AlarmName: String").last)
      .prefix { $0 != "}" }
    let pages =
      try Self.text("ops/runbooks/CofferAlarm.md")
      + Self.text("ops/runbooks/CofferUrgentAlarm.md")
    let names = list.matches(of: #/case (\w+)(?: = "(\w+)")?/#).map { $0.2 ?? $0.1 }
    #expect(names.count > 10)
    for name in names { #expect(pages.contains("`\(name)`"), "\(name)") }
  }
}
