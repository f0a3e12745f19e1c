import Glibc
import Testing

/// House rules that the compiler does not enforce.
@Suite struct TidyTests {
  private static let cModules: [String: String] = [
    "CSQLite": "Sources/Storage/SQLite/", "CPostgres": "Sources/Storage/Postgres/",
    "COpenSSL": "Sources/Crypto/", "CCurl": "Sources/HTTP/HTTPClient/",
    "CJansson": "Sources/JSON/", "CMicrohttpd": "Sources/HTTP/HTTPServer/",
    "CZstd": "Sources/Compression/",
    "CExpat": "Sources/XML/", "EmbeddedOpenAPI": "Sources/OpenAPI/",
  ]

  @Test func `a C library is imported by its wrapper alone`() {
    for file in SourceFile.all(under: "Sources") {
      for name in file.imports {
        guard let home = Self.cModules[name] else { continue }
        #expect(file.path.hasPrefix(home), "\(file.path) imports \(name)")
      }
    }
  }

  @Test func `an import stands in the target's dependencies in Package.swift`() throws {
    let declared = PackageTable.dependencies(try #require(SourceFile("Package.swift")).text)
    #expect(declared.count > 15)
    let free: Set<String> = ["Glibc", "PackageDescription", "Testing"]
    for file in SourceFile.everywhere {
      var folders = file.path.split(separator: "/").dropLast().map(String.init)
      // The folders of a program or of tests are no targets, even if one has the name of a target.
      if let programs = folders.firstIndex(of: "Programs") {
        folders.removeLast(folders.count - programs - 2)
      }
      if let whole = folders.firstIndex(where: {
        $0 == "bench" || $0 != "Tests" && $0.hasSuffix("Tests")
      }) {
        folders.removeLast(folders.count - whole - 1)
      }
      guard let target = folders.last(where: { declared[$0] != nil }) else { continue }
      let allowed = (declared[target] ?? []).union(free)
      for name in file.imports { #expect(allowed.contains(name), "\(file.path) imports \(name)") }
    }
  }

  @Test func `pure modules touch no system`() {
    let pure = ["Sources/Tiers/", "Sources/Billing/Subscriptions/"]
    for file in SourceFile.all(under: "Sources") where pure.contains(where: file.path.hasPrefix) {
      #expect(Set(file.imports).isSubset(of: ["Base", "Tiers"]), "\(file.path)")
      #expect(!file.words.contains("Clock"), "\(file.path) knows a clock")
    }
  }

  @Test func `the rules of batches touch no database`() {
    let pure = ["AncestorTree", "PlannedTree", "BatchSnapshot", "BatchPlan"]
    let files = SourceFile.all(under: "Sources/Sync/Trees").filter { file in
      file.path.contains("/BatchRules") || pure.contains { file.path.hasSuffix("/\($0).swift") }
    }
    #expect(files.count == pure.count + 3)
    for file in files {
      #expect(Set(file.imports).isSubset(of: ["Accounts", "Base"]), "\(file.path)")
      let words: Set<Substring> = ["Queryable", "Reader", "Transaction", "Clock"]
      #expect(file.words.isDisjoint(with: words), "\(file.path)")
    }
  }

  @Test func `nothing but wrappers and the system's edge is unsafe`() {
    let homes =
      Array(Self.cModules.values)
      + [
        "Sources/Base/", "Sources/Storage/", "Sources/Endpoints/Daemon.swift",
        "Sources/CommandLine/", "Sources/Doctor/", "Sources/Moving/", "Sources/Programs/",
        "Sources/Configuration/",
      ]
    for file in SourceFile.all(under: "Sources") where file.words.contains("unsafe") {
      #expect(homes.contains(where: file.path.hasPrefix), "\(file.path) is unsafe")
    }
  }

  @Test func `a file stays short enough to hold in the head`() {
    for file in SourceFile.everywhere {
      #expect(
        file.text.split(separator: "\n", omittingEmptySubsequences: false).count <= 501,
        "\(file.path)")
    }
  }

  @Test func `nothing is left half done`() {
    let words = ["TODO", "FIXME", "fatalError", "try!"]
    for file in SourceFile.all(under: "Sources") {
      for word in words { #expect(!file.text.contains(word), "\(file.path) has \(word)") }
    }
  }
}
