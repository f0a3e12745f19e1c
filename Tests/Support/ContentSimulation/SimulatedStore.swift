import Base
import Crypto
import Objects

/// One program's view of a simulated disk, as a bucket would give it: objects are read by their keys.
final class SimulatedStore: ObjectStore {
  let instance = Random.identifier()
  let opensAtOnce = false
  let disk: Locked<SimulatedDisk>
  private let mishaps: Mishaps
  private let mistake: ContentMistake?
  private let now: @Sendable () -> Instant
  private let isDead = Locked(false)

  init(
    _ disk: Locked<SimulatedDisk>, _ mishaps: Mishaps, _ mistake: ContentMistake?,
    now: @escaping @Sendable () -> Instant
  ) {
    (self.disk, self.mishaps, self.mistake, self.now) = (disk, mishaps, mistake, now)
    disk.withLock { _ = $0.running.insert(instance) }
  }

  /// The program is gone. Whatever its threads still do has no effect.
  func end() { isDead.withLock { $0 = true } }

  /// A request to the store, with what may go wrong with it. `sent` is an object that may land later.
  func request<Value>(
    sending sent: Mishaps.Sent? = nil,
    _ body: (inout SimulatedDisk) throws(ObjectStoreError) -> Value
  ) throws(ObjectStoreError) -> Value {
    let lost = ObjectStoreError.unavailable(reason: "simulated")
    mishaps.tick(sending: sent)
    guard !isDead.withLock({ $0 }) else { throw lost }
    switch mishaps.request() {
    case .failure, .cut: throw lost
    case .late:
      if let sent { disk.withLock { $0.late.append(sent) } }
      throw lost
    case .lostAnswer:
      _ = try disk.withLock(body)
      throw lost
    case nil: break
    }
    let value = try disk.withLock(body)
    mishaps.tick()
    return value
  }

  /// What a writer that is dropped leaves; no request that could fail.
  fileprivate func quietly(_ body: (inout SimulatedDisk) -> Void) {
    guard !isDead.withLock({ $0 }) else { return }
    disk.withLock { body(&$0) }
  }

  func check() {}

  func isRunning(_ instance: Identifier) -> Bool {
    disk.withLock { $0.running.contains(instance) }
  }

  func forgetInstances() {}

  func owner() -> ObjectOwner? { disk.withLock { $0.owner } }

  func belong(to history: Identifier) {
    let now = now()
    disk.withLock { disk in
      if disk.owner?.history != history { disk.owner = ObjectOwner(history: history, since: now) }
    }
  }

  func companion() -> String? { nil }

  func setCompanion(_ location: String?) {}

  private final class Hold: ObjectHold {
    let disk: Locked<SimulatedDisk>
    init(_ disk: Locked<SimulatedDisk>) {
      self.disk = disk
      disk.withLock { $0.holdCount += 1 }
    }
    deinit { disk.withLock { $0.holdCount -= 1 } }
    func check() {}
  }

  func hold() -> any ObjectHold { Hold(disk) }

  func isHeld() throws(ObjectStoreError) -> Bool {
    try request { disk throws(ObjectStoreError) in disk.holdCount > 0 }
  }

  func create(_ key: Identifier) throws(ObjectStoreError) -> any ObjectWriter {
    let (writer, now) = (Random.identifier(), now())
    try request { disk throws(ObjectStoreError) in
      guard disk.unfinished[key] == nil else { throw .alreadyExists }
      disk.unfinished[key] = .init(writer: writer, written: now)
    }
    return SimulatedWriter(key, writer, self, isResumable: false)
  }

  func resume(
    _ key: Identifier, at checkpoint: ObjectCheckpoint
  ) throws(ObjectStoreError) -> any ResumableWriter {
    let (writer, now, count) = (Random.identifier(), now(), Int(checkpoint.byteCount))
    let isFinished = try request { disk throws(ObjectStoreError) in
      guard var unfinished = disk.unfinished[key] else {
        if let object = disk.objects[key], object.bytes.count == count { return true }
        guard count == 0 else { throw .incomplete }
        disk.unfinished[key] = .init(writer: writer, written: now)
        return false
      }
      guard unfinished.writer == nil else { throw .busy }
      guard unfinished.bytes.count >= count else { throw .incomplete }
      unfinished.bytes.removeLast(unfinished.bytes.count - count)
      // More may have been durable: the row that counts it was lost.
      unfinished.durableByteCount = min(unfinished.durableByteCount, count)
      unfinished.writer = writer
      disk.unfinished[key] = unfinished
      return false
    }
    return SimulatedWriter(
      key, isFinished ? nil : writer, self, isResumable: true, byteCount: checkpoint.byteCount)
  }

  func open(_ key: Identifier) throws(ObjectStoreError) -> StoredObject? {
    try request { disk throws(ObjectStoreError) in
      disk.objects[key].map { object in
        .distant(
          SimulatedObject(store: self, key: key, byteCount: Int64(object.bytes.count)))
      }
    }
  }

  func delete(_ key: Identifier) throws(ObjectStoreError) {
    try request { disk throws(ObjectStoreError) in
      if mistake != .keepsDeleted { disk.objects[key] = nil }
    }
  }

  /// `moment` is of the machine's clock, whose distance to now counts.
  func leftovers(before moment: Instant) throws(ObjectStoreError) -> [Identifier] {
    let age = Instant.Span.seconds((Clock.system.now() - moment).milliseconds / 1000)
    let virtual = now() - age
    return try request { disk throws(ObjectStoreError) in
      disk.unfinished.filter { $0.value.written < virtual }.map(\.key).sorted()
    }
  }

  func deleteLeftover(_ key: Identifier) throws(ObjectStoreError) {
    try request { disk throws(ObjectStoreError) in disk.unfinished[key] = nil }
  }

  func list(beginningWith byte: UInt8) throws(ObjectStoreError) -> [ListedObject] {
    try request { disk throws(ObjectStoreError) in
      disk.objects.filter { $0.key.bytes.first == byte }.map { key, object in
        ListedObject(
          key: key, byteCount: Int64(object.bytes.count), written: object.written)
      }.sorted { $0.key < $1.key }
    }
  }

  /// Calls the bytes of a writer whole. A key is written once, so an object that is there already is the same.
  fileprivate func finish(_ key: Identifier, _ writer: Identifier) throws(ObjectStoreError) {
    let now = now()
    let bytes = disk.withLock { $0.unfinished[key]?.bytes } ?? []
    let isEarly = mistake == .acknowledgesEarly
    try request(sending: (key, bytes)) { disk throws(ObjectStoreError) in
      guard let unfinished = disk.unfinished[key], unfinished.writer == writer else {
        throw .unavailable(reason: "the upload has ended already")
      }
      disk.unfinished[key] = nil
      disk.objects[key] = .init(bytes: unfinished.bytes, written: now)
      if isEarly { disk.unwritten.insert(key) }
    }
  }

  fileprivate func change(
    _ key: Identifier, _ writer: Identifier,
    _ body: (inout SimulatedDisk.Unfinished) -> Void
  ) throws(ObjectStoreError) {
    let now = now()
    try request { disk throws(ObjectStoreError) in
      guard var unfinished = disk.unfinished[key], unfinished.writer == writer else {
        throw .unavailable(reason: "the upload has ended already")
      }
      body(&unfinished)
      unfinished.written = now
      disk.unfinished[key] = unfinished
    }
  }

  fileprivate func keepsBytes(of count: Int) -> Int {
    mistake == .losesBytes ? max(0, count - 1) : count
  }
}

/// An object that is read by its key, for as long as it is there.
private struct SimulatedObject: DistantObject {
  let store: SimulatedStore
  let key: Identifier
  let byteCount: Int64

  func link() -> String? { nil }

  func read(_ range: Range<Int64>) throws(ObjectStoreError) -> [UInt8] {
    try store.request { disk throws(ObjectStoreError) in
      guard let object = disk.objects[key], object.bytes.count == byteCount else {
        throw .unavailable(reason: "the object is gone")
      }
      return Array(object.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
  }

  func fetch() throws(ObjectStoreError) -> OpenFile {
    throw .unavailable(reason: "a simulation has no files")
  }
}

/// An upload to a simulated disk.
private final class SimulatedWriter: ResumableWriter {
  let key: Identifier
  private let writer: Identifier
  private let store: SimulatedStore
  private let isResumable: Bool
  private let state: Locked<State>

  private struct State {
    var byteCount: Int64
    let isFinished: Bool
    var hasEnded = false
  }

  /// `writer` is nil if the object is finished.
  init(
    _ key: Identifier, _ writer: Identifier?, _ store: SimulatedStore, isResumable: Bool,
    byteCount: Int64 = 0
  ) {
    (self.key, self.store, self.isResumable) = (key, store, isResumable)
    self.writer = writer ?? Identifier(high: 0, low: 0)
    state = Locked(State(byteCount: byteCount, isFinished: writer == nil))
  }

  deinit { end(keeping: isResumable) }

  var byteCount: Int64 { state.withLock { $0.byteCount } }

  func write(_ bytes: RawSpan) throws(ObjectStoreError) {
    let bytes = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
    try step { () throws(ObjectStoreError) in
      try store.change(key, writer) { $0.bytes += bytes }
    }
    state.withLock { $0.byteCount += Int64(bytes.count) }
  }

  func checkpoint(isLast: Bool) throws(ObjectStoreError) -> ObjectCheckpoint {
    let count = byteCount
    if !state.withLock({ $0.isFinished }) {
      try step { () throws(ObjectStoreError) in
        try store.change(key, writer) { object in
          object.durableByteCount = store.keepsBytes(of: object.bytes.count)
        }
      }
    }
    return ObjectCheckpoint(byteCount: count, state: [])
  }

  func finish() throws(ObjectStoreError) {
    if state.withLock({ $0.isFinished }) { return }
    try step { () throws(ObjectStoreError) in try store.finish(key, writer) }
    state.withLock { $0.hasEnded = true }
  }

  func suspend() { end(keeping: true) }

  func abandon() { end(keeping: false) }

  /// A failure ends the writer.
  private func step(
    _ body: () throws(ObjectStoreError) -> Void
  ) throws(ObjectStoreError) {
    guard !state.withLock({ $0.hasEnded }) else {
      throw .unavailable(reason: "the upload has ended already")
    }
    do throws(ObjectStoreError) { try body() } catch {
      end(keeping: isResumable)
      throw error
    }
  }

  private func end(keeping isKept: Bool) {
    let isFirst = state.withLock { state in
      defer { state.hasEnded = true }
      return !state.hasEnded && !state.isFinished
    }
    guard isFirst else { return }
    store.quietly { disk in
      guard disk.unfinished[key]?.writer == writer else { return }
      disk.unfinished[key]?.writer = nil
      if !isKept { disk.unfinished[key] = nil }
    }
  }
}
