import HTTPServer
import JSON
import Sync
import TestDevices
import TestFiles
import Testing
import Tiers

/// The API's description in `/openapi.json`, checked against the code.
@Suite struct OpenAPITests {
  /// The description as the server sends it.
  private static func document() throws -> JSON {
    let server = try TestServer()
    return try JSON.parse(try server.fetchDescription().body)
  }

  @Test func `every route is described, and nothing else is`() throws {
    let server = try TestServer()
    let document = try JSON.parse(try server.fetchDescription().body)
    var described: Set<String> = []
    for (path, item) in document["paths"].members ?? [] {
      for (name, _) in item.members ?? [] where name != "parameters" {
        described.insert(name.uppercased() + " " + path)
      }
    }
    #expect(described == Set(server.routes.map { "\($0.method) \($0.pattern)" }))
  }

  @Test func `every problem that the server can answer is described with its status`() throws {
    let described = CodedProblem.all(in: try Self.document())
    let coded = try CodedProblem.all()
    #expect(described.count > 50)
    #expect(described.subtracting(coded) == [])
    #expect(coded.subtracting(described) == [])
  }

  @Test func `every described problem is an answer of some operation`() throws {
    let document = try Self.document()
    var text = try String(
      decoding: #require(JSONValue(document["paths"])).encoded(), as: UTF8.self)
    text += try String(
      decoding: #require(JSONValue(document["components"]["responses"])).encoded(), as: UTF8.self)
    for problem in CodedProblem.all(in: document) {
      #expect(text.contains("/Problem.\(problem.code)\""), "\(problem.code) is nobody's answer")
    }
  }

  @Test func `the guide's table of errors has every problem beside its status`() throws {
    let guide = try #require(Files.text("\(Files.repository)/docs/sync-api.md"))
    let table = guide[(try #require(guide.firstRange(of: "| status | codes |"))).upperBound...]
    let end = try #require(table.firstRange(of: "\n## ")).lowerBound
    let rows = table[..<end].split(separator: "\n").map { $0.split(separator: "|", maxSplits: 1) }
    for problem in CodedProblem.all(in: try Self.document()) {
      let isThere = rows.contains { row in
        row[0].contains("\(problem.status)") && (row.last?.contains("`\(problem.code)`") ?? false)
      }
      #expect(isThere, "\(problem) is missing")
    }
  }

  @Test func `the rules of batches are those of the code`() throws {
    let rules = try Self.document()["components"]["schemas"]["Rule"]["enum"].array ?? []
    #expect(Set(rules.compactMap(\.string)) == Set(Rule.allCases.map(\.rawValue)))
  }

  @Test func `the reasons for a cap are those of the code`() throws {
    let reasons = try Self.document()["components"]["schemas"]["CapReason"]["enum"].array ?? []
    #expect(Set(reasons.compactMap(\.string)) == Set(CapReason.allCases.map(\.rawValue)))
  }

  @Test func `the description needs no authentication and is fetched once`() throws {
    let server = try TestServer()
    let first = try server.fetchDescription()
    #expect(first.status == 200)
    let tag = try #require(first.header("ETag"))
    #expect(first.header("Cache-Control") == "public, max-age=3600")
    let second = try server.fetchDescription(headers: [("If-None-Match", tag)])
    #expect(second.status == 304)
    #expect(second.body.isEmpty)
  }
}

extension TestServer {
  /// Gets the description without a signature.
  func fetchDescription(headers: [(String, String)] = []) throws -> Answer {
    try device().send(
      .init(
        method: "GET", target: "/openapi.json", headers: [("Host", Self.authority)] + headers,
        body: []))
  }
}

/// A problem by its status and code.
struct CodedProblem: Hashable, CustomStringConvertible {
  let status: Int
  let code: String

  var description: String { "\(status) \(code)" }

  /// The problems that have a schema.
  static func all(in document: JSON) -> Set<CodedProblem> {
    let prefix = "urn:coffer:problem:"
    return Set(
      (document["components"]["schemas"].members ?? []).compactMap { name, schema in
        guard let type = schema["properties"]["type"]["const"].string, type.hasPrefix(prefix),
          let status = schema["properties"]["status"]["const"].integer,
          name == "Problem." + type.dropFirst(prefix.count)
        else { return nil }
        return CodedProblem(status: Int(status), code: String(type.dropFirst(prefix.count)))
      })
  }

  /// The folders whose code makes problems of the sync server.
  private static let homes = [
    "Sources/Accounts", "Sources/Chains", "Sources/Commits", "Sources/Documents",
    "Sources/KeyBackup", "Sources/Logs",
    "Sources/PublicLinks",
    "Sources/Mailboxes",
    "Sources/Streams", "Sources/Sync", "Sources/Requests", "Sources/Endpoints",
    "Sources/HTTP/HTTPMessages", "Sources/HTTP/HTTPServer", "Sources/HTTP/HTTPSignatures",
  ]

  /// The problems that the sources make, each with a literal status and code. Any other makes the test fail.
  static func all() throws -> Set<CodedProblem> {
    var problems: Set<CodedProblem> = []
    let paths = homes.flatMap { home in
      Files.paths(under: "\(Files.repository)/\(home)").map { "\(home)/\($0)" }
    }
    // Actual's clients know other problems, which have a golden of their own.
    for path in paths
    where path.hasSuffix(".swift") && !path.contains("/Actual/") {
      let text = try #require(Files.text("\(Files.repository)/\(path)"))
      let made = text.matches(of: /\bProblem\(\s*([0-9]+),\s*"([a-z_]+)"/)
      for match in made {
        problems.insert(CodedProblem(status: Int(match.1) ?? 0, code: String(match.2)))
      }
      #expect(
        text.matches(of: /\bProblem\(/).count == made.count,
        "\(path) makes a problem that this test cannot read")
    }
    return problems
  }
}
