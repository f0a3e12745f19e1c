import Base
import Storage

/// Collects what completions report on other threads.
final class Collector<Value: Sendable>: Sendable {
  private let values = Locked<[Value]>([])

  func add(_ value: Value) { values.signal { $0.append(value) } }

  /// The first `count` values in order of arrival; fewer if the deadline passes first.
  func wait(_ count: Int, within span: Instant.Span = .seconds(60)) -> [Value] {
    values.wait(until: .now() + span) { $0.count >= count ? $0 : nil }
      ?? values.withLock { $0 }
  }

  var current: [Value] { values.withLock { $0 } }

  func clear() { values.withLock { $0.removeAll() } }
}

/// The outcome of a write, without its value.
enum Outcome: Equatable, Sendable {
  case success
  case failure(DatabaseError)
  case refusal(Refusal)

  init<Value>(_ result: Result<Value, any Error>) {
    switch result {
    case .success: self = .success
    case .failure(let error as DatabaseError): self = .failure(error)
    case .failure(let error as Refusal): self = .refusal(error)
    case .failure(let error): self = .failure(.statement("unexpected \(error)"))
    }
  }
}

/// The error of a body that refuses its own write.
struct Refusal: Error, Equatable, Sendable {
  let reason: String
}

/// Lets a test hold a storage thread at a known place.
final class Gate: Sendable {
  private let state = Locked((isOpen: false, arrivals: 0))

  /// Waits for `open`, for at most a minute.
  func pass() {
    state.signal { $0.arrivals += 1 }
    _ = state.wait(until: .now() + .seconds(60)) { $0.isOpen ? true : nil }
  }

  /// Waits until a thread has reached `pass`.
  func waitForArrival() {
    _ = state.wait(until: .now() + .seconds(60)) { $0.arrivals > 0 ? true : nil }
  }

  func open() { state.signal { $0.isOpen = true } }
}
