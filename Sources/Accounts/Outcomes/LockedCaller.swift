package import Base
package import Requests
package import Storage

/// A caller whose account row is locked, with those of other accounts that the request concerns.
package struct LockedCaller {
  package let caller: Caller
  package var owners: LockedOwners

  /// `others` is called with the caller's account, and returns the accounts whose rows are locked with it.
  package init(
    _ transaction: Transaction, _ credentials: Credentials, now: Instant,
    with others: (_ caller: Identifier) throws -> Set<Identifier> = { _ in [] }
  ) throws {
    let before = try Caller(transaction, credentials, now: now)
    owners = try LockedOwners(
      transaction, others(before.account).union([before.account]))
    caller = try Caller(transaction, credentials, now: now)
  }
}

extension LockedCaller {
  /// Runs `effect` under the lock, unless the same request was carried out before.
  package static func once(
    _ transaction: Transaction, _ credentials: Credentials, now: Instant,
    with others: (_ caller: Identifier) throws -> Set<Identifier> = { _ in [] },
    _ effect: (inout LockedCaller) throws -> Outcome
  ) throws -> Outcome {
    var locked = try LockedCaller(transaction, credentials, now: now, with: others)
    return try Nonces.once(transaction, credentials) { try effect(&locked) }
  }
}
