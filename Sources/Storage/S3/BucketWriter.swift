internal import Base
internal import Objects

/// An upload to a bucket. Its bytes wait in a temporary file of this machine, so that the connection that brings them
/// never waits for the network, and no memory is needed; `finish` sends them.
final class BucketWriter: ObjectWriter {
  let key: Identifier

  private let client: BucketClient
  private let state: Locked<State>

  private struct State {
    /// Nil once the upload has ended.
    var spool: SpoolFile?
    var byteCount: Int64 = 0
  }

  init(_ client: BucketClient, _ key: Identifier) throws(ObjectStoreError) {
    self.client = client
    self.key = key
    state = try Locked(State(spool: SpoolFile()))
  }

  var byteCount: Int64 { state.withLock { $0.byteCount } }

  func write(_ bytes: RawSpan) throws(ObjectStoreError) {
    try state.withLock { state throws(ObjectStoreError) in
      guard let spool = state.spool else { throw Self.ended }
      do throws(ObjectStoreError) { try spool.write(bytes) } catch {
        state.spool = nil
        throw error
      }
      state.byteCount = spool.byteCount
    }
  }

  func finish() throws(ObjectStoreError) {
    try state.withLock { state throws(ObjectStoreError) in
      guard let spool = state.spool else { throw Self.ended }
      defer { state.spool = nil }
      try BucketUpload(client: client, key: BucketStore.path(key), spool: spool).run()
    }
  }

  func abandon() { state.withLock { $0.spool = nil } }

  private static let ended = ObjectStoreError.unavailable(reason: "the upload has ended already")
}
