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

/// Steps of stories about the trash.
extension TestDevice {
  func restoreDeleted(_ id: Identifier) throws -> Answer {
    try send(sign("POST", "/v1/trash/\(id)/restore", body: []))
  }

  /// Restores into another folder or under another name; `body` changes the record of the deletion.
  func restoreDeleted(
    _ id: Identifier, signedBy other: Ed25519PrivateKey? = nil,
    as body: (inout FileStatement) -> Void
  ) throws -> Answer {
    let change = try record(id).change {
      $0.deleted = false
      body(&$0)
    }
    return try restoreDeleted(id, signedBy: other, as: change.file)
  }

  func restoreDeleted(
    _ id: Identifier, signedBy other: Ed25519PrivateKey? = nil, as file: FileStatement
  ) throws -> Answer {
    let signature = (other ?? key).signature(for: file.signedBytes)
    let members: [JSONValue.Member] = [
      .init("author", .string(Base64.standard.encode(key.publicKey.bytes))),
      .init("file", file.json), .init("signature", .string(Base64.standard.encode(signature))),
    ]
    return try send(
      sign("POST", "/v1/trash/\(id)/restore", body: JSONValue.object(members).encoded()))
  }

  func purge(_ id: Identifier) throws -> Answer {
    try send(sign("DELETE", "/v1/trash/\(id)"))
  }
}

extension Answer {
  func requireDone() throws {
    guard status == 204 || status == 200 else { throw UnexpectedAnswer(self) }
  }
}

extension TestServer {
  /// A server whose free plan keeps deleted files for `days` and versions for `history` days.
  convenience init(
    _ engine: TestEngine = .sqlite, trashFor days: Int64?, history: Int64? = 30,
    cap: Int64 = 1_000_000, objects: (any ObjectStore)? = nil
  ) throws {
    try self.init(
      engine, freeByteCount: cap, freeLimits: .init(historyDays: history, trashDays: days),
      objects: objects)
  }

  /// Throws if a rule of trees is broken in an account's rows.
  func requireSound(_ devices: [TestDevice]) throws {
    for device in devices {
      var audit = TreeAudit(try device.account, objects: objects)
      while !audit.isRead {
        let findings = try database.read { try audit.readSlice($0) }
        try #require(findings.isEmpty, "\(findings)")
      }
    }
  }
}

/// Steps of stories about caps of folders.
extension TestDevice {
  func capFolder(_ id: Identifier, _ bytes: JSONValue) throws -> Answer {
    try send(
      sign(
        "PUT", "/v1/files/\(id)/cap", body: JSONValue.object([.init("bytes", bytes)]).encoded()))
  }

  /// What a capped folder holds; nil if it is not counted.
  func held(_ id: Identifier) throws -> Int64? {
    try get("/v1/files/\(id)/cap").json["used"].integer
  }
}
