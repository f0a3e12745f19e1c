import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices

extension APIStories {
  /// Every answer about mailboxes and key packages.
  func sendMail() throws {
    let server = try self.server(freeByteCount: 30_000)
    let (ada, bob) = try server.contacts()
    let (id, nobody) = (Random.identifier(), Random.bytes(32))
    for body in [[1], [1], [2]] as [[UInt8]] {
      _ = try ada.mail(id, body, to: [bob.publicKey, nobody])
    }
    _ = try ada.mail(to: [Random.bytes(32)])
    _ = try ada.mail(to: [])
    _ = try ada.mail(Random.identifier(), [UInt8](repeating: 1, count: 40_000), to: [ada.publicKey])
    for query in ["", "?after=0&limit=1", "?after=x", "?limit=0"] {
      _ = try bob.get("/v1/mailbox\(query)")
    }
    _ = try bob.claim(from: bob.publicKey)
    _ = try bob.offer([bob.keyPackage(1)], lastResort: bob.keyPackage(2))
    _ = try bob.offer([bob.keyPackage(1, of: ada.publicKey)])
    for number in UInt8(0)..<5 {
      _ = try bob.offer((1...20).map { bob.keyPackage(20 * number + $0) })
    }
    try server.setCap(bob.account, 1_000_000, plan: "premium", reason: "subscribed")
    for number in UInt8(0)..<6 {
      _ = try bob.offer((1...20).map { bob.keyPackage(20 * number + $0) })
    }
    for _ in 0..<21 { _ = try ada.claim(from: bob.publicKey) }
    _ = try ada.claim(from: Random.bytes(32))
    for target in ["1?error=x", "1?error=X", "0", "x"] {
      _ = try bob.remove("/v1/mailbox/\(target)")
    }
    try server.suspend(ada.account, since: server.clock.now)
    _ = try ada.mail(to: [bob.publicKey])
    _ = try ada.offer([ada.keyPackage(1)])
    _ = try ada.claim(from: bob.publicKey)
    try server.suspend(ada.account, since: nil)
    server.clock.advance(.days(90))
    try server.sweeper().sweep()
    _ = try ada.get("/v1/mailbox")
    _ = try ada.mail(id, [1], to: [bob.publicKey, nobody])
  }
}
