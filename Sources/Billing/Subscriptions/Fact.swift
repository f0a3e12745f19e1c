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

  /// What it says about how objects hang together; grows only, unlike its content.
  package var links: [Link] { object.base.links(from: key) }

  /// What must be read where no subscription is known that it changes; nil where nothing must.
  package var searched: ObjectKey? { object.base.searched(from: key) }
}

/// An object of a store, reduced to what coverage needs: no personal data.
package protocol StoreObject: Mirrored {
  /// How it hangs together with the objects it names; it is the one that `key` names.
  func links(from key: ObjectKey) -> [Link]

  /// What tells whose it is, where no subscription is known that it changes: money that went back is
  /// of something that was paid.
  func searched(from key: ObjectKey) -> ObjectKey?
}

extension StoreObject {
  package func searched(from key: ObjectKey) -> ObjectKey? { nil }
}

/// An object of whichever store.
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

/// That two objects belong together: `origin` is found from `target`.
package struct Link: Hashable, Sendable {
  package let origin: ObjectKey
  package let target: ObjectKey
  package let kind: Kind

  package enum Kind: String, Sendable, CaseIterable {
    /// The origin belongs to the target's record.
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
  package static func succession(of older: ObjectKey, by newer: ObjectKey) -> [Link] {
    [Link(newer, .successor, of: older), Link(older, .predecessor, of: newer)]
  }
}
