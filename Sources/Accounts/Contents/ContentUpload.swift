package import Base
import Crypto
import HTTPServer
package import HTTPSignatures
package import Objects
import Requests

/// An upload of large content: reserved, written to an object while it is hashed, then committed.
package struct ContentUpload: Sendable {
  /// The request, as far as its headers show it.
  package struct Asked: Sendable {
    package let write: ContentWrite
    package let byteCount: Int64
    package let attempt: Attempt
  }

  /// What to do with the body, as the reserving transaction decided.
  package enum Reception: Sendable {
    /// `superseded` is the object of an earlier attempt at the same upload.
    case receive(Asked, superseded: Identifier?)
    /// The same request was already carried out; its body is read and dropped.
    case repeated(Asked, Outcome)

    package var asked: Asked {
      switch self {
      case .receive(let asked, _), .repeated(let asked, _): asked
      }
    }
  }

  /// One attempt at an upload, listed from before its reservation to its end. It receives bytes on the connection's
  /// thread.
  package final class Attempt: BodySink {
    /// The object that the upload will become.
    package let object = Random.identifier()
    private let uploads: UploadsUnderWay<Attempt>
    /// Used by several threads, one at a time.
    private let state: Locked<State>

    private struct State {
      /// Nil if the bytes are dropped.
      var writer: (any ObjectWriter)?
      var check: ContentDigestCheck?
      var moved = MonotonicTime.now()
      /// Whether the client has sent everything.
      var isComplete = false
      var isSuperseded = false
    }

    /// How long a connection may be silent before no one waits for it.
    private static let stillSpan = Instant.Span.seconds(2)

    package init(digest: ContentDigest?, _ uploads: UploadsUnderWay<Attempt>) {
      self.uploads = uploads
      state = Locked(State(check: digest?.makeCheck()))
      uploads.add(self, for: object)
    }

    deinit { uploads.remove(object) }

    package func open(in objects: any ObjectStore) throws {
      let writer = try objects.create(object)
      state.withLock { $0.writer = writer }
    }

    /// Reads the remaining bytes without keeping them.
    package func drop() { state.withLock { $0.check = nil } }

    package func write(_ bytes: RawSpan) throws {
      try state.withLock { state in
        guard !state.isSuperseded else { throw ContentRefusal.uploadSuperseded }
        state.moved = .now()
        state.check?.update(bytes)
        try state.writer?.write(bytes)
      }
    }

    package func pause(_ proceed: @escaping @Sendable () -> Void) -> Bool {
      state.withLock { $0.writer?.pause(proceed) ?? false }
    }

    /// Makes the object durable if its bytes are the promised ones.
    package func settle() throws {
      let writer = try state.withLock { state in
        guard !state.isSuperseded else { throw ContentRefusal.uploadSuperseded }
        state.isComplete = true
        guard state.check?.matches() ?? true else {
          state.writer?.abandon()
          throw RequestRefusal.digestMismatch
        }
        return state.writer
      }
      // Outside the lock, because it takes as long as the disk does.
      try writer?.finish()
    }

    /// Whether bytes still arrive, so that waiting for this attempt makes sense.
    package var isMoving: Bool {
      state.withLock { $0.isComplete || $0.moved + Self.stillSpan > .now() }
    }

    /// Ends an attempt that another attempt has replaced.
    package func supersede() {
      state.withLock { state in
        state.isSuperseded = true
        if !state.isComplete { state.writer?.abandon() }
      }
    }
  }
}
