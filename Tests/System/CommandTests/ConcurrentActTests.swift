import Base
import Glibc
import Storage
import TestEngines
import Testing

/// Two operators who do the same at once: the second decision depends on what the first has done.
struct ConcurrentActTests {
  struct Case: CustomTestStringConvertible, Sendable {
    let words: [String]
    let schema: Schema
    /// A statement whose lock delays the act.
    let lock: String

    var testDescription: String { words.prefix(2).joined(separator: " ") }
  }

  private static let sequence = "UPDATE billing.sequence SET last_number = last_number"
  private static let accounts = "UPDATE sync.accounts SET seq = seq"

  private static let cases = [
    Case(
      words: ["entitlement", "grant", "ada", "--plan", "premium"], schema: .billing,
      lock: sequence),
    Case(words: ["quota", "clear", "ada"], schema: .billing, lock: sequence),
    Case(words: ["account", "delete", "ada"], schema: .sync, lock: accounts),
    Case(words: ["account", "suspend", "ada"], schema: .sync, lock: accounts),
  ]

  @Test(arguments: TestEngine.available, cases)
  func `of two acts that do the same one is refused, and the log has the other`(
    _ engine: TestEngine, _ act: Case
  ) throws {
    let scratch = try ScratchDatabase(engine, with: .schemas)
    var environment: [String: String] = [:]
    switch scratch.location {
    case .sqlite(let directory): environment["COFFER_DATABASE"] = "sqlite://\(directory)"
    case .postgres(let url):
      environment["COFFER_DATABASE"] = String(decoding: url.exposed, as: UTF8.self)
    }
    for words in [
      ["account", "create", "--username", "ada", "--key-file", scratch.directory.path + "/key"],
      ["quota", "set", "ada", "2TB", "--reason", "n", "--yes"],
    ] {
      let made = try Finished(words, environment: environment)
      #expect(made.code == 0, "\(made.errors)")
    }
    let codes = try twice(act, scratch, environment)
    #expect(codes.sorted() == [0, 1])
    let listed = try Finished(["audit", "list", "--json"], environment: environment).out
    #expect(listed.split(separator: "\"act\":\"\(act.testDescription)\"").count == 2, "\(listed)")
  }

  /// The exit codes of two commands that have both begun before either can continue.
  private func twice(
    _ act: Case, _ scratch: ScratchDatabase, _ environment: [String: String]
  ) throws -> [Int32] {
    let database = try Database.open(scratch.location, owning: act.schema, .requiresSchema)
    defer { database.close() }
    let path = scratch.directory.path
    let words = act.words + ["--reason", "n", "--yes"]
    let children = try database.write(for: nil) { transaction in
      try transaction.execute(act.lock)
      let children = try (1...2).map { number in
        try Finished.start(
          Binaries.directory + "/coffer", words, environment, out: "\(path)/out\(number)",
          errors: "\(path)/errors\(number)")
      }
      sleep(2)
      return children
    }
    return try children.map { try Finished.code(of: $0) }
  }
}
