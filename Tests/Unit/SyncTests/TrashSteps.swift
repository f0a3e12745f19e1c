import Base
import Crypto
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

  func purge(_ id: Identifier) throws -> Answer {
    try send(sign("DELETE", "/v1/trash/\(id)"))
  }
}

extension Answer {
  func requireDone() throws {
    guard status == 204 else { throw UnexpectedAnswer(self) }
  }
}

extension TestServer {
  /// A server whose free plan keeps deleted files for `days` and versions for `history` days.
  convenience init(
    _ engine: TestEngine = .sqlite, trashFor days: Int64?, history: Int64? = 30,
    cap: Int64 = 1_000_000
  ) throws {
    try self.init(
      engine, freeByteCount: cap, freeLimits: .init(historyDays: history, trashDays: days))
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
