/// One object of a store as one delivery shows it.
package struct Fact: Hashable, Sendable {
  package let key: ObjectKey
  package let object: AnyStoreObject
  package let asOf: AsOf

  package init(key: ObjectKey, object: some StoreObject, asOf: AsOf) {
    self.init(key: key, object: AnyStoreObject(object), asOf: asOf)
  }

  package init(key: ObjectKey, object: AnyStoreObject, asOf: AsOf) {
    self.key = key
    self.object = object
    self.asOf = asOf
  }

  /// The links between objects that the fact states. They only grow, unlike its content.
  package var links: [Link] { object.base.links(from: key) }

  /// The object to read if the fact changes no known subscription; nil if none.
  package var searched: ObjectKey? { object.base.searched(from: key) }
}

/// A store's object, reduced to what coverage needs, without personal data.
package protocol StoreObject: Mirrored {
  /// The links between this object, which is the one that `key` names, and the objects that it names.
  func links(from key: ObjectKey) -> [Link]

  /// The object that shows whose this one is, read if it changes no known subscription. For
  /// example, returned money belongs to a payment.
  func searched(from key: ObjectKey) -> ObjectKey?
}

extension StoreObject {
  package func searched(from key: ObjectKey) -> ObjectKey? { nil }
}

/// An object of any store.
package struct AnyStoreObject: Mirrored {
  package let base: any StoreObject

  package init(_ base: some StoreObject) { self.base = base }

  package var rank: Int { base.rank }

  package static func == (a: AnyStoreObject, b: AnyStoreObject) -> Bool {
    a.base.isSame(as: b.base)
  }

  package func hash(into hasher: inout Hasher) { base.hash(into: &hasher) }
}

extension StoreObject {
  fileprivate func isSame(as other: any StoreObject) -> Bool { (other as? Self) == self }
}

/// A connection between two objects that belong together: `origin` is found from `target`.
package struct Link: Hashable, Sendable {
  package let origin: ObjectKey
  package let target: ObjectKey
  package let kind: Kind

  package enum Kind: String, Sendable, CaseIterable {
    /// The origin belongs to the target's record.
    case part
    /// The origin and everything linked to it belong to the target's record.
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

  /// Links in both directions: one inherits the owner, the other the end.
  package static func succession(of older: ObjectKey, by newer: ObjectKey) -> [Link] {
    [Link(newer, .successor, of: older), Link(older, .predecessor, of: newer)]
  }
}
