import TestFiles
import Testing

/// Checks what comments, tests and the manifest promise.
@Suite struct PromiseTests {
  private static let sources =
    SourceFile.all(under: "Sources") + SourceFile.all(under: "Benchmarks")
  private static let tests = SourceFile.all(under: "Tests")

  /// Declarations for use from outside the programs: by tests, and by documents that are checked against the
  /// programs.
  private static let doors: Set<Substring> = [
    "fixed",  // a clock that stands still
    "interrupt",  // a statement cut off, as by a signal
    "leftovers",  // what a crash left of objects
    "repreparationCount",  // what SQLite did with a statement
    "reread",  // what a job asks for, without the job
    "markdown", "exitCodeRows",  // the documents' tables
    "customMirror", "debugDescription",  // protocols of the standard library
  ]

  @Test func `whatever is declared is used by a program`() {
    var counts: [Substring: Int] = [:]
    var declarations: [Substring: (count: Int, path: String)] = [:]
    for file in Self.sources {
      for line in file.codeLines {
        let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        for word in words { counts[word, default: 0] += 1 }
        for (keyword, name) in zip(words, words.dropFirst())
        where Self.keywords.contains(keyword) && line.contains("\(keyword) \(name)") {
          declarations[name, default: (0, file.path)].count += 1
        }
      }
    }
    #expect(declarations.count > 2000)
    for (name, declared) in declarations where !Self.doors.contains(name) {
      #expect(counts[name] != declared.count, "\(name) in \(declared.path) is used by no program")
    }
  }

  private static let keywords: Set<Substring> = [
    "func", "var", "let", "struct", "enum", "class", "protocol", "typealias",
  ]

  @Test func `an expectation can fail`() {
    for file in Self.tests where !file.path.hasPrefix("Tests/Unit/TidyTests/") {
      for line in file.codeLines where line.contains("#expect") {
        #expect(line.firstMatch(of: #/\?\? ([^ )]+) == \1\b/#) == nil, "\(file.path): \(line)")
        #expect(!line.contains("#expect(true"), "\(file.path): \(line)")
      }
    }
  }

  @Test func `a test poisons each queue of coffer-sync`() {
    var words: Set<Substring> = []
    for file in Self.tests where file.path.hasPrefix("Tests/Unit/SyncTests/") {
      guard file.path.contains("/Failing") || file.path.contains("/Poisoned") else { continue }
      words.formUnion(file.text.split { !$0.isLetter && $0 != "_" })
    }
    var count = 0
    for file in Self.sources where file.text.contains("FailingItems.Queue") {
      for match in file.text.matches(of: #/(?:Queue|= Self)\("([a-z_]+)"\)/#) {
        count += 1
        #expect(words.contains(match.1), "\(match.1) of \(file.path)")
      }
    }
    #expect(count >= 19)
  }

  @Test func `a comment cites only what is in the repository or on the web`() {
    let private_ = ["fact sheet", "the ledger's section", "design/", "foundations.md"]
    for file in Self.sources + Self.tests where !file.path.hasPrefix("Tests/Unit/TidyTests/") {
      for line in file.text.split(separator: "\n") {
        for words in private_ { #expect(!line.contains(words), "\(file.path): \(line)") }
        guard line.contains("//"), !line.contains("https://") else { continue }
        for match in line.matches(of: #/[A-Za-z_\/-]+\.md\b/#) {
          let name = String(match.output)
          #expect(Self.isThere(name, beside: file.path), "\(file.path) cites \(name)")
        }
      }
    }
  }

  private static func isThere(_ name: String, beside path: String) -> Bool {
    let folder = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
    return SourceFile(name) != nil || SourceFile("\(folder)/\(name)") != nil
  }

  @Test func `the README is short, and a document links to what is there`() throws {
    let documents =
      ["README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "THIRD-PARTY", "THREATS"].map {
        "\($0).md"
      }
      + Files.paths(under: "\(Files.repository)/docs").filter { $0.hasSuffix(".md") }
      .map { "docs/\($0)" }
    let readme = try #require(SourceFile("README.md")).text
    #expect(readme.utf8.count <= 8192)
    for path in documents {
      let text = try #require(SourceFile(path), "\(path)").text
      for match in text.matches(of: #/\]\(([^)#:]+)\)/#) {
        let name = String(match.1)
        #expect(Self.isThere(name, beside: path), "\(path) links to \(name)")
      }
      let isListed = readme.contains("(\(path))") || path == "docs/adding-a-store.md"
      #expect(path == "README.md" || isListed, "the README omits \(path)")
    }
  }

  @Test func `what the bench measures has a region of its own among the figures`() throws {
    let text = try #require(SourceFile("docs/performance.md")).text
    let options = try #require(SourceFile("Benchmarks/bench/Program/Options.swift")).text
    let line = try #require(options.firstMatch(of: #/enum Subject: .* \{\s+case ([^\n]*)\n/#))
    let subjects = line.1.split(separator: ", ")
    #expect(subjects.count >= 6)
    for subject in subjects {
      let begins = text.ranges(of: "\n<!-- ops/bench \(subject) -->\n")
      let begin = try #require(begins.first, "docs/performance.md has no region of \(subject)")
      #expect(begins.count == 1, "docs/performance.md has more than one region of \(subject)")
      let rest = text[begin.upperBound...]
      let end = try #require(rest.firstRange(of: "<!-- end -->"), "\(subject) has no end")
      #expect(!rest[..<end.lowerBound].contains("<!-- "), "a region begins within \(subject)")
    }
  }

  @Test func `the bench times every question of the cookbook`() throws {
    let cookbook = try #require(SourceFile("docs/cookbook.md")).text
    let bench = try #require(SourceFile("Benchmarks/bench/Questions/Question.swift")).text
    let questions = cookbook.matches(of: #/\n### (.+)/#).map(\.1)
    #expect(questions.count >= 30)
    for question in questions { #expect(bench.contains("\"\(question)\""), "\(question)") }
  }

  @Test func `a refusal of the sync API gets its status in its room of refusals`() {
    for file in Self.sources
    where file.path.hasPrefix("Sources/Sync/") || file.path.hasPrefix("Sources/Accounts/") {
      guard !file.path.contains("/Refusals/") else { continue }
      #expect(!file.codeLines.contains { $0.contains("Problem(") }, "\(file.path)")
    }
  }

  @Test func `what comes from PyPI is named by digest`() throws {
    #expect(try #require(SourceFile("ops/venv")).text.contains("--require-hashes"))
    for script in ["bench", "demo", "fuzz", "postgres", "prepare", "run", "test"] {
      let text = try #require(SourceFile("ops/\(script)")).text
      #expect(!text.contains("pip\" install") && !text.contains("pip install"), "ops/\(script)")
    }
  }

  @Test func `a target depends on targets above it alone`() throws {
    let targets = PackageTable.order(try #require(SourceFile("Package.swift")).text)
    #expect(targets.count > 60)
    var above: Set<String> = []
    for target in targets {
      let below = target.dependencies.subtracting(above)
      #expect(below.isEmpty, "\(target.name) depends on \(below.sorted()), which stand below it")
      #expect(above.insert(target.name).inserted, "\(target.name) stands there twice")
    }
  }

  @Test func `what ships depends on no test, and nothing depends on a benchmark`() throws {
    let targets = PackageTable.order(try #require(SourceFile("Package.swift")).text)
    func names(_ wing: PackageTable.Wing) -> Set<String> {
      Set(targets.filter { $0.wing == wing }.map(\.name))
    }
    #expect(names(.benchmarks) == ["bench"])
    #expect(names(.tests).isSuperset(of: ["ProviderFakes", "provider-fakes", "TidyTests"]))
    #expect(names(.sources).isSuperset(of: ["CSQLite", "Migrations", "Sync", "coffer"]))
    for target in targets {
      let other = target.wing == .sources ? names(.tests) : []
      let wrong = target.dependencies.intersection(other.union(names(.benchmarks)))
      #expect(wrong.isEmpty, "\(target.name) depends on \(wrong.sorted())")
    }
  }

  @Test func `every target of Package.swift is found, of whatever kind`() throws {
    let manifest = try #require(SourceFile("Package.swift")).text
    let list = manifest.components(before: "\n  ]\n)")
    let kinds = ["system(", "module(", "program(", "support(", "tests(", ".target("]
    let count = kinds.reduce(0) { $0 + list.parts(after: "\n    \($1)").count }
    #expect(PackageTable.order(manifest).count == count)
  }
}
