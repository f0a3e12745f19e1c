package import Base
package import Objects

/// A store of which a test chooses what happens just before and just after an object is opened, and just before one is
/// deleted.
package final class HookedStore: ObjectStore {
  package typealias Hook = @Sendable (Identifier) throws -> Void

  private let store: any ObjectStore
  private let hooks = Locked<(before: Hook?, after: Hook?, deleting: Hook?)>((nil, nil, nil))

  package init(_ store: any ObjectStore) { self.store = store }

  package func beforeOpening(_ hook: @escaping Hook) { hooks.withLock { $0.before = hook } }

  package func afterOpening(_ hook: @escaping Hook) { hooks.withLock { $0.after = hook } }

  /// Also before an upload is deleted that was never finished.
  package func beforeDeleting(_ hook: @escaping Hook) { hooks.withLock { $0.deleting = hook } }

  package func open(_ key: Identifier) throws(ObjectStoreError) -> StoredObject? {
    try run(hooks.withLock { $0.before }, key)
    let object = try store.open(key)
    try run(hooks.withLock { $0.after }, key)
    return object
  }

  private func run(_ hook: Hook?, _ key: Identifier) throws(ObjectStoreError) {
    do { try hook?(key) } catch { throw .unavailable(reason: "the test's hook failed: \(error)") }
  }

  package var instance: Identifier { store.instance }

  /// A hook may take its time.
  package var opensAtOnce: Bool { false }

  package func check() throws(ObjectStoreError) { try store.check() }

  package func isRunning(_ instance: Identifier) -> Bool { store.isRunning(instance) }

  package func forgetInstances() throws(ObjectStoreError) { try store.forgetInstances() }

  package func owner() throws(ObjectStoreError) -> ObjectOwner? { try store.owner() }

  package func belong(to history: Identifier) throws(ObjectStoreError) {
    try store.belong(to: history)
  }

  package func companion() throws(ObjectStoreError) -> String? { try store.companion() }

  package func setCompanion(_ location: String?) throws(ObjectStoreError) {
    try store.setCompanion(location)
  }

  package func hold() throws(ObjectStoreError) -> any ObjectHold { try store.hold() }

  package func isHeld() throws(ObjectStoreError) -> Bool { try store.isHeld() }

  package func create(_ key: Identifier) throws(ObjectStoreError) -> any ObjectWriter {
    try store.create(key)
  }

  package func resume(
    _ key: Identifier, at checkpoint: ObjectCheckpoint
  ) throws(ObjectStoreError) -> any ResumableWriter {
    try store.resume(key, at: checkpoint)
  }

  package func delete(_ key: Identifier) throws(ObjectStoreError) {
    try run(hooks.withLock { $0.deleting }, key)
    try store.delete(key)
  }

  package func leftovers(before moment: Instant) throws(ObjectStoreError) -> [Identifier] {
    try store.leftovers(before: moment)
  }

  package func deleteLeftover(_ key: Identifier) throws(ObjectStoreError) {
    try run(hooks.withLock { $0.deleting }, key)
    try store.deleteLeftover(key)
  }

  package func list(beginningWith byte: UInt8) throws(ObjectStoreError) -> [ListedObject] {
    try store.list(beginningWith: byte)
  }
}
