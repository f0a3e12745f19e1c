package import Subscriptions

extension ObjectKey.Provider {
  package static let google = Self("google")
}

extension ObjectKey.Kind {
  /// Google Play's name for a subscription, identified by the digest of its token.
  package static let purchase = Self("purchase")
  package static let order = Self("order")
}
