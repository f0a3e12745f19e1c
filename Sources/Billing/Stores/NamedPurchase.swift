package import Base
package import Subscriptions

/// What a number names that people have from a store: on a receipt, in its console.
package struct NamedPurchase: Sendable {
  /// The object of that number.
  package let object: ObjectKey
  /// What is read where nothing is known of the object; nil where the store cannot be asked for that.
  package let subscription: ObjectKey?
  /// The number itself where whoever holds it may ask for the purchase.
  package let secret: Secret?

  package init(object: ObjectKey, subscription: ObjectKey?, secret: Secret? = nil) {
    self.object = object
    self.subscription = subscription
    self.secret = secret
  }
}
