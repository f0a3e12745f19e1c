import Accounts
import Base
import Crypto
import HTTPSignatures
import Requests
import Storage

/// A recovery key that makes a request. It is no device, so `Caller` refuses it everywhere else.
struct RecoveryCaller {
  let key: RecoveryKey

  /// Nil if no recovery key signed the request, or the account is being erased. The request counts for the account.
  init?(_ queryable: some Queryable, _ credentials: Credentials) throws {
    guard case .signed(let signature) = credentials.proof,
      let key = try RecoveryKey.find(queryable, signature.keyID.bytes),
      try Departure.find(key.account, reading: queryable)?.hasBegun != true
    else { return nil }
    self.key = key
    try credentials.meter.confirm(key.account)
  }

  /// The same. Throws if the request is of a device, or of nobody who is known.
  static func required(
    _ queryable: some Queryable, _ credentials: Credentials, now: Instant
  ) throws -> RecoveryCaller {
    if let caller = try RecoveryCaller(queryable, credentials) { return caller }
    _ = try Caller(queryable, credentials, now: now)
    throw RecoveryRefusal.recoveryKeyRequired
  }
}
