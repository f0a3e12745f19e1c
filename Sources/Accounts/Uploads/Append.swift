import Base
import Crypto
import HTTPServer
import HTTPSignatures
import Objects
import Requests
import Storage

/// One request's bytes on their way into a resumable upload. About every 8 MiB they are made durable and recorded. It
/// ends as soon as a newer request takes over the upload.
final class Append: BodySink {
  let upload: ResumableUpload
  private let writer: any ResumableWriter
  private let host: ProtocolHost
  private let underWay: UploadsUnderWay<Append>
  private let saving = Locked(())
  private let state: Locked<State>

  fileprivate struct State {
    var hash: ResumableSHA256
    var offset: Int64
    /// States of the digest since the last recorded progress, at the ends of parts.
    var marks: [(offset: Int64, hash: ResumableSHA256)] = []
    var isSaving = false
    var isSuperseded = false
    /// Whether the store has lost bytes that the row counts.
    var isLost = false
    var check: ContentDigestCheck?
  }

  /// `digest` is what the request announces for its own body.
  init(
    _ upload: ResumableUpload, _ writer: any ResumableWriter, _ host: ProtocolHost,
    _ underWay: UploadsUnderWay<Append>, digest: ContentDigest? = nil
  ) {
    self.upload = upload
    self.writer = writer
    self.host = host
    self.underWay = underWay
    state = Locked(
      State(hash: upload.progress.hash, offset: upload.offset, check: digest?.makeCheck()))
    underWay.add(self, for: upload.key, epoch: upload.epoch)
  }

  deinit { underWay.remove(upload.key, epoch: upload.epoch) }

  /// The position behind the last byte received.
  var offset: Int64 { state.withLock { $0.offset } }

  func write(_ bytes: RawSpan) throws {
    let isDue = try state.withLock { state in
      guard !state.isSuperseded else { throw ContentRefusal.uploadSuperseded }
      state.check?.update(bytes)
      do throws(ObjectStoreError) { try writer.write(bytes) } catch { throw state.refusal(error) }
      let markCount = state.marks.count
      state.add(bytes)
      // Bytes with a digest are recorded once they are known to match: an offset never falls.
      guard state.marks.count > markCount, !state.isSaving, state.check == nil else { return false }
      state.isSaving = true
      return true
    }
    guard isDue else { return }
    let accepted = host.pool.submit(for: upload.owner) { [self] in
      // A failure shows again at the end of the request.
      try? save()
      state.withLock { $0.isSaving = false }
    }
    if !accepted { state.withLock { $0.isSaving = false } }
  }

  func pause(_ proceed: @escaping @Sendable () -> Void) -> Bool { writer.pause(proceed) }

  /// Makes durable and records what has arrived. Blocks.
  func save(isLast: Bool = false) throws {
    if isLast { state.withLock { $0.marks.append(($0.offset, $0.hash)) } }
    // One after the other: a later row never holds less than an earlier one.
    try saving.withLock { _ in try saveMark(isLast: isLast) }
  }

  private func saveMark(isLast: Bool) throws {
    let checkpoint = try store { () throws(ObjectStoreError) in
      try writer.checkpoint(isLast: isLast)
    }
    let mark = state.withLock { state in
      defer { state.marks.removeAll { $0.offset <= checkpoint.byteCount } }
      return state.marks.last { $0.offset <= checkpoint.byteCount }
    }
    guard let mark else { return }
    let progress = ResumableUpload.Progress(
      checkpoint: ObjectCheckpoint(byteCount: mark.offset, state: checkpoint.state), hash: mark.hash
    )
    let (upload, now) = (upload, host.clock.now())
    do {
      try host.database.write(for: upload.owner) { transaction in
        try upload.save(transaction, progress, now: now)
      }
    } catch ContentRefusal.uploadSuperseded {
      supersede()
      throw ContentRefusal.uploadSuperseded
    }
  }

  func checkBody() throws {
    let matches = state.withLock { $0.check?.matches() ?? true }
    guard matches else { throw RequestRefusal.digestMismatch }
  }

  /// SHA-256 of everything from the upload's first byte on.
  var digest: [UInt8] { state.withLock { $0.hash.digest } }

  /// Makes the complete object visible under its key. Blocks.
  func finish() throws {
    try store { () throws(ObjectStoreError) in try writer.finish() }
  }

  /// Whether the store has lost bytes of the upload, so that it cannot continue.
  var isLost: Bool { state.withLock { $0.isLost } }

  private func store<Value>(_ body: () throws(ObjectStoreError) -> Value) throws -> Value {
    do throws(ObjectStoreError) { return try body() } catch {
      throw state.withLock { $0.refusal(error) }
    }
  }

  /// Records what has arrived and lets the upload wait for another request. Blocks.
  func suspend() {
    try? save(isLast: true)
    close()
  }

  /// Lets the upload wait for another request.
  func close() { writer.suspend() }

  /// Ends the request for a newer one that will continue behind the last byte that arrived. Blocks.
  func yield() {
    state.withLock { $0.isSuperseded = true }
    suspend()
  }

  /// Ends the request, because a newer one has taken over the upload.
  func supersede() {
    state.withLock { $0.isSuperseded = true }
    writer.suspend()
  }
}

extension Append.State {
  /// What a failure of the store means to the client.
  fileprivate mutating func refusal(_ error: ObjectStoreError) -> any Error {
    // The newer request ended the writer.
    guard !isSuperseded else { return ContentRefusal.uploadSuperseded }
    guard error == .incomplete else { return error }
    isLost = true
    return UploadRefusal.lost
  }

  /// Adds bytes to the digest, and notes it at the end of each part.
  fileprivate mutating func add(_ bytes: RawSpan) {
    var start = 0
    while start < bytes.byteCount {
      let room = Int(ObjectParts.byteCount - offset % ObjectParts.byteCount)
      let end = min(bytes.byteCount, start + room)
      hash.update(bytes.extracting(start..<end))
      offset += Int64(end - start)
      start = end
      if offset % ObjectParts.byteCount == 0 { marks.append((offset, hash)) }
    }
  }
}
