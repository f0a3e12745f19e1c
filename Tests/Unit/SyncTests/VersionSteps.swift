import Base
import Crypto
import JSON
import Objects
import Storage
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers

/// Steps of stories about the versions of documents.
extension TestDevice {
  struct SeenVersion {
    let number: Int64
    let byteCount: Int
  }

  /// Writes content and returns its version.
  func write(_ id: Identifier, _ content: [UInt8]) throws -> Int64 {
    let answer = try put(id, content, ifMatch: "*")
    try answer.requireSuccess()
    return try answer.json["version"].integer ?? -1
  }

  func versions(_ id: Identifier) throws -> [SeenVersion] {
    let answer = try get("/v1/files/\(id)/versions")
    try answer.requireSuccess()
    return (try answer.json["versions"].array ?? []).map {
      SeenVersion(number: $0["version"].integer ?? -1, byteCount: Int($0["bytes"].integer ?? -1))
    }
  }

  func restoring(_ id: Identifier, _ version: Int64, ifMatch: String) -> Signed {
    sign(
      "POST", "/v1/files/\(id)/restore",
      body: JSONValue.object([.init("version", .integer(version))]).encoded(),
      headers: [("If-Match", ifMatch)])
  }

  func restore(
    _ id: Identifier, _ version: Int64, ifMatch: String = "*"
  ) throws -> Answer {
    try send(restoring(id, version, ifMatch: ifMatch))
  }

  func choose(_ choice: String) throws -> Answer {
    try send(
      sign(
        "PUT", "/v1/account/history",
        body: JSONValue.object([.init("when_full", .string(choice))]).encoded()))
  }
}

extension TestServer {
  /// A server whose free plan keeps versions for `days`, and at most `count` of a document.
  convenience init(
    _ engine: TestEngine = .sqlite, keepingFor days: Int64?, count: Int64? = nil,
    cap: Int64 = 1_000_000, objects: (any ObjectStore)? = nil
  ) throws {
    try self.init(
      engine, freeByteCount: cap,
      freeLimits: .init(historyDays: days, historyVersionCount: count), objects: objects)
  }

  func count(_ table: String) throws -> Int64 {
    try database.read { reader in
      try reader.first("SELECT count(*) FROM sync.\(table)") { try $0.integer(0) } ?? -1
    }
  }

  /// The number of objects in the store.
  func objectCount() throws -> Int {
    try (0...255).reduce(0) { try $0 + objects.list(beginningWith: UInt8($1)).count }
  }

  /// Throws unless the account's totals equal a recount of its rows, and no object is in use and garbage.
  func requireRight(_ devices: [TestDevice]) throws {
    for device in devices {
      let recount = Recount(
        database, catalogue: catalogue, protocols: [FileTrees.self], sliceRowCount: 7)
      let finding = try #require(try recount.audit(try device.account))
      try #require(finding.isRight, "\(finding)")
    }
    try #require(
      try count(
        """
        garbage WHERE object_id IN (SELECT object_id FROM sync.files UNION ALL
          SELECT object_id FROM sync.versions)
        """) == 0)
    try #require(
      try count(
        "files AS f JOIN sync.versions AS v ON v.object_id = f.object_id") == 0)
    try #require(
      try count(
        """
        accounts AS a WHERE (history_due_ms IS NULL)
          AND EXISTS (SELECT 1 FROM sync.versions AS v WHERE v.owner_id = a.id)
        """) == 0)
  }
}
