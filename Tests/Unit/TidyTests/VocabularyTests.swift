import TestFiles
import Testing

/// One word for each thing (docs/glossary.md): replaced words do not come back.
@Suite struct VocabularyTests {
  /// The replacement of each word. Some were good words that had two meanings here.
  private static let replaced: [Substring: String] = [
    "partition": "environment", "partitions": "environment", "Partition": "environment",
    "realm": "environment", "realms": "environment", "GrantingEnvironment": "StoreEnvironment",
    "DecodedSource": "DecodedDelivery", "PreparedSource": "PreparedDelivery",
    "SourceRow": "DeliveryRow", "source_id": "delivery", "sourceID": "delivery",
    "last_source": "last_number", "generation": "read number", "generations": "epochs",
    "Generations": "Epochs", "hint": "read request", "hints": "read requests",
    "Hint": "ReadRequest", "Hints": "read requests", "Standing": "PaymentStatus",
    "standing": "current", "takings": "reversals", "Taking": "Reversal", "Break": "Boundary",
    "Judge": "BatchRules", "Upsert": "BatchWriter", "Forest": "AncestorTree",
    "Told": "StoryRun", "till": "sales oracle", "Till": "sales oracle",
    "StripeClosure": "StripeRecord", "AppleClosure": "AppleRecord",
    "GoogleClosure": "GoogleRecord",
  ]

  /// The same for words that are good elsewhere.
  private static let replacedParts = [
    "billing.sources": "billing.deliveries", "billing.hints": "billing.read_requests",
    "billing.turn": "billing.sequence", "Jobs.need(": "Jobs.request(",
    "Quota.decide": "Quota.admission", "Quota.Decision": "Quota.Admission",
    "ContentUpload.Decision": "ContentUpload.Reception", ".taking": ".reversal",
    ".breaks": ".boundaries",
  ]

  private static func findings(in text: String) -> [String] {
    // RFC 9110 defines its own `realm=`.
    let words = Set(text.replacing("realm=", with: "=").split { !$0.isLetter && $0 != "_" })
    return words.compactMap { word in replaced[word].map { "\(word): say \($0)" } }
      + replacedParts.filter { text.contains($0.key) }.map { "\($0.key): say \($0.value)" }
  }

  private static var paths: [String] {
    let folders = ["Sources", "Benchmarks", "Tests", "docs"]
    let files = folders.flatMap { folder in
      Files.paths(under: "\(Files.repository)/\(folder)").map { "\(folder)/\($0)" }
    }
    let documents = ["ARCHITECTURE", "CONTRIBUTING", "README", "THREATS", "webhooks/README"]
    return files.filter { path in
      (path.hasSuffix(".swift") || path.hasSuffix(".md"))
        && path != "Tests/Unit/TidyTests/VocabularyTests.swift"
    } + documents.map { $0 + ".md" }
  }

  @Test func `a word that was replaced is used no more`() throws {
    let paths = Self.paths
    #expect(paths.count > 500)
    for path in paths {
      let text = try #require(Files.text("\(Files.repository)/\(path)"))
      for finding in Self.findings(in: text) { Issue.record("\(path) has \(finding)") }
    }
  }

  @Test func `a word that was replaced is found`() {
    for text in [
      "let partition: Environment", "SELECT realm FROM", "DecodedSource(", "of that generation.",
      "a hint, to read", "try Jobs.need(", "if standing == .good", "line.taking", "schedule.breaks",
      "struct Forest {", "the till says",
    ] {
      #expect(!Self.findings(in: text).isEmpty, "\(text)")
    }
    #expect(Self.findings(in: "Bearer realm=\"coffer\", partitioned").isEmpty)
  }

  @Test func `the glossary is in the order of the alphabet, each word once`() throws {
    let glossary = try #require(SourceFile("docs/glossary.md")).text
    let words = glossary.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map {
      $0.dropFirst(2).prefix { $0 != "|" }.lowercased()
    }
    #expect(words.count > 40)
    #expect(words == words.sorted())
    #expect(Set(words).count == words.count)
  }
}
