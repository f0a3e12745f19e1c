import Base
package import CommandLine
import Configuration
package import Crypto
import KnownStores
package import Ledger
package import Storage
package import Stores
package import Subscriptions
import Tiers

/// A subscription as an operator names it: by its key, or by a number that its store gives to people.
package struct NamedSubscription: Sendable {
  private let text: String

  package static let help =
    "key, e.g. stripe:live:subscription:sub_1, or a number of the store: Stripe subscription, "
    + "App Store transaction, Google purchase token or BTCPay invoice"

  fileprivate init(_ text: String) { self.text = text }

  /// The purchase that it names in the granting environment.
  package func purchase(_ ledger: Ledger) throws(CommandFailure) -> NamedPurchase {
    let environment = ledger.rules.grantingEnvironment
    guard let named = StoreList.known.purchase(named: text, in: environment) else {
      throw CommandFailure(.usage, Self.misnomer(text))
    }
    return named
  }

  /// The known subscription of this name. Refuses if nothing is known of it, or if it may be one of several.
  package func known(to ledger: Ledger, reading database: any Queryable) throws -> ObjectKey {
    let key = try key(ledger, reading: database)
    guard try ledger.knows(key, reading: database) else {
      throw CommandFailure(.refused, "there is no record of \(key)")
    }
    return key
  }

  /// The subscription of a number, in the same way. A key is returned without a lookup.
  package func key(_ ledger: Ledger, reading database: any Queryable) throws -> ObjectKey {
    let purchase = try purchase(ledger)
    if ObjectKey(text) != nil { return purchase.object }
    var candidates: Set<ObjectKey> = []
    for environment in StoreEnvironment.allCases {
      guard let named = StoreList.known.purchase(named: text, in: environment) else { continue }
      let wholes = try ledger.wholes(of: named.object, reading: database)
      for key in wholes + [named.subscription].compactMap({ $0 })
      where try ledger.knows(key, reading: database) {
        candidates.insert(key)
      }
    }
    guard let first = candidates.first else {
      throw CommandFailure(
        .refused,
        "there is no record of \(purchase.object): coffer subscription read asks its store")
    }
    guard candidates.count == 1 else {
      let names = candidates.sorted().map(\.description).joined(separator: ", ")
      throw CommandFailure(.refused, "\(purchase.object) is of more than one: name \(names)")
    }
    return first
  }

  fileprivate static func misnomer(_ text: String) -> String {
    let named = ObjectKey(text).flatMap { key in
      StoreList.known[key.provider].flatMap { $0.traits.subscriptionKind == key.kind ? $0 : nil }
    }
    let store =
      named
      ?? StoreList.known.first { store in
        store.traits.subscriptionIDPrefix.map { text.hasPrefix($0) } ?? false
      }
    guard let store else {
      return "\(text) names no subscription, e.g. stripe:live:subscription:sub_1"
    }
    return "\(text) names no subscription: an id of \(store.traits.title) is "
      + store.traits.subscriptionIDForm
  }
}

extension Form where Value == NamedSubscription {
  package static var subscription: Form {
    Form { (text, _) throws(CommandFailure) in
      guard StoreList.known.purchase(named: text, in: .live) != nil else {
        throw CommandFailure(.usage, NamedSubscription.misnomer(text))
      }
      return NamedSubscription(text)
    }
  }
}

extension NamedPurchase {
  /// The payload of a job that reads by the number itself, so that no row holds it in clear; nil if
  /// it does not. It is sealed with the key that coffer-billing seals with, because coffer-billing
  /// may not have one that was put before that key.
  package func payload(
    _ sealing: SealingKeys?, reading database: some Queryable
  ) throws -> [UInt8]? {
    guard let secret else { return nil }
    guard let sealing else { throw CommandFailure.noSealingKeys }
    let newest = try KeptDelivery.sealed(by: sealing, reading: database)
    guard let index = newest.map(\.keyIndex) ?? 0 else {
      throw CommandFailure(
        .refused,
        "coffer-billing seals with a key that is not in COFFER_SEALING_KEYS here, and could not open the "
          + "token: give this command the keys that it has")
    }
    return sealing.sealing(by: index).seal(
      secret.exposed, context: PreparedDelivery.payloadContext(object))
  }
}
