import TestFiles
import Testing

/// The style of documents: short sentences, an example at the beginning, links that work.
@Suite struct ProseTests {
  /// Pages whose sentences are still longer. Do not add any.
  private static let long = ["performance"]

  private static let pages = Files.paths(under: "\(Files.repository)/docs")
    .filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }.sorted()

  private static func text(_ page: String) throws -> String {
    try #require(Files.text("\(Files.repository)/docs/\(page).md"))
  }

  @Test(arguments: pages.filter { !long.contains($0) })
  func `no sentence has more than 35 words`(page: String) throws {
    for sentence in Self.sentences(in: try Self.text(page)) {
      let count = sentence.split(separator: " ").count
      #expect(count <= 35, "\(count) words: \(sentence)")
    }
  }

  @Test(arguments: ["README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "THREATS"])
  func `nor has one of the pages at the root`(page: String) throws {
    for sentence in Self.sentences(in: try Self.text("../\(page)")) {
      let count = sentence.split(separator: " ").count
      #expect(count <= 35, "\(count) words: \(sentence)")
    }
  }

  @Test func `a sentence of more than 35 words is found`() {
    let long = Array(repeating: "word", count: 36).joined(separator: " ")
    #expect(
      Self.sentences(in: "One. \(long).\n\n- two").map { $0.split(separator: " ").count }.max()
        == 36)
    #expect(Self.sentences(in: "```\n\(long)\n```\n| \(long) |").isEmpty)
  }

  @Test(arguments: pages)
  func `a link leads to a page and to a heading of it`(page: String) throws {
    for match in try Self.text(page).matches(of: #/\]\(([^):]*)\)/#) {
      let parts = match.1.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
      let path = parts[0].isEmpty ? "\(page).md" : String(parts[0])
      let target = Files.text("\(Files.repository)/docs/\(path)")
      guard parts.count == 2 else {
        #expect(
          target != nil || Files.permissions("\(Files.repository)/docs/\(path)") != nil,
          "\(match.1)")
        continue
      }
      let headings = Self.headings(of: try #require(target, "\(match.1)"))
      #expect(headings.contains(String(parts[1])), "\(match.1)")
    }
  }

  /// The sentences outside of code blocks, tables and HTML comments.
  private static func sentences(in text: String) -> [String] {
    let prose = text.replacing(#/(?s)```.*?```/#, with: "").replacing(#/(?s)<!--.*?-->/#, with: "")
    let lines = prose.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let begins = line.hasPrefix("#") || line.firstMatch(of: #/^\s*([-*]|\d+\.) /#) != nil
      return line.hasPrefix("|") ? "" : begins ? "\n\(line)" : String(line)
    }
    return lines.joined(separator: "\n").split(separator: "\n\n").flatMap { paragraph in
      paragraph.replacing("\n", with: " ").split(separator: #/[.!?:] /#).map(String.init)
        .filter { $0.contains(where: \.isLetter) }
    }
  }

  /// The headings as GitHub names their anchors.
  private static func headings(of text: String) -> Set<String> {
    Set(
      text.split(separator: "\n").filter { $0.hasPrefix("#") }.map { line in
        String(
          line.drop { $0 == "#" || $0 == " " }.lowercased()
            .filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
            .map { $0 == " " ? "-" : $0 })
      })
  }
}
