import Base
import Configuration
import Goldens
import HTTPClient
import LocalServer
import Testing

/// docs/metrics.md is generated from the programs' metrics.
@Suite struct MetricsDocumentTests {
  /// A family of the text format, and the labels of its instruments.
  private struct Family: Hashable {
    let name: String
    let type: String
    let help: String
    var labels: Set<String> = []
  }

  @Test func `the table of metrics is what the programs tell`() throws {
    // Every store is on, and the push gateway, so that all metrics appear.
    let installation = try Installation(settings: [
      "COFFER_STRIPE_API_KEY": "sk_test_1", "COFFER_STRIPE_API_URL": "http://127.0.0.1:1",
      "COFFER_APPLE_BUNDLE_ID": "com.example.coffer",
      "COFFER_BILLING_AUTHORITIES": Installation.authority,
      "COFFER_PUSH_URL": "http://127.0.0.1:1",
      "COFFER_PUSH_SECRETS": "whsec_\(Base64.standard.encode([UInt8](repeating: 7, count: 32)))",
    ])
    var rows: [String: (family: Family, programs: [String])] = [:]
    for program in [Program.sync, .billing] {
      let port = Ports.free()
      let server = try installation.launch(
        program, settings: ["COFFER_METRICS_LISTEN": "127.0.0.1:\(port)"])
      try server.waitUntilReady()
      let client = HTTPClient()
      if program == .billing {
        // Refusals are counted by their reasons, once they occur.
        _ = try client.send(
          "POST", server.url + "/webhooks/stripe", body: Array("{}".utf8), timeout: .seconds(10))
      }
      let page = try client.send("GET", "http://127.0.0.1:\(port)/metrics", timeout: .seconds(10))
      for family in Self.families(String(decoding: page.body, as: UTF8.self)) {
        rows[family.name, default: (family, [])].programs.append(program.rawValue)
      }
      #expect(server.stop() == .exited(0))
    }
    #expect(rows.count > 40)
    let table = rows.values.sorted { $0.family.name < $1.family.name }.map { row in
      let labels = row.family.labels.sorted().map { "`\($0)`" }.joined(separator: ", ")
      let help = row.family.help.hasSuffix(".") ? row.family.help : row.family.help + "."
      return "| `\(row.family.name)` | \(row.family.type) | \(labels) "
        + "| \(row.programs.joined(separator: ", ")) | \(help) |\n"
    }.joined()
    try expectBlock(
      "metrics", of: "docs/metrics.md",
      "| metric | type | labels | program | meaning |\n|---|---|---|---|---|\n" + table)
  }

  private static func families(_ text: String) -> [Family] {
    var families: [Family] = []
    var help = ""
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 3)
      switch words.prefix(2) {
      case ["#", "HELP"]: help = String(words[3])
      case ["#", "TYPE"]:
        families.append(Family(name: String(words[2]), type: String(words[3]), help: help))
      default:
        for match in line.matches(of: #/[{,]([a-z_]+)="/#) where match.1 != "le" {
          families[families.count - 1].labels.insert(String(match.1))
        }
      }
    }
    return families
  }
}
