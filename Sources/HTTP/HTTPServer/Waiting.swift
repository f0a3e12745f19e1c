import Base
import HTTPMessages

/// A pending step of a suspended connection. It ends with the result or the deadline, whichever comes first.
///
/// The connection is suspended and resumed under this object's lock, so a resume never overtakes the suspension. A
/// resume is also over before the worker, which asks for the outcome, can release the connection.
final class Waiting<Value: Sendable>: Expirable {
  private enum State {
    case running
    case suspended(Connection)
    case completed(Result<Value, any Error>)
    case expired(Problem)
  }

  private let state = Locked<State>(.running)
  /// Receives a value that came too late.
  private let release: @Sendable (Value) -> Void

  init(release: @escaping @Sendable (Value) -> Void) { self.release = release }

  /// Called by the owner of the step, once, on any thread.
  func complete(_ result: Result<Value, any Error>) {
    let isTooLate = state.withLock { state in
      switch state {
      case .running: state = .completed(result)
      case .suspended(let connection):
        state = .completed(result)
        connection.resume()
      case .completed: return false
      case .expired: return true
      }
      return false
    }
    if isTooLate, case .success(let value) = result { release(value) }
  }

  /// Ends the wait with a problem, unless there is a result.
  func expire(_ problem: Problem) {
    state.withLock { state in
      switch state {
      case .running: state = .expired(problem)
      case .suspended(let connection):
        state = .expired(problem)
        connection.resume()
      case .completed, .expired: break
      }
    }
  }

  /// The outcome. If there is none yet, suspends the connection and returns nil.
  func outcome(orSuspend connection: Connection) -> Result<Value, any Error>? {
    state.withLock { state in
      switch state {
      case .running:
        state = .suspended(connection)
        connection.suspend()
        return nil
      case .suspended: return nil
      case .completed(let result): return result
      case .expired(let problem): return .failure(problem)
      }
    }
  }
}

/// Something that a deadline can end.
protocol Expirable: AnyObject, Sendable {
  func expire(_ problem: Problem)
}
