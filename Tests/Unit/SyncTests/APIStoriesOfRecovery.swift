import Base
import Crypto
import JSON
import TestDevices

extension APIStories {
  /// Every answer about key backups and recoveries.
  func recover() throws {
    let server = try self.server()
    let device = try server.register()
    let account = try device.account
    let (key, phone) = (server.device(), server.device())
    _ = try device.get("/v1/key-backup")
    for ifMatch in ["\"0\"", "\"0\"", nil, "x"] {
      _ = try device.putBackup([1, 2, 3], ifMatch: ifMatch)
    }
    _ = try device.putBackup([UInt8](repeating: 1, count: 70_000), ifMatch: "\"1\"")
    _ = try device.putBackup([], ifMatch: "\"1\"")
    for query in ["", "?version=1", "?version=7"] { _ = try device.get("/v1/key-backup\(query)") }
    for method in ["DELETE", "DELETE"] {
      _ = try device.send(device.sign(method, "/v1/recovery-key"))
      _ = try device.send(device.sign(method, "/v1/recovery"))
    }
    _ = try device.name(key.key, delayDays: 9)
    _ = try device.name(device.key, delayDays: 1)
    _ = try device.name(key.key, delayDays: 1)
    _ = try device.get("/v1/recovery")
    _ = try key.get("/v1/account")
    _ = try key.get("/v1/key-backup")
    _ = try device.recover(account)
    _ = try key.post("/v1/recovery", ["device": [:]])
    _ = try key.recover(account, letting: device)
    for _ in 0..<2 { _ = try key.recover(account, letting: phone) }
    _ = try key.get("/v1/key-backup")
    _ = try device.get("/v1/recovery")
    for _ in 0..<2 { _ = try device.send(device.sign("DELETE", "/v1/recovery")) }
    _ = try device.name(key.key, delayDays: 0)
    _ = try key.recover(account, letting: phone)
    _ = try key.get("/v1/key-backup")
    _ = try device.get("/v1/directory?account=\(account)")
    _ = try device.get("/v1/recovery")
    try server.suspend(account, since: server.clock.now)
    _ = try device.putBackup([1], ifMatch: "\"1\"")
    _ = try device.name(Ed25519PrivateKey(), delayDays: 0)
    _ = try key.recover(account)
    try server.suspend(account, since: nil)
    for _ in 0..<2 { _ = try device.send(device.sign("DELETE", "/v1/recovery-key")) }
    for _ in 0..<21 { _ = try key.recover(account) }
  }
}
