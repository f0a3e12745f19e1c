internal import Requests
internal import Base
internal import Crypto
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
    let byteCount: Int64
    let attempt: Attempt
  }

  /// What becomes of the body, by what the reserving transaction found.
  enum Reception: Sendable {
    /// `superseded` is the object of an earlier attempt at the same upload.
    case receive(Asked, superseded: Identifier?)
    /// The same request had its effect before; its body is read and dropped.
    case repeated(Asked, Outcome)

    var asked: Asked {
      switch self {
      case .receive(let asked, _), .repeated(let asked, _): asked
      }
    }
  }

  /// One try at an upload, which takes the bytes as they arrive on the connection's worker thread.
  ///
  /// It is listed among the uploads under way from before its reservation until all is over.
  final class Attempt: BodySink {
    /// The object that it is to become.
    let object = Random.identifier()
    private let uploads: UploadsUnderWay
    /// Used by one thread at a time, but by several in turn.
    private let state: Locked<State>

    private struct State {
      /// Nil where the bytes are dropped.
      var writer: ObjectWriter?
      var check: ContentDigestCheck?
      var moved = MonotonicTime.now()
      /// Nothing more is to come from the client.
      var isComplete = false
      var isSuperseded = false
    }

    /// A connection from which nothing came for so long is not waited for.
    private static let stillSpan = Instant.Span.seconds(2)

    init(digest: ContentDigest?, _ uploads: UploadsUnderWay) {
      self.uploads = uploads
      state = Locked(State(check: digest?.makeCheck()))
      uploads.add(self)
    }

    deinit { uploads.remove(object) }

    func open(in objects: ObjectStore) throws {
      let writer = try objects.create(object)
      state.withLock { $0.writer = writer }
    }

    /// Takes bytes that only have to go by.
    func drop() { state.withLock { $0.check = nil } }

    func write(_ bytes: RawSpan) throws {
      try state.withLock { state in
        guard !state.isSuperseded else { throw Refusal.uploadSuperseded }
        state.moved = .now()
        state.check?.update(bytes)
        try state.writer?.write(bytes)
      }
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
      // Not under the lock: it takes as long as the disk does.
      try writer?.finish()
    }

    /// Whether it gets on: who waits for it will not wait in vain.
    var isMoving: Bool {
      state.withLock { $0.isComplete || $0.moved + Self.stillSpan > .now() }
    }

    /// Ends an attempt whose place another one has taken.
    func supersede() {
      state.withLock { state in
        state.isSuperseded = true
        if !state.isComplete { state.writer?.abandon() }
      }
    }
  }
}

/// The uploads that this process has under way, by the objects they are to become.
final class UploadsUnderWay: Sendable {
  private struct Place {
    weak var attempt: ContentUpload.Attempt?
  }

  private let places = Locked<[Identifier: Place]>([:])

  fileprivate func add(_ attempt: ContentUpload.Attempt) {
    places.withLock { $0[attempt.object] = Place(attempt: attempt) }
  }

  fileprivate func remove(_ object: Identifier) {
    places.withLock { _ = $0.removeValue(forKey: object) }
  }

  func attempt(_ object: Identifier) -> ContentUpload.Attempt? {
    places.withLock { $0[object]?.attempt }
  }
}
