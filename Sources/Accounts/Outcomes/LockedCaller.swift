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

extension LockedCaller {
  /// Runs `effect` under the lock, unless the same request was carried out before.
  package static func once(
    _ transaction: Transaction, _ credentials: Credentials, now: Instant,
    _ effect: (LockedCaller) throws -> Outcome
  ) throws -> Outcome {
    let locked = try LockedCaller(transaction, credentials, now: now)
    return try Nonces.once(transaction, credentials) { try effect(locked) }
  }
}
