package import Base
package import Objects
package import Storage

/// Moves the objects that rows need from `also` to `main`, while servers run. It keeps nothing of its own: what
/// `main` lacks is left to do. So a run that was killed is simply repeated, and two runs at once do no harm. Memory
/// is a 256th of the stores' keys, and one block for each thread.
package struct ObjectMigration {
  /// Enough to be limited by the network, not by its answers.
  private static let threadCount = 8
  private static let listedCountMax = 100
  /// After so many failures in a row the stores are what fails, not single objects.
  private static let failureCountMax = 32

  private let database: Database
  private let pair: PairStore
  private let copier: ObjectCopier
  private let copies: Bool
  private let deletes: Bool

  package struct Failure: Sendable {
    package let object: Identifier
    package let reason: String
  }

  package struct Found: Sendable {
    package internal(set) var copiedCount: Int64 = 0
    package internal(set) var copiedByteCount: Int64 = 0
    /// Those that `main` lacks and that were not copied.
    package internal(set) var leftCount: Int64 = 0
    package internal(set) var leftByteCount: Int64 = 0
    /// Those that no row needs any more; the collector deletes them.
    package internal(set) var unneededCount: Int64 = 0
    package internal(set) var deletedCount: Int64 = 0
    /// Old copies that were not deleted because a backup runs.
    package internal(set) var heldCount: Int64 = 0
    /// Uploads under way that began in `also`, and continue there for a day at most.
    package internal(set) var uploadCount: Int64 = 0
    package internal(set) var failureCount: Int64 = 0
    /// The first of them.
    package internal(set) var failures: [Failure] = []

    /// Whether `main` has every object that rows need, and `also` gets no more.
    package var isComplete: Bool { leftCount + uploadCount + failureCount == 0 }

    fileprivate mutating func fail(_ object: Identifier, _ reason: String) {
      failureCount += 1
      if failures.count < ObjectMigration.listedCountMax {
        failures.append(Failure(object: object, reason: reason))
      }
    }
  }

  /// Without `copies` it only counts. With `deletes` it deletes old copies from `also`.
  package init(
    _ database: Database, _ pair: PairStore, copies: Bool, deletes: Bool = false,
    bytesPerSecond: Int64? = nil
  ) {
    self.database = database
    self.pair = pair
    self.copies = copies
    self.deletes = deletes
    copier = ObjectCopier(pair, database, bytesPerSecond: bytesPerSecond)
  }

  /// Goes through the keys that begin with one of `bytes`; all of them complete the move. `each` gets the number of
  /// bytes read and the first byte of the current keys, several times a second.
  ///
  /// - Throws: The last failure, if one object after the other fails.
  package func run(
    _ bytes: ClosedRange<UInt8> = .min ... .max, each: (Int64, UInt8) -> Void = { _, _ in }
  ) throws -> Found {
    var found = Found()
    // Before the lists: an upload that ends in between is an object then.
    found.uploadCount = try uploadsInOld()
    for byte in bytes {
      try takePart(byte, &found) { each(copier.passedByteCount, byte) }
    }
    if copies, found.isComplete, bytes == .min ... .max { try pair.finish() }
    return found
  }

  private func uploadsInOld() throws -> Int64 {
    let keys = try pair.also.leftovers(before: .distantFuture)
    return Int64(try ObjectRows(database: database).needed(keys).count)
  }

  private func takePart(_ byte: UInt8, _ found: inout Found, tick: () -> Void) throws {
    let old = try pair.also.list(beginningWith: byte)
    var known = Set(try pair.main.list(beginningWith: byte).map(\.key))
    // The rows after the lists: an object without a row has lost it, and gets none again.
    let missing = old.filter { !known.contains($0.key) }
    let needed = try ObjectRows(database: database).needed(missing.map(\.key))
    found.unneededCount += Int64(missing.count - needed.count)
    let wanted = missing.filter { needed[$0.key] != nil }
    if copies {
      known.formUnion(try copy(wanted, needed, &found, tick))
    } else {
      found.leftCount += Int64(wanted.count)
      found.leftByteCount = wanted.reduce(found.leftByteCount) { $0.addingClamped($1.byteCount) }
    }
    if deletes { try deleteOld(old.filter { known.contains($0.key) }, &found, tick) }
    tick()
  }

  /// Returns those that were copied.
  private func copy(
    _ objects: [ListedObject], _ needed: [Identifier: Int64?], _ found: inout Found,
    _ tick: () -> Void
  ) throws -> [Identifier] {
    var copied: [Identifier] = []
    var failuresInRow = 0
    try Crew.run(Self.threadCount, objects) { [copier] object in
      copier.copy(object.key, byteCount: needed[object.key] ?? nil)
    } each: { object, outcome in
      failuresInRow += 1
      switch outcome {
      case .copied(let byteCount):
        found.copiedCount += 1
        found.copiedByteCount += byteCount
        copied.append(object.key)
        failuresInRow = 0
      case .unneeded:
        found.unneededCount += 1
        failuresInRow = 0
      case .failed(let reason):
        found.fail(object.key, reason)
        guard failuresInRow < Self.failureCountMax else {
          throw ObjectStoreError.unavailable(
            reason: "one object after the other cannot be copied: \(reason)")
        }
      }
    } tick: {
      tick()
    }
    return copied
  }

  /// A hold is asked for before each part: a backup reads what it found in either store.
  private func deleteOld(
    _ objects: [ListedObject], _ found: inout Found, _ tick: () -> Void
  ) throws {
    guard try !pair.isHeld() else {
      found.heldCount += Int64(objects.count)
      return
    }
    try Crew.run(Self.threadCount, objects) { [copier] object in
      Result { try copier.deleteOld(object) }
    } each: { object, outcome in
      switch outcome {
      case .success(true): found.deletedCount += 1
      // Its row went, and the collector deleted it.
      case .success(false): break
      case .failure(let error): found.fail(object.key, "the old copy stays: \(error)")
      }
    } tick: {
      tick()
    }
  }
}

/// Several threads that work through a list.
private enum Crew {
  /// On the caller's thread, `each` gets every item, and `tick` is called several times a second. If `each` throws,
  /// work that has begun is finished.
  static func run<Item: Sendable, Outcome: Sendable>(
    _ threadCount: Int, _ items: [Item], _ work: @escaping @Sendable (Item) -> Outcome,
    each: (Item, Outcome) throws -> Void, tick: () -> Void
  ) throws {
    let waiting = Locked(items[...])
    let done = Locked<[(Item, Outcome)]>([])
    let threads = (0..<min(threadCount, items.count)).map { _ in
      Thread {
        while let item = waiting.withLock({ $0.popFirst() }) {
          let outcome = work(item)
          done.signal { $0.append((item, outcome)) }
        }
      }
    }
    defer {
      waiting.withLock { $0 = [] }
      for thread in threads { thread.join() }
    }
    var left = items.count
    while left > 0 {
      let ended = done.wait(until: .now() + .milliseconds(200)) { done in
        if done.isEmpty { return [(Item, Outcome)]?.none }
        defer { done = [] }
        return done
      }
      for (item, outcome) in ended ?? [] {
        left -= 1
        try each(item, outcome)
      }
      tick()
    }
  }
}
