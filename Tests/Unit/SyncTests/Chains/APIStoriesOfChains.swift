import Base
import Crypto
import JSON
import Requests
import Storage
import Sync
import TestDevices

extension APIStories {
  /// Every answer about signature chains and commits.
  func growChains() throws {
    let server = try self.server(freeByteCount: 600_000)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    let stranger = try server.register()
    var head = try a.chain(with: [b])
    _ = try a.makeChain(b.chainRoot())
    _ = try b.makeChain(b.chainRoot(head.chain))
    for query in ["", "?since=0&limit=1", "?since=x", "?limit=0"] {
      _ = try a.get("/v1/chains/\(head.chain)/blocks\(query)")
    }
    for device in [a, stranger] {
      _ = try device.get("/v1/chains")
      for path in ["", "/blocks"] { _ = try device.get("/v1/chains/\(head.chain)\(path)") }
      _ = try device.tell(head)
      _ = try device.commit(MadeCommit(device.block(after: head)))
      _ = try device.send(device.block(after: head))
      _ = try device.send(device.block(after: head, adding: [stranger]))
      _ = try device.remove("/v1/chains/\(Random.identifier())")
    }
    head = try a.head(of: head.chain)
    _ = try a.send(a.block(after: head, adding: [stranger]))
    _ = try a.send(a.block(after: head, adding: [b]))
    _ = try c.tell(head)
    _ = try a.tell(KnownHead(a.chainRoot(head.chain)))
    _ = try a.send([], to: head.chain)
    let commit = MadeCommit(a.block(after: head, adding: [c]), welcome: [1])
    _ = try a.commit(commit)
    _ = try a.commit(MadeCommit(commit.block, welcome: [1]))
    _ = try a.chain(own: true)
    _ = try a.makeChain(a.chainRoot(), own: true)
    let (ada, bob) = try server.contacts()
    let shared = try ada.chain(with: [bob])
    _ = try bob.remove("/v1/chains/\(shared.chain)")
    _ = try ada.get("/v1/chains/\(shared.chain)")
    _ = try ada.remove("/v1/chains/\(shared.chain)")
    try server.setCap(bob.account, 1000, plan: "free", reason: "never_subscribed")
    _ = try bob.makeChain(bob.chainRoot())
    while try ada.makeChain(ada.chainRoot()).status == 201 {}
    try server.suspend(ada.account, since: server.clock.now)
    _ = try ada.makeChain(ada.chainRoot())
    try server.suspend(ada.account, since: nil)
  }
}
