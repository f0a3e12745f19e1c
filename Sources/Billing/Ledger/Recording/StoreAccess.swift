package import Base
package import Crypto
import Jobs
import ProviderAPI
package import Storage
package import Stores
package import Subscriptions

/// Everything that a job needs to ask a store about a subscription and to record the answer.
package struct StoreAccess: Sendable {
  package let database: Database
  package let ledger: Ledger
  package let sealing: SealingKeys
  package let clock: Clock

  package var stores: StoreList { ledger.stores }

  package init(database: Database, ledger: Ledger, sealing: SealingKeys, clock: Clock) {
    self.database = database
    self.ledger = ledger
    self.sealing = sealing
    self.clock = clock
  }
}

extension StoreAccess {
  /// The input for a read of a subscription: what is known of it, and the secret from deliveries if
  /// the read needs one.
  ///
  /// - Throws: `APIFailure.sealedToken` if none of the keys opens the secret.
  package func storeRead(of key: ObjectKey) throws -> StoreRead {
    let payload = try database.read {
      try Jobs.payload(Ledger.readJob, key.description, reading: $0)
    }
    return try storeRead(of: key, payload: payload)
  }

  /// The same with a given secret, for the read of that number; `isShallow` as for `StoreRead`.
  package func storeRead(
    of key: ObjectKey, readNumber: Int64 = 0, payload: [UInt8]?, isShallow: Bool = false
  ) throws -> StoreRead {
    var secret: Secret?
    if let payload {
      do {
        secret = Secret(try sealing.open(payload, context: PreparedDelivery.payloadContext(key)))
      } catch {
        throw APIFailure.sealedToken
      }
    }
    return StoreRead(key, readNumber: readNumber, secret: secret, isShallow: isShallow) {
      try database.read { try ledger.reading($0).known(of: key) }
    }
  }
}
