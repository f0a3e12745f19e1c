package import Base
package import Subscriptions

/// A purchase identified by a number that people have from a store, on a receipt or in its console.
package struct NamedPurchase: Sendable {
  /// The object with that number.
  package let object: ObjectKey
  /// The object to read if nothing is known of `object`; nil if the store cannot be asked for it.
  package let subscription: ObjectKey?
  /// The number itself, if knowing it allows anyone to ask for the purchase.
  package let secret: Secret?

  package init(object: ObjectKey, subscription: ObjectKey?, secret: Secret? = nil) {
    self.object = object
    self.subscription = subscription
    self.secret = secret
  }
}
