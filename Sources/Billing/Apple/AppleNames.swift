package import Subscriptions

extension ObjectKey.Provider {
  package static let apple = Self("apple")
}

/// A subscription is identified by its original transaction.
extension ObjectKey.Kind {
  package static let transaction = Self("transaction")
  package static let renewal = Self("renewal")
  package static let status = Self("status")
}
