package import Objects

/// Opens the object store, or the two, of an installation.
package enum ObjectStores {
  private enum Making {
    case none
    /// One of two, unless the other one knows it already.
    case second
    case all
  }

  /// The store of a command. It must be there unless coffer-sync never started: a new one would hide a mistake.
  package static func open(
    _ place: ObjectsPlace, isFirst: Bool = false
  ) throws(ObjectStoreError) -> any ObjectStore {
    try opened(place, making: isFirst ? .all : .none) { (part) throws(ObjectStoreError) in
      try found(part)
    }
  }

  /// The same; nil if there is none, as before the first start of coffer-sync.
  package static func find(_ place: ObjectsPlace) throws(ObjectStoreError) -> (any ObjectStore)? {
    if place.also == nil, try found(place.main) == nil { return nil }
    return try open(place)
  }

  /// The store of coffer-sync; `isFirst` makes one. With `givesLinks` clients may read from a bucket themselves.
  package static func serve(
    _ place: ObjectsPlace, isFirst: Bool, givesLinks: Bool = false
  ) throws(ObjectStoreError) -> any ObjectStore {
    try opened(
      place, making: isFirst ? .all : .second, givesLinks: givesLinks
    ) { (part) throws(ObjectStoreError) in
      if case .bucket(let address) = part.location {
        try BucketProbe.run(client(address, part.keys))
      }
      return try found(part, givesLinks: givesLinks)
    }
  }

  private static func opened(
    _ place: ObjectsPlace, making: Making, givesLinks: Bool = false,
    _ find: (ObjectsPlace.Part) throws(ObjectStoreError) -> (any ObjectStore)?
  ) throws(ObjectStoreError) -> any ObjectStore {
    let main = try find(place.main)
    guard let second = place.also else {
      let store = try made(place.main, main, beside: nil, making, givesLinks: givesLinks)
      guard let companion = try store.companion() else { return store }
      throw .misconfigured(
        reason: PairStore.alone(place.main.location.description, without: companion))
    }
    let also: (any ObjectStore)?
    do throws(ObjectStoreError) { also = try find(second) } catch {
      guard case .misconfigured(let reason) = error else { throw error }
      throw .misconfigured(reason: "the store of COFFER_OBJECTS_ALSO: \(reason)")
    }
    return try PairStore(
      made(place.main, main, beside: also, making, givesLinks: givesLinks),
      at: place.main.location.description,
      also: made(second, also, beside: main, making, givesLinks: givesLinks),
      at: second.location.description)
  }

  /// The store that was found, or a new one. If the other one names it, it is lost, or its disk is not mounted.
  private static func made(
    _ part: ObjectsPlace.Part, _ found: (any ObjectStore)?, beside other: (any ObjectStore)?,
    _ making: Making, givesLinks: Bool
  ) throws(ObjectStoreError) -> any ObjectStore {
    if let found { return found }
    guard making == .all || making == .second && other != nil,
      try other?.companion() != part.location.description
    else { throw missing(part) }
    return try make(part, givesLinks: givesLinks)
  }

  private static func found(
    _ part: ObjectsPlace.Part, givesLinks: Bool = false
  ) throws(ObjectStoreError) -> (any ObjectStore)? {
    switch part.location {
    case .directory(let path): return try DirectoryStore.existing(in: path)
    case .bucket(let address):
      let store = try BucketStore(client(address, part.keys), givesLinks: givesLinks)
      return try store.isEstablished() ? store : nil
    }
  }

  /// Makes a store, or opens it.
  package static func make(
    _ part: ObjectsPlace.Part, givesLinks: Bool = false
  ) throws(ObjectStoreError) -> any ObjectStore {
    switch part.location {
    case .directory(let path): return try DirectoryStore(directory: path)
    case .bucket(let address):
      let store = try BucketStore(client(address, part.keys), givesLinks: givesLinks)
      try store.establish()
      return store
    }
  }

  private static func missing(_ part: ObjectsPlace.Part) -> ObjectStoreError {
    switch part.location {
    case .directory(let path):
      .unavailable(reason: "there is no object store in \(path); is its disk mounted?")
    case .bucket(let address):
      .misconfigured(reason: "there is no object store in the bucket \(address.bucket) yet")
    }
  }

  private static func client(
    _ address: BucketAddress, _ keys: BucketKeys?
  ) throws(ObjectStoreError) -> BucketClient {
    guard let keys = keys ?? .ofEnvironment() else {
      throw .misconfigured(
        reason:
          "a bucket needs COFFER_OBJECTS_KEY, COFFER_OBJECTS_KEY_FILE, or AWS_ACCESS_KEY_ID and "
          + "AWS_SECRET_ACCESS_KEY")
    }
    return BucketClient(address, keys)
  }
}
