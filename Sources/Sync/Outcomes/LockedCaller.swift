internal import Base
internal import Requests
internal import Storage

/// A caller whose account row is locked.
struct LockedCaller {
  let caller: Caller
  var owners: LockedOwners

  init(_ transaction: Transaction, _ credentials: Credentials, now: Instant) throws {
    let before = try Caller(transaction, credentials, now: now)
    owners = try LockedOwners(transaction, [before.account])
    caller = try Caller(transaction, credentials, now: now)
  }
}
