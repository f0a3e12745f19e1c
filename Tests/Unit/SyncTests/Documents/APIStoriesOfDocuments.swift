import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices

extension APIStories {
  /// Every answer about documents of versions.
  func versionDocuments() throws {
    let server = try self.server(freeByteCount: 20_000)
    let device = try server.register()
    let document = Random.identifier()
    let path = "/v1/documents/\(document)/versions"
    _ = try device.get(path)
    let first = device.version(document, 1)
    for versions in [[first], [first], [device.version(document, 2)], []] {
      _ = try device.push(versions)
    }
    _ = try device.push(
      device.version(Random.identifier(), 2, [UInt8](repeating: 1, count: 30_000)))
    _ = try device.pull(limit: 1)
    _ = try device.pullPage(cursor: "x")
    _ = try device.pullPage(limit: 0)
    _ = try device.post("/v1/documents/pull", [:])
    _ = try device.push(device.version(document, 2, covering: [device.publicKey: 1], nil))
    _ = try device.push(device.version(document, 3, [9]))
    for query in ["", "?after=x", "?after=1&limit=1", "?limit=0"] {
      _ = try device.get(path + query)
    }
    try server.suspend(device.account, since: server.clock.now)
    _ = try device.push(device.version(Random.identifier(), 4))
    try server.suspend(device.account, since: nil)
    server.clock.advance(.days(100))
    try server.sweeper().sweep()
    _ = try device.pullPage([device.publicKey: 1])
  }
}
