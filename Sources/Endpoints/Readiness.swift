package import Base
package import Objects
package import Storage

/// Whether the database takes writes and the objects' disk is there, checked once a second at most.
package final class Readiness: Sendable {
  package typealias Answer = @Sendable (Result<Void, any Error>) -> Void

  private struct State {
    var last: (result: Result<Void, any Error>, until: MonotonicTime)?
    var waiting: [Answer] = []
  }

  private static let life = Instant.Span.seconds(1)

  private let database: Database
  private let objects: (any ObjectStore)?
  private let now: @Sendable () -> MonotonicTime
  private let state = Locked(State())

  package init(
    _ database: Database, _ objects: (any ObjectStore)? = nil,
    now: @escaping @Sendable () -> MonotonicTime = MonotonicTime.now
  ) {
    self.database = database
    self.objects = objects
    self.now = now
  }

  /// Answers at once while the last answer is valid, otherwise with the next one.
  package func ask(_ answer: @escaping Answer) {
    let (known, isFirst) = state.withLock { state -> (Result<Void, any Error>?, Bool) in
      if let last = state.last, now() < last.until { return (last.result, false) }
      state.waiting.append(answer)
      return (nil, state.waiting.count == 1)
    }
    if let known { return answer(known) }
    guard isFirst else { return }
    database.checkWritable { [self] result in
      tell(
        Result {
          try result.get()
          if let objects { try objects.check() }
        })
    }
  }

  private func tell(_ result: Result<Void, any Error>) {
    let waiting = state.withLock { state in
      state.last = (result, now() + Self.life)
      defer { state.waiting = [] }
      return state.waiting
    }
    for answer in waiting { answer(result) }
  }
}
