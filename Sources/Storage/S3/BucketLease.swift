import Base
import Objects

/// A small object that is written again and again, by which others know that this process runs.
///
/// Its age is judged by the store's clock alone, so the clocks of the machines do not matter.
final class BucketLease: Sendable {
  /// The folder of the processes, and that of the holds.
  enum Folder: String { case instances, holds }

  private static let beatSeconds: Int64 = 20
  /// A process counts as running for so long after its last beat. Five beats may fail, or wait for a slow store.
  static let lifetime = Instant.Span.seconds(120)

  let id: Identifier
  private let client: BucketClient
  private let key: String
  private let beat: Locked<Beat>
  private let periodic: Periodic

  private struct Beat {
    var last = MonotonicTime.now()
    /// Whether the lease ran out once.
    var hasLapsed = false
    /// Why the last beat failed; nil if it did not.
    var failure: ObjectStoreError?
  }

  init(
    _ client: BucketClient, in folder: Folder, work: @escaping @Sendable () throws -> Void = {}
  ) throws(ObjectStoreError) {
    var random = SystemRandomNumberGenerator()
    let id = Identifier(high: random.next(), low: random.next())
    let key = "\(folder.rawValue)/\(id)"
    let beat = Locked(Beat())
    _ = try client.put(key, "\(id)\n")
    (self.id, self.client, self.key, self.beat) = (id, client, key, beat)
    periodic = Periodic("objects.\(folder.rawValue)", every: Self.beatSeconds) {
      let begun = MonotonicTime.now()
      do throws(ObjectStoreError) {
        _ = try client.put(key, "\(id)\n")
      } catch {
        beat.withLock { $0.failure = error }
        throw error
      }
      beat.withLock { beat in
        if beat.last + Self.lifetime < .now() { beat.hasLapsed = true }
        (beat.last, beat.failure) = (begun, nil)
      }
      try work()
    }
  }

  deinit {
    periodic.stop()
    // Otherwise the lease ends by itself.
    try? client.delete(key)
  }

  /// Throws if the store has not answered for a while, and at once if it refuses this program.
  func check() throws(ObjectStoreError) {
    let beat = beat.withLock { $0 }
    if let failure = beat.failure, case .misconfigured = failure { throw failure }
    guard beat.last + .seconds(3 * Self.beatSeconds) > .now() else {
      throw .unavailable(reason: "the object store has not answered for a minute")
    }
  }

  var isUnbroken: Bool {
    beat.withLock { !$0.hasLapsed && $0.last + Self.lifetime > .now() }
  }

  static func all(
    _ client: BucketClient, in folder: Folder
  ) throws(ObjectStoreError) -> [(id: Identifier, isValid: Bool)] {
    var found: [(id: Identifier, isValid: Bool)] = []
    try client.objects(below: "\(folder.rawValue)/") { name, _, written, now in
      guard let id = Identifier(name) else { return }
      found.append((id, written + lifetime > now))
    }
    return found
  }
}

/// A hold that ends two minutes after its process.
final class BucketHold: ObjectHold {
  private let lease: BucketLease

  init(_ client: BucketClient) throws(ObjectStoreError) {
    lease = try BucketLease(client, in: .holds)
  }

  func check() throws(ObjectStoreError) {
    guard lease.isUnbroken else {
      throw .unavailable(
        reason: "the object store could not be reached for two minutes, so objects may be gone")
    }
  }
}
