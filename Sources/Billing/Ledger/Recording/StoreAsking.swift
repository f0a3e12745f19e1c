internal import Base
package import Crypto
internal import Jobs
internal import ProviderAPI
package import Storage
package import Stores
package import Subscriptions

extension Ledger {
  /// What a store is asked about a subscription with: what is known of it, and the secret that deliveries told, where
  /// it is asked by one.
  ///
  /// Throws `APIFailure.sealedToken` where none of the keys opens the secret.
  package func storeRead(
    of key: ObjectKey, on database: Database, sealing: SealingKeys
  ) throws -> StoreRead {
    let payload = try database.read {
      try Jobs.payload(Self.readJob, key.description, reading: $0)
    }
    return try storeRead(of: key, payload: payload, on: database, sealing: sealing)
  }

  /// The same of a secret that is at hand, for the read of that number; `isShallow` as for `StoreRead`.
  package func storeRead(
    of key: ObjectKey, readNumber: Int64 = 0, payload: [UInt8]?, isShallow: Bool = false,
    on database: Database, sealing: SealingKeys
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
      try database.read { try reading($0).known(of: key) }
    }
  }
}
