internal import Base
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import HTTPSignatures
internal import Storage

/// Large content on its way: reserved, written to an object while it is hashed, then committed.
struct ContentUpload: Sendable {
  /// What the headers asked for.
  struct Asked: Sendable {
    let write: Contents.Write
    let digest: ContentDigest?
    let byteCount: Int64
  }

  /// What the reserving transaction decided.
  enum Decision: Sendable {
    case receive(Asked, object: Identifier)
    /// The same request had its effect before; its body is read and dropped.
    case repeated(Outcome)
  }

  /// Takes the bytes as they arrive, on the connection's worker thread.
  final class Sink: BodySink {
    private let writer: ObjectWriter?
    /// Used by one thread at a time, but first by the worker and then by the pool.
    private let check: Locked<ContentDigestCheck?>

    init(writer: ObjectWriter?, digest: ContentDigest?) {
      self.writer = writer
      check = Locked(digest?.makeCheck())
    }

    func write(_ bytes: RawSpan) throws {
      check.withLock { $0?.update(bytes) }
      try writer?.write(bytes)
    }

    /// Makes the object durable if its bytes are the promised ones.
    func settle() throws {
      guard check.withLock({ $0?.matches() ?? true }) else {
        writer?.abandon()
        throw Refusal.digestMismatch
      }
      try writer?.finish()
    }
  }
}
