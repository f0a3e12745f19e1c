package import Subscriptions
package import Tiers

/// All known stores, whether or not this deployment uses them.
package struct StoreList: Sendable {
  private let stores: [any Store]

  /// Traps if two stores have the same name.
  package init(_ stores: [any Store]) {
    precondition(Set(stores.map(\.provider)).count == stores.count, "a store is listed twice")
    self.stores = stores
  }

  package subscript(provider: ObjectKey.Provider) -> (any Store)? {
    stores.first { $0.provider == provider }
  }

  /// The store of an object.
  ///
  /// - Throws: If a row names a store that this program does not know.
  package func store(of key: ObjectKey) throws(UnknownStore) -> any Store {
    guard let store = self[key.provider] else { throw UnknownStore(provider: key.provider) }
    return store
  }

  /// The store at which customers buy by requests to this server; nil if there is none.
  package var seller: (any Store)? { stores.first { $0.traits.isManagedHere } }

  /// Whether a purchase at this store may continue at the `seller`.
  package func mayMigrate(from provider: ObjectKey.Provider) -> Bool {
    guard let seller, seller.provider != provider else { return false }
    return self[provider]?.traits.isPrepaid == true
      || seller.traits.takesOver.contains(provider.rawValue)
  }

  /// The prefixes that only keys of subscriptions have.
  package var subscriptionPrefixes: [String] {
    stores.flatMap { store in
      StoreEnvironment.allCases.map { environment in
        ObjectKey(
          provider: store.provider, environment: environment, kind: store.traits.subscriptionKind,
          id: ""
        ).description
      }
    }
  }

  /// A subscription about which nothing is known yet.
  package func subscription(_ key: ObjectKey) throws(UnknownStore) -> Subscription {
    try store(of: key).subscription(key)
  }
}

extension StoreList {
  /// The purchase that an operator names: by a subscription's key, or by a store's number in the
  /// environment that grants. Nil for anything else.
  package func purchase(
    named text: String, in environment: StoreEnvironment
  ) -> NamedPurchase? {
    if let key = ObjectKey(text), let store = self[key.provider],
      store.traits.subscriptionKind == key.kind
    {
      return store.isSubscriptionID(key.id) ? NamedPurchase(object: key, subscription: key) : nil
    }
    return stores.lazy.compactMap { $0.purchase(named: text, in: environment) }.first
  }

  /// The same if the store is given, too.
  package func purchase(
    named text: String, of store: any Store, in environment: StoreEnvironment
  ) -> NamedPurchase? {
    guard let key = ObjectKey(text) else { return store.purchase(named: text, in: environment) }
    return key.provider == store.provider ? purchase(named: text, in: environment) : nil
  }
}

extension StoreList: Sequence {
  package func makeIterator() -> IndexingIterator<[any Store]> { stores.makeIterator() }
}

/// An object of a store that this program does not know.
package struct UnknownStore: Error, CustomStringConvertible {
  let provider: ObjectKey.Provider

  package var description: String { "there is no store \(provider.rawValue)" }
}

/// An error about a setting that has the right form but cannot be used, in one sentence.
package struct StoreSetupError: Error, CustomStringConvertible {
  package let description: String

  package init(_ text: String) { description = text }
}
