import Accounts
import Base
import JSON
import Requests
import TestDevices

extension APIStories {
  /// Every answer about the shares of a log, and about its key.
  func shareLogs() throws {
    var limits = SyncLimits()
    limits.openInvitationCountMax = 2
    let server = try self.server(limits: limits)
    let (owner, other) = (try server.register(), try server.register())
    let log = try owner.createLog()
    let account = try other.account
    for key: JSONValue in [["key": .base64([1])], ["key": .null], [:]] {
      for device in [owner, other] {
        _ = try device.send(device.sign("PUT", "\(log.path)/key", body: key.encoded()))
      }
    }
    _ = try owner.endLogShare(log, with: account)
    _ = try owner.grantLog(log, to: owner.account)
    _ = try owner.grantLog(log, to: log.id)
    _ = try owner.putShare(log, account, ["state": "pending"])
    _ = try owner.putShare(log, account, owner.logGrant(log, to: account, signer: other))
    _ = try owner.grantLog(log, to: account)
    _ = try other.get("/v1/logs")
    _ = try owner.get("\(log.path)/shares")
    _ = try owner.acceptLog(log)
    _ = try owner.putShare(log, account, ["state": "accepted"])
    _ = try other.acceptLog(log)
    try useShare(server, log, owner, other)
    _ = try owner.endLogShare(log, with: account)
    _ = try other.endLogShare(log, with: account)
    _ = try other.send(other.sign("PUT", "/v1/blocks/\(try owner.account)"))
    _ = try owner.grantLog(log, to: account)
    for _ in 0..<3 { _ = try owner.grantLog(log, to: server.register().account) }
    _ = try owner.remove(log.path)
  }

  private func useShare(
    _ server: TestServer, _ log: KnownLog, _ owner: TestDevice, _ reader: TestDevice
  ) throws {
    for path in ["/v1/logs", log.path, "\(log.path)/shares", "\(log.path)/messages"] {
      _ = try reader.get(path)
    }
    let cursor = try reader.page(of: log, "").json["cursor"].string ?? ""
    _ = try reader.append([SentMessage(server.stamp())], to: log)
    _ = try reader.putSnapshot([1], of: log, covering: cursor)
    _ = try reader.send(reader.epochRequest(of: log, covering: cursor))
    _ = try reader.grantLog(log, to: reader.account)
    _ = try reader.endLogShare(log, with: owner.account)
    _ = try reader.remove(log.path)
    try server.suspend(owner.account, since: server.clock.now)
    _ = try owner.grantLog(log, to: reader.account)
    try server.suspend(owner.account, since: nil)
  }
}
