package import Base

/// Two stores while an installation moves its objects from one to the other.
///
/// `main` gets every new object. `also` is read, listed, deleted from, and continues its uploads. No row says which has
/// an object: a copy is complete before the other one goes, so whoever looks in both finds it.
package final class PairStore: ObjectStore {
  package let main: any ObjectStore
  package let also: any ObjectStore
  private let mainLocation: String
  private let alsoLocation: String

  /// - Throws: `.misconfigured` if either store says that it belongs together with a third one.
  package init(
    _ main: any ObjectStore, at mainLocation: String, also: any ObjectStore,
    at alsoLocation: String
  ) throws(ObjectStoreError) {
    (self.main, self.also) = (main, also)
    (self.mainLocation, self.alsoLocation) = (mainLocation, alsoLocation)
    let known = (try main.companion(), try also.companion())
    for (location, wanted, found) in [
      (mainLocation, alsoLocation, known.0), (alsoLocation, mainLocation, known.1),
    ] {
      guard let found, found != wanted else { continue }
      throw .misconfigured(reason: Self.alone(location, without: found))
    }
  }

  /// What is wrong with a program that opens the store at `location` and not the one at `companion`.
  package static func alone(_ location: String, without companion: String) -> String {
    "objects may be in \(companion), too, as \(location) says in \"companion\": set COFFER_OBJECTS_ALSO until "
      + "coffer objects migrate is done"
  }

  package var opensAtOnce: Bool { main.opensAtOnce && also.opensAtOnce }

  // MARK: Processes

  /// Reservations name it. A program of the first step, to which this store is `also`, looks there, too.
  package var instance: Identifier { main.instance }

  /// Both are asked: a program that was started with the two the other way round, or with one, is known there.
  package func isRunning(_ instance: Identifier) -> Bool {
    main.isRunning(instance) || also.isRunning(instance)
  }

  package func forgetInstances() throws(ObjectStoreError) {
    try main.forgetInstances()
    try also.forgetInstances()
  }

  /// Documents are in both, so both must be there.
  package func check() throws(ObjectStoreError) {
    try main.check()
    try also.check()
  }

  // MARK: Whose they are

  /// Owned since the younger ownership: no orphan is deleted in the first day. Nil if they are of two databases.
  package func owner() throws(ObjectStoreError) -> ObjectOwner? {
    let (first, second) = (try main.owner(), try also.owner())
    guard let first, let second else { return first }
    guard first.history == second.history else { return nil }
    return ObjectOwner(history: first.history, since: max(first.since, second.since))
  }

  /// Writes into the stores that neither can be opened alone, before anything depends on it.
  ///
  /// In the first of two steps only `main` has an owner, and stays free to be opened alone. Once `also` has its mark
  /// the move has begun, and `finish` may have ended it, so `main` gets no mark again.
  package func belong(to history: Identifier) throws(ObjectStoreError) {
    let (own, other) = (try main.owner()?.history, try also.owner()?.history)
    guard other == nil || other == history || other == own else {
      throw .misconfigured(reason: "the store of COFFER_OBJECTS_ALSO is another database's")
    }
    if try also.companion() == nil {
      if other != nil || own == nil { try main.setCompanion(alsoLocation) }
      try also.setCompanion(mainLocation)
    }
    try main.belong(to: history)
    if other != nil { try also.belong(to: history) }
  }

  /// Records that `main` has every object that rows name. `also` keeps its mark: alone it would not do.
  package func finish() throws(ObjectStoreError) { try main.setCompanion(nil) }

  /// The store that may have objects that `main` lacks; nil once there is none.
  package func companion() throws(ObjectStoreError) -> String? { try main.companion() }

  package func setCompanion(_ location: String?) throws(ObjectStoreError) {
    try main.setCompanion(location)
  }

  // MARK: Holds

  /// In both, because a program that was started before there were two asks one only.
  package func hold() throws(ObjectStoreError) -> any ObjectHold {
    PairHold(first: try main.hold(), second: try also.hold())
  }

  package func isHeld() throws(ObjectStoreError) -> Bool {
    if try main.isHeld() { return true }
    return try also.isHeld()
  }

  // MARK: Objects

  package func create(_ key: Identifier) throws(ObjectStoreError) -> any ObjectWriter {
    try main.create(key)
  }

  /// An upload continues in the store that has its first bytes. One without bytes begins in `main`.
  package func resume(
    _ key: Identifier, at checkpoint: ObjectCheckpoint
  ) throws(ObjectStoreError) -> any ResumableWriter {
    do { return try main.resume(key, at: checkpoint) } catch {
      guard error == .incomplete, checkpoint.byteCount > 0 else { throw error }
    }
    return try also.resume(key, at: checkpoint)
  }

  /// Looks in `main` again at the end: between the first two looks the object may have moved there.
  package func open(_ key: Identifier) throws(ObjectStoreError) -> StoredObject? {
    if let object = try main.open(key) { return object }
    if let object = try also.open(key) { return object }
    return try main.open(key)
  }

  /// From `also` first, so that less is copied after its deletion. What is copied nevertheless, its copier deletes.
  package func delete(_ key: Identifier) throws(ObjectStoreError) {
    try also.delete(key)
    try main.delete(key)
  }

  package func leftovers(before moment: Instant) throws(ObjectStoreError) -> [Identifier] {
    let found = try main.leftovers(before: moment) + also.leftovers(before: moment)
    return Set(found).sorted()
  }

  package func deleteLeftover(_ key: Identifier) throws(ObjectStoreError) {
    try also.deleteLeftover(key)
    try main.deleteLeftover(key)
  }

  /// An object that both have is listed once, as old as the younger copy: that one may have just been made.
  package func list(beginningWith byte: UInt8) throws(ObjectStoreError) -> [ListedObject] {
    var found: [Identifier: ListedObject] = [:]
    for object in try main.list(beginningWith: byte) + also.list(beginningWith: byte) {
      let known = found[object.key]
      found[object.key] = ListedObject(
        key: object.key, byteCount: known?.byteCount ?? object.byteCount,
        written: max(known?.written ?? .distantPast, object.written))
    }
    return Array(found.values)
  }
}

private final class PairHold: ObjectHold {
  private let first: any ObjectHold
  private let second: any ObjectHold

  init(first: any ObjectHold, second: any ObjectHold) {
    (self.first, self.second) = (first, second)
  }

  func check() throws(ObjectStoreError) {
    try first.check()
    try second.check()
  }
}
