package import Base
internal import Glibc

/// One upload. If it is dropped before `finish`, it leaves nothing behind.
///
/// Any thread may call it, one at a time. It ends with the first failure, `finish` or `abandon`.
package final class ObjectWriter: Sendable {
  package let key: Identifier

  private let store: ObjectStore
  private let state: Locked<State>

  private struct State {
    /// Negative once the upload has ended.
    var descriptor: Int32
    var byteCount: Int64 = 0
    var failure: ObjectStoreError?
  }

  /// Takes over `descriptor`.
  init(store: ObjectStore, key: Identifier, descriptor: Int32) {
    self.store = store
    self.key = key
    state = Locked(State(descriptor: descriptor))
  }

  deinit { abandon() }

  package var byteCount: Int64 { state.withLock { $0.byteCount } }

  package func write(_ bytes: RawSpan) throws(ObjectStoreError) {
    try step { state throws(ObjectStoreError) in
      var offset = 0
      while offset < bytes.byteCount {
        let count = unsafe bytes.withUnsafeBytes { bytes in
          unsafe Glibc.write(
            state.descriptor, bytes.baseAddress! + offset, bytes.count - offset)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw ObjectStore.failure("write") }
        offset += count
      }
      state.byteCount += Int64(bytes.byteCount)
    }
  }

  /// Makes the object durable and visible under its key.
  package func finish() throws(ObjectStoreError) {
    try step { state throws(ObjectStoreError) in
      guard fsync(state.descriptor) == 0 else { throw ObjectStore.failure("synchronize") }
      try store.publish(key)
      close(state.descriptor)
      state.descriptor = -1
    }
  }

  /// Removes the upload. Does nothing once it has ended.
  package func abandon() { state.withLock { end(&$0) } }

  /// Runs one step of an upload that has not ended; a failure ends it and frees its space.
  private func step(
    _ body: (inout State) throws(ObjectStoreError) -> Void
  ) throws(ObjectStoreError) {
    try state.withLock { state throws(ObjectStoreError) in
      if let failure = state.failure { throw failure }
      guard state.descriptor >= 0 else {
        throw .unavailable(reason: "the upload has ended already")
      }
      do throws(ObjectStoreError) {
        try body(&state)
      } catch {
        state.failure = error
        end(&state)
        throw error
      }
    }
  }

  private func end(_ state: inout State) {
    guard state.descriptor >= 0 else { return }
    close(state.descriptor)
    state.descriptor = -1
    do {
      try store.deleteLeftover(key)
    } catch {
      // The sweeper will find it.
      Log.warning("storage.leftover", ["reason": "\(error)"])
    }
  }
}
