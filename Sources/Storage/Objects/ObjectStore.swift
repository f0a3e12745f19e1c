package import Base

/// A store of large contents under random keys.
///
/// A key is written once and never again, so that a reader never sees two contents under one key. A reservation row
/// protects each upload. Several processes may share a store.
///
/// Any thread may call it. Calls may block on disk or network, except for `check`, `isRunning` and `create`.
package protocol ObjectStore: AnyObject, Sendable {
  /// The name of this process among those that share the store.
  var instance: Identifier { get }

  /// Whether `open` waits for a disk of this machine at most, like a query of the database.
  var opensAtOnce: Bool { get }

  /// Throws if the store could not be used lately.
  func check() throws(ObjectStoreError)

  /// Whether the process of that name runs. If this is not known, it counts as running.
  func isRunning(_ instance: Identifier) -> Bool

  func forgetInstances() throws(ObjectStoreError)

  /// The history of the database whose server last started with these objects; nil if none did.
  func owner() throws(ObjectStoreError) -> ObjectOwner?

  /// Assigns the objects to the database with this history.
  ///
  /// - Throws: An error if they are another database's that may be in use: each would delete the other's objects.
  func belong(to history: Identifier) throws(ObjectStoreError)

  /// The location of another store that may have objects of this installation, as this one says.
  func companion() throws(ObjectStoreError) -> String?

  func setCompanion(_ location: String?) throws(ObjectStoreError)

  /// Keeps every process from deleting objects while the hold exists, so that what was in use can be read.
  func hold() throws(ObjectStoreError) -> any ObjectHold

  /// Whether any process holds objects.
  ///
  /// Choose the garbage to delete first, and then ask: a hold that is taken later sees none of that garbage in use.
  func isHeld() throws(ObjectStoreError) -> Bool

  func create(_ key: Identifier) throws(ObjectStoreError) -> any ObjectWriter

  /// Continues an upload at a checkpoint, in any request or process; at byte 0 begins one. Bytes behind it are dropped.
  ///
  /// An upload that was finished needs nothing but `finish` again. The writer's drop or failure keeps what is durable.
  ///
  /// - Throws: `.busy` while another writer has the upload open; `.incomplete` if the store has less than it counts.
  func resume(
    _ key: Identifier, at checkpoint: ObjectCheckpoint
  ) throws(ObjectStoreError) -> any ResumableWriter

  func open(_ key: Identifier) throws(ObjectStoreError) -> StoredObject?

  /// Removes the object. It is not an error if there is none.
  func delete(_ key: Identifier) throws(ObjectStoreError)

  /// The keys of uploads that crashes left behind: they began, or were last written to, before `moment`.
  func leftovers(before moment: Instant) throws(ObjectStoreError) -> [Identifier]

  /// Removes an upload that was never finished. It is not an error if there is none.
  func deleteLeftover(_ key: Identifier) throws(ObjectStoreError)

  /// The objects whose keys begin with a byte: about one object in 256.
  func list(beginningWith byte: UInt8) throws(ObjectStoreError) -> [ListedObject]
}

/// One upload. If it is dropped before `finish`, it leaves nothing behind.
///
/// Any thread may call it, one at a time. It ends with the first failure, `finish` or `abandon`.
package protocol ObjectWriter: AnyObject, Sendable {
  var key: Identifier { get }
  var byteCount: Int64 { get }

  /// Takes bytes without waiting for a network.
  func write(_ bytes: RawSpan) throws(ObjectStoreError)

  /// Whether the caller should write no more until `proceed` is called, once: so much waits for a network.
  func pause(_ proceed: @escaping @Sendable () -> Void) -> Bool

  /// Makes the object durable and visible under its key.
  func finish() throws(ObjectStoreError)

  /// Removes the upload. Does nothing once it has ended.
  func abandon()
}

extension ObjectWriter {
  /// A disk is fast enough.
  package func pause(_ proceed: @escaping @Sendable () -> Void) -> Bool { false }

  /// Waits as long as `pause` asks for it.
  package func waitForRoom() {
    let hasRoom = Locked(false)
    guard pause({ hasRoom.signal { $0 = true } }) else { return }
    _ = hasRoom.wait { $0 ? true : nil }
  }
}

/// A hold that prevents the deletion of objects, until it is released or its process ends.
package protocol ObjectHold: AnyObject, Sendable {
  /// Throws if objects may have been deleted since the hold was taken.
  func check() throws(ObjectStoreError)
}

/// The owner of the objects, and the time since it has owned them.
package struct ObjectOwner: Sendable {
  package let history: Identifier
  package let since: Instant

  package init(history: Identifier, since: Instant) {
    self.history = history
    self.since = since
  }
}

/// An object as a store lists it.
package struct ListedObject: Sendable {
  package let key: Identifier
  package let byteCount: Int64
  /// When it was written.
  package let written: Instant

  package init(key: Identifier, byteCount: Int64, written: Instant) {
    self.key = key
    self.byteCount = byteCount
    self.written = written
  }
}

/// How far an unfinished object is durable.
package struct ObjectCheckpoint: Sendable, Equatable {
  package let byteCount: Int64
  /// What the store needs to continue, for the store alone; empty for a directory.
  package let state: [UInt8]

  package init(byteCount: Int64, state: [UInt8]) {
    self.byteCount = byteCount
    self.state = state
  }
}

/// An upload that another request may continue. `checkpoint` may run beside `write`. It ends with `suspend`, too.
package protocol ResumableWriter: ObjectWriter {
  /// Makes durable the bytes that were written before the call. Blocks as long as the disk or the network does.
  ///
  /// Unless it is the last before the writer ends, bytes may be left out that fill no part of `ObjectParts.byteCount`.
  func checkpoint(isLast: Bool) throws(ObjectStoreError) -> ObjectCheckpoint

  /// Lets go of the upload and keeps the unfinished object, for `resume`.
  func suspend()
}

/// The parts in which a store may take a content.
package enum ObjectParts {
  /// Every part but the last has this size: some S3 services require equal parts of at least 5 MiB.
  package static let byteCount: Int64 = 8 << 20

  /// The most that is read of a distant object at once: SeaweedFS reads whole blocks of this size.
  package static let blockByteCount: Int64 = 4 << 20
}
