import Accounts
import Base
import Crypto
import Sync
import TestDevices

extension APIStories {
  /// Every answer about public links.
  func publish() throws {
    var limits = SyncLimits()
    limits.linkBytesPerDay = 20_000
    let server = try self.server(freeByteCount: 100_000, limits: limits)
    let device = try server.register()
    let (id, token) = try device.published(Random.bytes(15_000))
    for (ifMatch, query) in [
      (nil, ""), ("\"0\"", ""), ("\"1\"", "?expires=1"), ("\"1\"", "?max_age=60"), ("x", ""),
    ] {
      _ = try device.publish(id, Random.bytes(15_000), ifMatch: ifMatch, query)
    }
    _ = try device.publish(Random.identifier(), [UInt8](repeating: 1, count: 150_000))
    for query in ["", "?limit=1", "?limit=0", "?after=x"] {
      _ = try device.get("/v1/public\(query)")
    }
    _ = try server.fetch(token, "OPTIONS", through: device)
    _ = try server.fetch(token, headers: [("Range", "bytes=0-9")], through: device)
    _ = try server.fetch(token, headers: [("Range", "bytes=99999-")], through: device)
    _ = try server.fetch(token, headers: [("If-None-Match", "\"2\"")], through: device)
    _ = try server.fetch(token, headers: [("If-Match", "\"9\"")], through: device)
    for _ in 0..<3 { _ = try server.fetch(token, through: device) }
    let renewal = device.sign("POST", "/v1/public/\(id)/token")
    for _ in 0..<2 { _ = try device.send(renewal) }
    _ = try device.send(
      .init(method: "POST", target: "/v1/public/\(id)/token", headers: bearer(device), body: []))
    for _ in 0..<2 { _ = try device.unpublish(id) }
    _ = try device.send(device.sign("POST", "/v1/public/\(id)/token"))
    try server.fillLinks(of: device.account)
    _ = try device.publish(Random.identifier(), [1])
    try server.suspend(device.account, since: server.clock.now)
    _ = try device.publish(Random.identifier(), [1])
    for _ in 0..<301 { _ = try server.fetch("none", through: device) }
  }
}
