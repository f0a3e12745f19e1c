package import Base
import Jobs
package import Storage
import Stores
package import Subscriptions
import Tiers

extension Ledger {
  /// Requests a read of a purchase that only clients know of, in its turn among such reads. Nothing
  /// else is stored about it before.
  package func requestProof(
    of key: ObjectKey, payload: [UInt8]?, lane: Int, trace: TraceContext? = nil, at now: Instant,
    in transaction: Transaction
  ) throws {
    guard readable.contains(key.provider) else { return }
    let confirmations = try stores.store(of: key).traits.confirmationCount
    try Jobs.request(
      Self.readJob, key.description, payload: payload, due: now, confirmations: confirmations,
      lane: lane, trace: trace, in: transaction)
  }

  /// The result of requesting a read.
  package enum Asked: Sendable {
    case asked
    /// Its store is never asked, because a key is missing.
    case withoutKey
    /// Its read needs a secret that only its store and its buyer know.
    case withoutToken
  }

  /// The subscriptions that an object is known to belong to.
  package func subscriptions(
    of object: ObjectKey, reading database: any Queryable
  ) throws -> [ObjectKey] {
    let kind = try stores.store(of: object).traits.subscriptionKind
    return try Affected.read(about: object, reading(database)).filter { $0.kind == kind }
  }

  /// Requests a read of a subscription or purchase as soon as possible, even if nothing is known of it.
  ///
  /// `payload` is the sealed secret for the read, if it is new; `reason` is for the reader
  /// (`StoreRead.Known`); `isShallow` as for `Jobs.request`.
  package func read(
    _ key: ObjectKey, payload: [UInt8]? = nil, because reason: String? = nil,
    isShallow: Bool = false, at now: Instant, in transaction: Transaction
  ) throws -> Asked {
    guard isReadable(key) else { return .withoutKey }
    let object = key.description
    if try stores.store(of: key).traits.readsBySecret, payload == nil,
      try Jobs.find(Self.readJob, object, reading: transaction) == nil
    {
      return .withoutToken
    }
    if let reason {
      // No delivery requests it, and none has that number.
      try transaction.execute(
        """
        INSERT INTO billing.read_requests (object, delivery, reason) VALUES ($1, 0, $2)
        ON CONFLICT (object, delivery, reason) DO NOTHING
        """, .text(object), .text(reason))
    }
    try Jobs.request(
      Self.readJob, object, payload: payload, due: now, isShallow: isShallow, in: transaction)
    return .asked
  }

  /// When the answer to the last read of an object came, if it is stored; otherwise nil.
  package static func lastRead(
    of key: ObjectKey, reading database: some Queryable
  ) throws -> Instant? {
    guard let job = try Jobs.find(readJob, key.description, reading: database) else { return nil }
    return try database.first(
      """
      SELECT received_ms FROM billing.deliveries
      WHERE provider = $1 AND environment = $2 AND delivery_id = $3 ORDER BY id DESC LIMIT 1
      """, .text(key.provider.rawValue), .text(key.environment.rawValue),
      .text(DecodedDelivery.answerID(to: job.committed, of: key))
    ) { row in try row.instant(0) }
  }
}
