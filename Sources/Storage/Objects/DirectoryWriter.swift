import Base
import Glibc

/// An upload to a directory, in `tmp/` until it is finished.
final class DirectoryWriter: ResumableWriter {
  let key: Identifier

  private let store: DirectoryStore
  /// Whether the unfinished object stays if the writer fails or is dropped.
  private let isResumable: Bool
  private let state: Locked<State>

  private struct State {
    var descriptor: Int32
    var byteCount: Int64 = 0
    var failure: ObjectStoreError?
    var isFinished = false
    /// Whether the name of the unfinished object is durable.
    var isNamed = false
  }

  /// Takes over `descriptor`.
  init(store: DirectoryStore, key: Identifier, descriptor: Int32) {
    self.store = store
    self.key = key
    isResumable = false
    state = Locked(State(descriptor: descriptor))
  }

  /// Takes over `descriptor`, which stands behind the checkpoint. Nil: the object is finished.
  init(
    resuming key: Identifier, in store: DirectoryStore, descriptor: Int32?,
    at checkpoint: ObjectCheckpoint
  ) {
    self.store = store
    self.key = key
    isResumable = true
    state = Locked(
      State(
        descriptor: descriptor ?? -1, byteCount: checkpoint.byteCount,
        isFinished: descriptor == nil))
  }

  deinit { state.withLock { end(&$0, keeping: isResumable) } }

  var byteCount: Int64 { state.withLock { $0.byteCount } }

  func write(_ bytes: RawSpan) throws(ObjectStoreError) {
    try step { state throws(ObjectStoreError) in
      guard writeAll(bytes, to: state.descriptor) else { throw DirectoryStore.failure("write") }
      state.byteCount += Int64(bytes.byteCount)
    }
  }

  func checkpoint(isLast: Bool) throws(ObjectStoreError) -> ObjectCheckpoint {
    var (descriptor, byteCount, isNamed): (Int32, Int64, Bool) = (-1, 0, true)
    try step(allowingFinished: true) { state throws(ObjectStoreError) in
      // A descriptor of its own, so that `write` need not wait for the disk and `suspend` can close its own.
      descriptor = dup(state.descriptor)
      guard descriptor >= 0 else { throw DirectoryStore.failure("synchronize") }
      (byteCount, isNamed) = (state.byteCount, state.isNamed)
    }
    guard descriptor >= 0 else { return ObjectCheckpoint(byteCount: self.byteCount, state: []) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw DirectoryStore.failure("synchronize") }
    if !isNamed {
      try store.synchronizeUnfinished()
      state.withLock { $0.isNamed = true }
    }
    return ObjectCheckpoint(byteCount: byteCount, state: [])
  }

  func finish() throws(ObjectStoreError) {
    try step(allowingFinished: true) { state throws(ObjectStoreError) in
      guard fsync(state.descriptor) == 0 else { throw DirectoryStore.failure("synchronize") }
      try store.publish(key)
      close(state.descriptor)
      state.descriptor = -1
    }
  }

  func suspend() { state.withLock { end(&$0, keeping: true) } }

  func abandon() { state.withLock { end(&$0, keeping: false) } }

  /// Runs one step of an upload that has not ended; a failure ends it.
  private func step(
    allowingFinished: Bool = false, _ body: (inout State) throws(ObjectStoreError) -> Void
  ) throws(ObjectStoreError) {
    try state.withLock { state throws(ObjectStoreError) in
      if let failure = state.failure { throw failure }
      if state.isFinished, allowingFinished { return }
      guard state.descriptor >= 0 else {
        throw .unavailable(reason: "the upload has ended already")
      }
      do throws(ObjectStoreError) {
        try body(&state)
      } catch {
        state.failure = error
        end(&state, keeping: isResumable)
        throw error
      }
    }
  }

  private func end(_ state: inout State, keeping isKept: Bool) {
    guard state.descriptor >= 0 else { return }
    close(state.descriptor)
    state.descriptor = -1
    guard !isKept else { return }
    do {
      try store.deleteLeftover(key)
    } catch {
      // The sweeper will find it.
      Log.warning("storage.leftover", ["reason": "\(error)"])
    }
  }
}
