import Base
import Objects

/// An upload to a bucket as its writer knows it: what the bucket has, and what waits here to be sent.
struct BucketUpload {
  /// What is behind the whole parts; nil if there is nothing.
  var rest: SpoolFile?
  private(set) var waiting: [SpooledBytes] = []
  private(set) var byteCount: Int64 = 0
  var progress = BucketProgress()
  var failure: ObjectStoreError?
  private(set) var isFinished = false
  private(set) var isEnded = false
  /// Whether the pool is about to send what waits.
  var isScheduled = false
  /// Called once when there is room again, or the upload has ended.
  var proceed: (@Sendable () -> Void)?

  mutating func take(_ bytes: RawSpan) throws(ObjectStoreError) {
    var start = 0
    while start < bytes.byteCount {
      let spool: SpoolFile = if let rest { rest } else { try SpoolFile() }
      rest = spool
      let room = Int(ObjectParts.byteCount - spool.byteCount)
      let end = min(bytes.byteCount, start + room)
      try spool.write(bytes.extracting(start..<end))
      byteCount += Int64(end - start)
      start = end
      if spool.byteCount == ObjectParts.byteCount {
        waiting.append(spool.bytes)
        rest = nil
      }
    }
  }

  mutating func next(again: Bool) -> (part: SpooledBytes, number: Int)? {
    guard !isEnded, again || failure == nil, let part = waiting.first else {
      isScheduled = false
      return nil
    }
    return (part, progress.tags.count + 1)
  }

  /// Notes that the next part was sent. Returns whom to tell that there is room.
  mutating func sent(_ tag: String) -> (@Sendable () -> Void)? {
    guard !isEnded else { return nil }
    waiting.removeFirst()
    progress.add(part: tag)
    return proceed.take()
  }

  /// Notes that the next part could not be sent. Returns whom to tell, who then gets the failure.
  mutating func fail(_ error: ObjectStoreError) -> (@Sendable () -> Void)? {
    failure = failure ?? error
    isScheduled = false
    return proceed.take()
  }

  /// Ends the upload and drops what waits. Returns whether it had not ended, and whom to tell.
  mutating func end() -> (isFirst: Bool, proceed: (@Sendable () -> Void)?) {
    defer { (isEnded, rest, waiting) = (true, nil, []) }
    return (!isEnded, proceed.take())
  }
}
