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

  /// What it says about how objects hang together; grows only, unlike its content.
  package var links: [Link] {
    switch object {
    case .stripe(let object): object.links(from: key)
    case .apple(let object): object.links(from: key)
    case .google(let object): object.links(from: key)
    }
  }
}

/// An object of any provider, reduced to what coverage needs: no personal data.
package enum ProviderObject: Hashable, Sendable {
  case stripe(StripeObject)
  case apple(AppleObject)
  case google(GoogleObject)
}

/// That two objects belong together: `origin` is found from `target`.
package struct Link: Hashable, Sendable {
  package let origin: ObjectKey
  package let target: ObjectKey
  package let kind: Kind

  package enum Kind: String, Sendable, CaseIterable {
    /// The origin belongs to the target's closure.
    case part
    /// So does everything that is linked to the origin.
    case bridge
    /// The origin is a purchase that continues the target.
    case successor
    /// The origin is the purchase that the target continues.
    case predecessor
  }

  package init(_ origin: ObjectKey, _ kind: Kind, of target: ObjectKey) {
    self.origin = origin
    self.kind = kind
    self.target = target
  }

  /// Both ways, as the owner is inherited one way and an end the other.
  static func succession(of older: ObjectKey, by newer: ObjectKey) -> [Link] {
    [Link(newer, .successor, of: older), Link(older, .predecessor, of: newer)]
  }
}

extension ObjectKey {
  /// Another object of the same provider and partition.
  func sibling(_ kind: Kind, _ id: String) -> ObjectKey {
    ObjectKey(provider: provider, partition: partition, kind: kind, id: id)
  }
}
