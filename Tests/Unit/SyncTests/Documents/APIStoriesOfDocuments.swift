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
    try shareDocuments(server, device)
    try server.suspend(device.account, since: server.clock.now)
    _ = try device.push(device.version(Random.identifier(), 40))
    try server.suspend(device.account, since: nil)
    server.clock.advance(.days(100))
    try server.sweeper().sweep()
    _ = try device.pullPage([device.publicKey: 1])
  }

  /// Versions for another account, with blobs.
  private func shareDocuments(_ server: TestServer, _ device: TestDevice) throws {
    let other = try server.register()
    let document = Random.identifier()
    let to = [try other.account]
    let (blob, _) = try device.putBlob([1, 2, 3])
    for (content, ifMatch) in [([UInt8](), "\"0\""), ([1], nil), ([1], "\"7\""), ([1], "x")] {
      _ = try device.putBlob(content, ifMatch: ifMatch)
    }
    _ = try device.putBlob([1], blob)
    _ = try device.putBlob([UInt8](repeating: 1, count: 50_000))
    _ = try device.send(device.sign("PUT", "/v1/blobs/x", body: [1]))
    for headers in [
      [], [("Range", "bytes=1-1")], [("Range", "bytes=9-")], [("If-None-Match", "*")],
    ] {
      _ = try device.getBlob(blob, headers: headers)
    }
    _ = try other.getBlob(blob)
    let version = device.version(document, 10, to: to, naming: [blob])
    _ = try device.push(version)
    _ = try device.push(device.version(document, 10, naming: [Random.identifier()]))
    try device.shareLog(device.createLog(), with: other)
    for made in [version, device.version(document, 11, covering: [device.publicKey: 10], to: to)] {
      _ = try device.push(made)
    }
    _ = try other.pullPage()
    _ = try other.push(other.version(document, 12, covering: [device.publicKey: 11]))
    _ = try device.push(device.version(document, 12, covering: [device.publicKey: 11], to: to))
    _ = try other.get("/v1/documents/\(document)/versions")
    _ = try device.push(device.version(document, 13, nil, to: to))
    _ = try other.pullPage()
  }
}
