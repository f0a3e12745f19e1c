package import Objects

/// Opens an object store of either kind.
package enum ObjectStores {
  /// The store of a command. It must be there: a new one would hide a mistake in the setting, or a disk that is not
  /// mounted.
  package static func open(
    _ location: ObjectsLocation, _ keys: BucketKeys?
  ) throws(ObjectStoreError) -> any ObjectStore {
    switch location {
    case .directory(let path): return try DirectoryStore(existing: path)
    case .bucket(let address): return try existing(BucketStore(client(address, keys)), address)
    }
  }

  /// The store of coffer-sync; `isFirst` makes one if there is none. A bucket is tried out. With `givesLinks` clients
  /// may read objects from it themselves.
  package static func serve(
    _ location: ObjectsLocation, _ keys: BucketKeys?, isFirst: Bool, givesLinks: Bool = false
  ) throws(ObjectStoreError) -> any ObjectStore {
    switch location {
    case .directory(let path):
      return isFirst ? try DirectoryStore(directory: path) : try DirectoryStore(existing: path)
    case .bucket(let address):
      let client = try client(address, keys)
      try BucketProbe.run(client)
      let store = try BucketStore(client, givesLinks: givesLinks)
      guard isFirst else { return try existing(store, address) }
      try store.establish()
      return store
    }
  }

  private static func existing(
    _ store: BucketStore, _ address: BucketAddress
  ) throws(ObjectStoreError) -> BucketStore {
    guard try store.isEstablished() else {
      throw .misconfigured(reason: "there is no object store in the bucket \(address.bucket) yet")
    }
    return store
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
