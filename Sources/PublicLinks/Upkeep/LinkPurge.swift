import Accounts
import Base
import Storage

/// The end of links by their expiry.
enum LinkPurge {
  static let queue = FailingItems.Queue("links")
  private static let sliceCountMax = 100

  /// Deletes one slice of an account's links that have ended.
  static func sweep(
    _ transaction: Transaction, _ account: Identifier, host: ProtocolHost, now: Instant
  ) throws {
    var owners = try LockedOwners(transaction, [account])
    let ended = try PublicLink.ended(transaction, of: account, limit: sliceCountMax, now: now)
    try LinkWrite(transaction, of: account, catalogue: host.catalogue, now: now)
      .end(ended, quietly: true, &owners)
  }
}
