import Base
import Configuration
import KnownStores
import Storage
import TestEngines
import Testing

@testable import Doctor

struct CheckTests {
  /// The findings in a database, by the name of the check.
  private func found(
    _ engine: TestEngine, after statements: String...
  ) throws -> [String: Check] {
    let scratch = try ScratchDatabase(engine)
    let location =
      switch scratch.location {
      case .sqlite(let directory): "sqlite://\(directory)"
      case .postgres(let url): String(decoding: url.exposed, as: UTF8.self)
      }
    for schema in Schema.allCases {
      let database = try Database.open(scratch.location, owning: schema)
      defer { database.close() }
      try database.write(for: nil) { transaction in
        for statement in statements where statement.contains("\(schema.rawValue).") {
          try transaction.execute(statement)
        }
      }
    }
    let configuration = try DatabaseConfiguration(
      Settings(.coffer, environment: ["COFFER_DATABASE": location], configPath: nil))
    let database = try Database.open(scratch.location, owning: .sync, .requiresSchema)
    defer { database.close() }
    let doctor = Doctor(
      database: database, configuration: configuration, objects: nil, extent: Doctor.Extent())
    return Dictionary(uniqueKeysWithValues: doctor.checks().map { ($0.name, $0) })
  }

  @Test(arguments: TestEngine.available)
  func `an empty installation is well`(engine: TestEngine) throws {
    let found = try found(engine)
    #expect(found.count >= 10)
    for check in found.values where check.name != "disk" {
      #expect(check.state == .ok || check.state == .skipped, "\(check)")
      #expect(check.remedy.isEmpty, "\(check)")
    }
  }

  @Test func `a file system with more free inodes than inodes is not full`() {
    #expect(Doctor.percent(.max, of: 1000) == 100)
    #expect(Doctor.percent(29, of: 100) == 29)
    #expect(Doctor.percent(1, of: 1000) == 0)
  }

  @Test(arguments: TestEngine.available)
  func `a table that is gone is named, and keeps nobody from the rest`(engine: TestEngine) throws {
    let found = try found(engine, after: "DROP TABLE billing.double_payments")
    let schema = try #require(found["schema"])
    #expect(schema.state == .failed)
    #expect(schema.text.contains("double_payments"), "\(schema)")
    #expect(found["usage"]?.state == .skipped)
  }

  @Test(arguments: TestEngine.available)
  func `who is owed something and has no account is told`(engine: TestEngine) throws {
    let id =
      engine == .sqlite
      ? "x'00000000000000000000000000000007'" : "'\\x00000000000000000000000000000007'"
    let found = try found(
      engine,
      after: """
        INSERT INTO billing.entitlements (account_id, from_ms, cap_bytes, plan, reason)
        VALUES (\(id), 0, 1, 'premium', 'subscribed')
        """)
    let owners = try #require(found["owners"])
    #expect(owners.state == .warning)
    #expect(owners.text.hasPrefix("unknown to sync: 1 of 1 account"), "\(owners)")
  }
}
