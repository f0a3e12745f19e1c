internal import Configuration
package import Subscriptions
package import Tiers

/// Every store there is, whether this deployment deals with it or not.
package struct StoreList: Sendable {
  private let stores: [any Store]

  /// Traps on two of one name.
  package init(_ stores: [any Store]) {
    precondition(Set(stores.map(\.provider)).count == stores.count, "a store is listed twice")
    self.stores = stores
  }

  package subscript(provider: ObjectKey.Provider) -> (any Store)? {
    stores.first { $0.provider == provider }
  }

  /// The store of an object; throws for a row of a store that this program does not know.
  package func store(of key: ObjectKey) throws(UnknownStore) -> any Store {
    guard let store = self[key.provider] else { throw UnknownStore(provider: key.provider) }
    return store
  }

  /// Where customers buy by wishes to this server; nil where they cannot.
  package var seller: (any Store)? { stores.first { $0.traits.isManagedHere } }

  /// Whether what is bought at one store may go on at the `seller`.
  package func mayMigrate(from provider: ObjectKey.Provider) -> Bool {
    guard let seller, seller.provider != provider else { return false }
    return self[provider]?.traits.isPrepaid == true
      || seller.traits.takesOver.contains(provider.rawValue)
  }

  /// What the keys of subscriptions begin with, and those of nothing else.
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

  /// A subscription of which nothing is known yet.
  package func subscription(_ key: ObjectKey) throws(UnknownStore) -> Subscription {
    try store(of: key).subscription(key)
  }
}

extension StoreList {
  /// What an operator names: by the key of a subscription, or by a number of its store's in the
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

  /// The same where its store is told beside it.
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

/// A setting that has the right form and yet cannot be used, in one sentence.
package struct StoreSetupError: Error, CustomStringConvertible {
  package let description: String

  package init(_ text: String) { description = text }
}
