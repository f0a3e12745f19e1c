package import Answers
package import CommandLine
import Compression
import Configuration
package import Crypto
import KnownStores
import Ledger
package import Storage
package import Stores
import Subscriptions

/// Finds the deliveries that an operator names.
package enum EventLookup {
  /// The names that a delivery can have.
  package static let naming = "id at the store, e.g. evt_1, or number, e.g. 17 or '#17'"

  /// Throws if there is none, or if --store is needed to select one.
  package static func find(
    _ name: String, of store: (any Store)?, reading reader: Reader
  ) throws -> [DeliverySummary] {
    var found = try DeliverySummary.named(
      name, of: store.map { [$0] } ?? Array(StoreList.known), reading: reader)
    if let store { found.removeAll { $0.provider != store.provider } }
    guard !found.isEmpty else {
      let who = store.map { $0.provider.rawValue } ?? "no store"
      throw CommandFailure(
        .refused,
        store == nil ? "there is no delivery \(name)" : "\(who) never sent a delivery \(name)")
    }
    let stores = Set(found.map { $0.provider.rawValue }).sorted()
    guard stores.count == 1 else {
      throw CommandFailure(
        .usage,
        "\(stores.joined(separator: " and ")) have a delivery \(name): choose one with --store")
    }
    return found
  }

  /// The messages as they came, by the numbers of their deliveries.
  package static func unsealed(
    _ deliveries: [DeliverySummary], named name: String, _ sealing: SealingKeys,
    _ database: Database
  ) throws -> [Int64: [UInt8]] {
    guard let first = deliveries.first, let store = StoreList.known[first.provider] else {
      return [:]
    }
    do {
      let kept = try database.read {
        try KeptDelivery.find(first.deliveryID, of: store, sealing: sealing, reading: $0)
      }
      return Dictionary(kept.map { ($0.number, $0.message) }) { first, _ in first }
    } catch let error as ErasedDelivery {
      throw CommandFailure(.refused, "\(name): \(error)")
    } catch let error as CryptoError {
      throw CommandFailure(.refused, "these keys do not open \(name): \(error)")
    } catch let error as CompressionError {
      throw CommandFailure(.refused, "\(name) cannot be read: \(error)")
    }
  }
}

extension Form where Value == any Store {
  package static var store: Form {
    let names = StoreList.known.map(\.provider.rawValue)
    return Form(completion: .words(names)) { text in
      ObjectKey.Provider(rawValue: text).flatMap { StoreList.known[$0] }
    } refusal: { text, _ in
      "there is no store \(text); there are \(names.joined(separator: ", "))"
    }
  }
}
