import Base
import HTTPClient
import HTTPMessages
import Objects

/// An upload to a bucket. Its bytes wait in temporary files, so that their connection never waits for the network. Each
/// whole part is sent by the store's pool while more arrives.
final class BucketWriter: ResumableWriter {
  /// So many whole parts may wait before the writer asks for a pause.
  private static let waitingCountMax = 4

  let key: Identifier
  private let client: BucketClient
  private let pool: WorkPool
  /// Whether what the bucket has stays if the writer fails or is dropped.
  private let isResumable: Bool
  private let state: Locked<BucketUpload>
  /// One part at a time is sent, and nothing is removed meanwhile.
  private let sending = Locked(())

  init(_ client: BucketClient, _ pool: WorkPool, _ key: Identifier) {
    (self.client, self.pool, self.key) = (client, pool, key)
    isResumable = false
    state = Locked(BucketUpload())
  }

  /// `rest` has the bytes behind the parts; `isFinished` if the object has all of its bytes already.
  init(
    resuming key: Identifier, _ client: BucketClient, _ pool: WorkPool, at progress: BucketProgress,
    byteCount: Int64, rest: consuming sending SpoolFile?, isFinished: Bool
  ) {
    (self.client, self.pool, self.key) = (client, pool, key)
    isResumable = true
    state = Locked(
      BucketUpload(rest: rest, byteCount: byteCount, progress: progress, isFinished: isFinished))
  }

  deinit { end(removing: !isResumable) }

  private var path: String { BucketStore.path(key) }

  var byteCount: Int64 { state.withLock { $0.byteCount } }

  func write(_ bytes: RawSpan) throws(ObjectStoreError) {
    try state.withLock { state throws(ObjectStoreError) in
      if let failure = state.failure { throw failure }
      guard !state.isEnded, !state.isFinished else { throw Self.ended }
      do throws(ObjectStoreError) { try state.take(bytes) } catch {
        state.failure = error
        throw error
      }
    }
    schedule()
  }

  func pause(_ proceed: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard state.isScheduled, state.waiting.count >= Self.waitingCountMax else { return false }
      state.proceed = proceed
      return true
    }
  }

  func checkpoint(isLast: Bool) throws(ObjectStoreError) -> ObjectCheckpoint {
    try sendParts()
    if isLast { try sendTail() }
    return try state.withLock { state throws(ObjectStoreError) in
      guard !state.isEnded else { throw Self.ended }
      let end = Int64(state.progress.tags.count) * ObjectParts.byteCount
      return ObjectCheckpoint(
        byteCount: state.isFinished ? state.byteCount : state.progress.tail?.end ?? end,
        state: state.progress.bytes)
    }
  }

  func finish() throws(ObjectStoreError) {
    guard !state.withLock({ $0.isFinished }) else { return }
    do throws(ObjectStoreError) {
      if !isResumable, let failure = state.withLock({ $0.failure }) { throw failure }
      try sendParts()
      try sending.withLock { _ throws(ObjectStoreError) in try complete() }
    } catch {
      guard !isResumable else { throw error }
      end(removing: false)
      remove()
      throw error == .incomplete ? Self.lost : error
    }
    end(removing: false)
    // The object is there. What stays of its tails the sweep finds.
    for tail in state.withLock({ $0.progress.tails }) { try? client.delete(tail.name(key)) }
  }

  func suspend() { end(removing: false) }

  func abandon() { end(removing: true) }

  private static let ended = ObjectStoreError.unavailable(reason: "the upload has ended already")
  private static let lost = ObjectStoreError.unavailable(
    reason: "the object store ended an upload that it was sent")

  // MARK: Sending

  private func schedule() {
    let isDue = state.withLock { state in
      guard !state.isScheduled, !state.waiting.isEmpty else { return false }
      state.isScheduled = true
      return true
    }
    guard isDue else { return }
    let isAccepted = pool.submit(for: key) { [self] in
      // A failure shows at the next write.
      try? sendParts(again: false)
    }
    // Then the next part is another attempt, or the end of the request.
    if !isAccepted { state.withLock { $0.isScheduled = false } }
  }

  /// Sends the whole parts; `again` those, too, that could not be sent before.
  private func sendParts(again: Bool = true) throws(ObjectStoreError) {
    try sending.withLock { _ throws(ObjectStoreError) in
      while let (part, number) = state.withLock({ $0.next(again: again) }) {
        do throws(ObjectStoreError) {
          let tag = try client.sendPart(part, number: number, of: begun(), path)
          state.withLock { $0.sent(tag) }?()
        } catch {
          state.withLock { $0.fail(error) }?()
          throw error
        }
      }
    }
  }

  /// The id of the upload in parts. Called while `sending` is held.
  private func begun() throws(ObjectStoreError) -> String {
    let known = state.withLock { $0.progress.upload }
    guard known.isEmpty else { return known }
    let id = try client.beginParts(path)
    state.withLock { $0.progress.upload = id }
    return id
  }

  private func sendTail() throws(ObjectStoreError) {
    try sending.withLock { _ throws(ObjectStoreError) in
      let (rest, end) = state.withLock { state in
        let isStored = state.isEnded || state.progress.tail?.end == state.byteCount
        return (isStored ? nil : state.rest?.bytes, state.byteCount)
      }
      guard let rest else { return }
      let tail = BucketTail(end: end, random: .random(in: .min ... .max))
      try put(rest, as: tail.name(key))
      state.withLock { $0.progress.replaceTail(by: tail) }
    }
  }

  @discardableResult
  private func put(_ bytes: SpooledBytes, as name: String) throws(ObjectStoreError) -> [UInt8] {
    let digest = try bytes.digest(withMD5: client.sendsMD5)
    // The key is ours alone. So what is there already is from an attempt whose answer was lost.
    _ = try client.put(
      name, .file(bytes.file, range: 0..<bytes.byteCount), digest, isNew: true,
      within: BucketClient.partSpan)
    return digest.sha256
  }

  /// Returns once the store reports the object with its length. Called while `sending` is held.
  private func complete() throws(ObjectStoreError) {
    let (rest, byteCount, progress) = try state.withLock { state throws(ObjectStoreError) in
      guard !state.isEnded else { throw Self.ended }
      return (state.rest?.bytes, state.byteCount, state.progress)
    }
    var digest: [UInt8]?
    if progress.upload.isEmpty {
      let all: SpooledBytes = if let rest { rest } else { try SpoolFile().bytes }
      digest = try put(all, as: path)
    } else {
      do throws(ObjectStoreError) {
        var tags = progress.tags
        if let rest {
          tags.append(try client.sendPart(rest, number: tags.count + 1, of: progress.upload, path))
        }
        try client.completeParts(path, progress.upload, tags)
      } catch {
        // An attempt before may have taken effect, also one of another writer.
        guard error == .incomplete, try client.head(path) != nil else { throw error }
      }
    }
    guard let head = try client.head(path) else {
      throw .unavailable(reason: "the object store does not have what it has taken")
    }
    guard head.headers.text("content-length") == String(byteCount),
      head.headers.text("x-amz-checksum-sha256").map({ sum in
        digest.map { Base64.standard.encode($0) == sum } ?? true
      }) ?? true
    else { throw .unavailable(reason: "the object store has other bytes than it was sent") }
  }

  // MARK: The end

  /// Ends the upload without waiting for the network.
  private func end(removing isRemoved: Bool) {
    let (isFirst, proceed) = state.withLock { $0.end() }
    proceed?()
    guard isRemoved, isFirst else { return }
    // Failing that, the sweep finds it.
    _ = pool.submit(for: key) { [remains] in remains.remove() }
  }

  private func remove() { remains.remove() }

  private var remains: Remains { Remains(key: key, client: client, sending: sending, state: state) }

  /// What the bucket has of an upload that has ended. It does not refer to the writer, which may be gone.
  private struct Remains: Sendable {
    let key: Identifier
    let client: BucketClient
    let sending: Locked<Void>
    let state: Locked<BucketUpload>

    func remove() {
      sending.withLock { _ in
        let progress = state.withLock { $0.progress }
        do throws(ObjectStoreError) {
          if !progress.upload.isEmpty {
            try client.abort(BucketStore.path(key), progress.upload)
          }
          for tail in progress.tails { try client.delete(tail.name(key)) }
        } catch {
          Log.warning("storage.leftover", ["reason": "\(error)"])
        }
      }
    }
  }
}
