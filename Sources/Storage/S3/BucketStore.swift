import Base
import HTTPClient
import HTTPMessages
import Objects

/// An object store in a bucket: `ab/cd/<key>`, `tmp/`, `instances/`, `holds/` and `history`, as in a directory.
final class BucketStore: ObjectStore {
  /// Threads that send parts of uploads, and the number of uploads that may wait for them.
  private static let senderCount = 8
  private static let senderQueueCountMax = 4096

  let client: BucketClient
  /// Whether clients may read objects from the service themselves.
  private let givesLinks: Bool
  private let pool = WorkPool(threads: senderCount, capacity: senderQueueCountMax)
  private let presence: BucketPresence
  private let lease: BucketLease

  init(_ client: BucketClient, givesLinks: Bool = false) throws(ObjectStoreError) {
    self.client = client
    self.givesLinks = givesLinks
    let presence = try BucketPresence(client)
    self.presence = presence
    lease = try BucketLease(client, in: .instances) { try presence.look() }
  }

  deinit { pool.stop() }

  static func path(_ key: Identifier) -> String {
    let digits = Array(key.description)
    return "\(String(digits[0..<2]))/\(String(digits[2..<4]))/\(key)"
  }

  var instance: Identifier { lease.id }

  var opensAtOnce: Bool { false }

  func check() throws(ObjectStoreError) { try lease.check() }

  func isRunning(_ instance: Identifier) -> Bool {
    instance == lease.id || presence.isRunning(instance)
  }

  func forgetInstances() throws(ObjectStoreError) {
    for (id, isValid) in presence.others where !isValid && id != instance {
      try client.delete("\(BucketLease.Folder.instances.rawValue)/\(id)")
    }
  }

  private static let history = "history"
  /// Shows that there is a store before it has an owner. A directory that was copied has only its owner.
  private static let marker = "coffer"

  func establish() throws(ObjectStoreError) { _ = try client.put(Self.marker, "objects\n") }

  func isEstablished() throws(ObjectStoreError) -> Bool {
    if try client.head(Self.marker) != nil { return true }
    return try owner() != nil
  }

  func owner() throws(ObjectStoreError) -> ObjectOwner? {
    guard let (line, reply) = try client.firstLine(Self.history) else { return nil }
    guard let history = Identifier(line) else { throw client.refusal(reply) }
    let written = reply.headers.text("last-modified").flatMap { Instant(httpDate: $0) }
    return ObjectOwner(history: history, since: written ?? BucketClient.time(of: reply))
  }

  func belong(to history: Identifier) throws(ObjectStoreError) {
    let known = try owner()?.history
    guard known != history else { return }
    try presence.look()
    let others = presence.others.filter { $0.isValid && $0.id != instance }
    guard known == nil || others.isEmpty else { throw Self.foreign }
    let isWritten = try client.put(Self.history, "\(history)\n", isNew: known == nil)
    // Two first starts at once: the other one was first, or this one's answer was lost.
    if isWritten { return }
    guard try owner()?.history == history else { throw Self.foreign }
  }

  private static let foreign = ObjectStoreError.unavailable(
    reason:
      "the object store is another database's, and a program runs on it, or did two minutes ago")

  private static let companion = "companion"

  func companion() throws(ObjectStoreError) -> String? {
    try client.firstLine(Self.companion)?.text
  }

  func setCompanion(_ location: String?) throws(ObjectStoreError) {
    if let location {
      _ = try client.put(Self.companion, "\(location)\n")
    } else {
      try client.delete(Self.companion)
    }
  }

  func hold() throws(ObjectStoreError) -> any ObjectHold { try BucketHold(client) }

  func isHeld() throws(ObjectStoreError) -> Bool {
    var isHeld = false
    for (id, isValid) in try BucketLease.all(client, in: .holds) {
      if isValid {
        isHeld = true
      } else {
        try client.delete("\(BucketLease.Folder.holds.rawValue)/\(id)")
      }
    }
    return isHeld
  }

  func create(_ key: Identifier) throws(ObjectStoreError) -> any ObjectWriter {
    BucketWriter(client, pool, key)
  }

  func resume(
    _ key: Identifier, at checkpoint: ObjectCheckpoint
  ) throws(ObjectStoreError) -> any ResumableWriter {
    guard let stored = BucketProgress(checkpoint.state) else { throw .incomplete }
    // The row has been written since these were replaced. What cannot be removed now is named again.
    var progress = stored
    progress.replaced = stored.replaced.filter { tail in
      (try? client.delete(tail.name(key))) == nil
    }
    // A part behind the checkpoint is sent again.
    let partCount = Int(checkpoint.byteCount / ObjectParts.byteCount)
    let restByteCount = checkpoint.byteCount % ObjectParts.byteCount
    guard
      progress.tags.count == partCount || progress.tags.count > partCount && restByteCount == 0
    else { throw .incomplete }
    progress.tags.removeSubrange(partCount...)
    var rest: SpoolFile?
    var isFinished = false
    if restByteCount == 0 {
      progress.replaceTail(by: nil)
    } else if let spool = try tail(of: key, progress, restByteCount) {
      rest = spool
    } else {
      guard let object = try open(key), object.byteCount == checkpoint.byteCount else {
        throw .incomplete
      }
      isFinished = true
      // Also the tails that no row names. Failing that, the sweep finds them.
      try? deleteLeftover(key)
    }
    return BucketWriter(
      resuming: key, client, pool, at: progress, byteCount: checkpoint.byteCount, rest: rest,
      isFinished: isFinished)
  }

  private func tail(
    of key: Identifier, _ progress: BucketProgress, _ byteCount: Int64
  ) throws(ObjectStoreError) -> SpoolFile? {
    let start = Int64(progress.tags.count) * ObjectParts.byteCount
    guard let tail = progress.tail, tail.end >= start + byteCount else { return nil }
    let name = tail.name(key)
    guard try client.head(name) != nil else { return nil }
    let object = BucketObject(
      client: client, key: name, byteCount: tail.end - start, isLinked: false)
    return try object.spool(byteCount)
  }

  func open(_ key: Identifier) throws(ObjectStoreError) -> StoredObject? {
    let path = Self.path(key)
    guard let head = try client.head(path) else { return nil }
    guard let byteCount = head.headers.text("content-length").flatMap({ Int64($0) }) else {
      throw .unavailable(reason: "the object store does not report the length of an object")
    }
    return .distant(
      BucketObject(client: client, key: path, byteCount: byteCount, isLinked: givesLinks))
  }

  func delete(_ key: Identifier) throws(ObjectStoreError) { try client.delete(Self.path(key)) }

  func leftovers(before moment: Instant) throws(ObjectStoreError) -> [Identifier] {
    var keys: Set<Identifier> = []
    try client.uploads(below: "") { name, _, begun in
      if begun < moment, let key = Identifier(name) { keys.insert(key) }
    }
    try client.objects(below: BucketTail.folder) { name, _, written, _ in
      if written < moment, let key = BucketTail.key(name) { keys.insert(key) }
    }
    return keys.sorted()
  }

  func deleteLeftover(_ key: Identifier) throws(ObjectStoreError) {
    var ids: [String] = []
    try client.uploads(below: Self.path(key)) { _, id, _ in ids.append(id) }
    for id in ids { try client.abort(Self.path(key), id) }
    var tails: [String] = []
    try client.objects(below: "\(BucketTail.folder)\(key).") { name, _, _, _ in tails.append(name) }
    for name in tails { try client.delete(BucketTail.folder + name) }
  }

  func list(beginningWith byte: UInt8) throws(ObjectStoreError) -> [ListedObject] {
    var listed: [ListedObject] = []
    try client.objects(below: "\(Hex.encode([byte]))/") { name, byteCount, written, _ in
      guard let key = Identifier(name) else { return }
      listed.append(ListedObject(key: key, byteCount: byteCount, written: written))
    }
    return listed
  }
}
