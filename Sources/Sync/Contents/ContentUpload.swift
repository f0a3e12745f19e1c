import Accounts
import Base
import Crypto
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import Objects
import Requests
import Storage

/// An upload of large content: reserved, written to an object while it is hashed, then committed.
struct ContentUpload: Sendable {
  /// The request's headers.
  struct Asked: Sendable {
    let write: Contents.Write
    let byteCount: Int64
    let attempt: Attempt
  }

  /// What to do with the body, as the reserving transaction decided.
  enum Reception: Sendable {
    /// `superseded` is the object of an earlier attempt at the same upload.
    case receive(Asked, superseded: Identifier?)
    /// The same request was already carried out; its body is read and dropped.
    case repeated(Asked, Outcome)

    var asked: Asked {
      switch self {
      case .receive(let asked, _), .repeated(let asked, _): asked
      }
    }
  }

  /// One attempt at an upload. It receives the bytes on the connection's worker thread.
  ///
  /// It is listed among the uploads under way from before its reservation to its end.
  final class Attempt: BodySink {
    /// The object that the upload will become.
    let object = Random.identifier()
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

    init(digest: ContentDigest?, _ uploads: UploadsUnderWay<Attempt>) {
      self.uploads = uploads
      state = Locked(State(check: digest?.makeCheck()))
      uploads.add(self, for: object)
    }

    deinit { uploads.remove(object) }

    func open(in objects: any ObjectStore) throws {
      let writer = try objects.create(object)
      state.withLock { $0.writer = writer }
    }

    /// Reads the remaining bytes without keeping them.
    func drop() { state.withLock { $0.check = nil } }

    func write(_ bytes: RawSpan) throws {
      try state.withLock { state in
        guard !state.isSuperseded else { throw Refusal.uploadSuperseded }
        state.moved = .now()
        state.check?.update(bytes)
        try state.writer?.write(bytes)
      }
    }

    func pause(_ proceed: @escaping @Sendable () -> Void) -> Bool {
      state.withLock { $0.writer?.pause(proceed) ?? false }
    }

    /// Makes the object durable if its bytes are the promised ones.
    func settle() throws {
      let writer = try state.withLock { state in
        guard !state.isSuperseded else { throw Refusal.uploadSuperseded }
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
    var isMoving: Bool {
      state.withLock { $0.isComplete || $0.moved + Self.stillSpan > .now() }
    }

    /// Ends an attempt that another attempt has replaced.
    func supersede() {
      state.withLock { state in
        state.isSuperseded = true
        if !state.isComplete { state.writer?.abandon() }
      }
    }
  }
}
