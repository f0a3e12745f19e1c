package import Base
package import Requests
package import Storage

/// A caller whose account row is locked.
package struct LockedCaller {
  package let caller: Caller
  package var owners: LockedOwners

  package init(_ transaction: Transaction, _ credentials: Credentials, now: Instant) throws {
    let before = try Caller(transaction, credentials, now: now)
    owners = try LockedOwners(transaction, [before.account])
    caller = try Caller(transaction, credentials, now: now)
  }
}
