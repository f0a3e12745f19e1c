package import Answers
package import Base
package import Crypto
package import Ledger
package import Storage

/// Decodes the stored deliveries of a ledger again, and tells or makes the difference.
package struct Redecoder: Sendable {
  private let ledger: Ledger
  private let database: Database
  private let sealing: SealingKeys
  private let search: SearchKey?

  /// Writes about a replay in its transaction.
  package typealias Noting =
    @Sendable (RedecodedDelivery, DerivedChange, Transaction) throws -> Void

  package init(_ ledger: Ledger, _ database: Database, sealing: SealingKeys, search: SearchKey?) {
    self.ledger = ledger
    self.database = database
    self.sealing = sealing
    self.search = search
  }

  /// - Throws: An `UnreadableDelivery` if it cannot be opened or decoded.
  package func decoded(_ delivery: DeliverySummary) throws -> RedecodedDelivery {
    do {
      return try database.read { reader in
        try RedecodedDelivery(
          delivery, of: ledger.stores, sealing: sealing, search: search, reading: reader)
      }
    } catch let error as DatabaseError {
      throw error
    } catch {
      throw UnreadableDelivery(delivery.deliveryID, error)
    }
  }

  /// Joins the delivery again. Without `noting` the change is only returned, and not made.
  package func replay(
    _ again: RedecodedDelivery, at now: Instant, noting: Noting?
  ) throws -> DerivedChange {
    let ledger = ledger
    guard let noting else {
      return try database.rehearse { try ledger.replay(again, at: now, in: $0) }
    }
    return try database.write(for: nil) { transaction in
      let change = try ledger.replay(again, at: now, in: transaction)
      try noting(again, change, transaction)
      return change
    }
  }

  /// The consequences if the delivery had never arrived, with the states at `moment`.
  package func suppose(
    without delivery: RedecodedDelivery, at now: Instant, about moment: Instant
  ) throws -> Supposition {
    let (ledger, max) = (ledger, Supposition.otherCountMax)
    let (others, areMore) = try database.read { reader in
      try ledger.deliveries(beside: delivery.delivery, countMax: max, reading: reader)
    }
    var decoded: [RedecodedDelivery] = []
    for other in others {
      do { decoded.append(try self.decoded(other)) } catch is UnreadableDelivery { continue }
    }
    let counted = decoded
    var supposition = try database.rehearse { transaction in
      try ledger.suppose(
        without: delivery, among: counted, at: now, about: moment, in: transaction)
    }
    supposition.unreadCount = others.count - counted.count
    supposition.isCutShort = areMore
    return supposition
  }
}

/// A stored delivery that cannot be decoded again, and why.
package struct UnreadableDelivery: Error, CustomStringConvertible {
  package let description: String

  init(_ id: String, _ error: any Error) {
    description =
      switch error {
      case is ErasedDelivery: "\(id): \(error)"
      case is CryptoError: "these keys do not open \(id): \(error)"
      default: "\(id) cannot be read by today's decoder: \(error)"
      }
  }
}
