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
    case .bucket(let address):
      let client = try client(address, keys)
      let store = try BucketStore(client)
      guard try store.isEstablished() else {
        throw .misconfigured(reason: "there is no object store in the bucket \(address.bucket) yet")
      }
      return store
    }
  }

  /// The store of coffer-sync; `isFirst` makes one if there is none. A bucket is tried out.
  package static func serve(
    _ location: ObjectsLocation, _ keys: BucketKeys?, isFirst: Bool
  ) throws(ObjectStoreError) -> any ObjectStore {
    switch location {
    case .directory(let path):
      return isFirst ? try DirectoryStore(directory: path) : try DirectoryStore(existing: path)
    case .bucket(let address):
      try BucketProbe.run(client(address, keys))
      guard isFirst else { return try open(location, keys) }
      let store = try BucketStore(client(address, keys))
      try store.establish()
      return store
    }
  }

  private static func client(
    _ address: BucketAddress, _ keys: BucketKeys?
  ) throws(ObjectStoreError) -> BucketClient {
    guard let keys = keys ?? .ofEnvironment() else {
      throw .misconfigured(
        reason: "a bucket needs COFFER_OBJECTS_KEY, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    }
    return BucketClient(address, keys)
  }
}
