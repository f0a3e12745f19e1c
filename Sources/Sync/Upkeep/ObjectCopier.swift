import Base
import Crypto
import Objects
import Storage

/// Copies single objects from `also` to `main`, beside servers and collectors. Any thread may call it.
final class ObjectCopier: Sendable {
  enum Outcome: Sendable {
    case copied(byteCount: Int64)
    /// No row needs it any more, or another run has copied it.
    case unneeded
    case failed(reason: String)
  }

  private let pair: PairStore
  private let rows: ObjectRows
  private let pace: Pace
  private let passed = Locked<Int64>(0)

  init(_ pair: PairStore, _ database: Database, bytesPerSecond: Int64?) {
    self.pair = pair
    rows = ObjectRows(database: database)
    pace = Pace(bytesPerSecond)
  }

  /// The number of bytes that were read.
  var passedByteCount: Int64 { passed.withLock { $0 } }

  /// Copies an object that rows need, with that length if they tell it. It takes no hold: a hold of hours would
  /// refuse the writes of accounts that replace much. The collector may delete the object meanwhile, once no row
  /// needs it, for good. So the rows are asked after the copy.
  func copy(_ key: Identifier, byteCount: Int64?) -> Outcome {
    do {
      let outcome = try copied(key, byteCount)
      guard try isNeeded(key) else {
        try pair.main.delete(key)
        return .unneeded
      }
      return outcome
    } catch {
      // The collector may have taken away the object, or the unfinished copy.
      if (try? isNeeded(key)) == false { return .unneeded }
      return .failed(reason: "\(error)")
    }
  }

  /// Deletes the object from `also` if `main` has it whole. False if not.
  func deleteOld(_ object: ListedObject) throws -> Bool {
    guard try pair.main.open(object.key)?.byteCount == object.byteCount else { return false }
    try pair.also.delete(object.key)
    return true
  }

  private func isNeeded(_ key: Identifier) throws -> Bool { try rows.needed([key])[key] != nil }

  private func copied(_ key: Identifier, _ byteCount: Int64?) throws -> Outcome {
    guard let source = try pair.also.open(key) else {
      return try pair.main.open(key) == nil
        ? .failed(reason: "neither store has it") : .unneeded
    }
    guard byteCount == nil || byteCount == source.byteCount else {
      return .failed(
        reason: "it has \(source.byteCount) bytes instead of \(byteCount ?? 0)")
    }
    let digest: [UInt8]
    do throws(ObjectStoreError) { digest = try write(source, as: key) } catch {
      guard error == .alreadyExists, try pair.main.open(key)?.byteCount == source.byteCount else {
        throw error
      }
      return .unneeded
    }
    try verify(key, source.byteCount, digest)
    return .copied(byteCount: source.byteCount)
  }

  /// Returns the SHA-256 of what was read.
  private func write(
    _ source: StoredObject, as key: Identifier
  ) throws(ObjectStoreError) -> [UInt8] {
    let writer = try writer(of: key)
    let digest = SHA256Stream()
    do throws(ObjectStoreError) {
      try source.read { (block) throws(ObjectStoreError) in
        pace.wait(for: block.byteCount)
        digest.update(block)
        try writer.write(block)
        passed.withLock { $0 += Int64(block.byteCount) }
        writer.waitForRoom()
      }
      try writer.finish()
    } catch {
      writer.abandon()
      // A writer that can be continued keeps what a failure left.
      try? pair.main.deleteLeftover(key)
      throw error
    }
    return digest.finalize()
  }

  /// A killed run's unfinished file is in the way of `create`. `resume` begins it anew, and locks it.
  private func writer(of key: Identifier) throws(ObjectStoreError) -> any ObjectWriter {
    guard pair.main is DirectoryStore else { return try pair.main.create(key) }
    return try pair.main.resume(key, at: ObjectCheckpoint(byteCount: 0, state: []))
  }

  /// A file is read again. A service has checked the digest of what it was sent, and reports the length.
  private func verify(_ key: Identifier, _ byteCount: Int64, _ digest: [UInt8]) throws {
    let copy = try pair.main.open(key)
    var isWhole = copy?.byteCount == byteCount
    if isWhole, let copy, case .file = copy {
      let found = SHA256Stream()
      try copy.read { (block) throws(ObjectStoreError) in
        found.update(block)
      }
      isWhole = found.finalize() == digest
    }
    guard isWhole else {
      // The collector may have deleted it; a wrong copy must not stay before the right one.
      try pair.main.delete(key)
      throw ObjectStoreError.unavailable(reason: "the copy is not what was written")
    }
  }
}

/// Keeps several threads together below a rate.
private final class Pace: Sendable {
  private let bytesPerSecond: Int64?
  private let next = Locked(MonotonicTime.now())

  init(_ bytesPerSecond: Int64?) { self.bytesPerSecond = bytesPerSecond }

  func wait(for byteCount: Int) {
    guard let bytesPerSecond else { return }
    let start = next.withLock { next in
      let start = max(next, .now())
      next = start + .milliseconds(Int64(byteCount) * 1000 / bytesPerSecond)
      return start
    }
    _ = Locked(()).wait(until: start) { _ in Void?.none }
  }
}
