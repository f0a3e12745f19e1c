/// One provider object as one source shows it.
package struct Fact: Hashable, Sendable {
  package let key: ObjectKey
  package let object: ProviderObject
  package let asOf: AsOf

  package init(key: ObjectKey, object: ProviderObject, asOf: AsOf) {
    self.key = key
    self.object = object
    self.asOf = asOf
  }
}

/// An object of any provider, reduced to what coverage needs: no personal data.
package enum ProviderObject: Hashable, Sendable {
  case stripe(StripeObject)
  case apple(AppleObject)
  case google(GoogleObject)
}
