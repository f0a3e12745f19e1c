/// The result of a stage of a request: a value at once, or a promise of one.
///
/// `pending` must ensure that its completion is called once, from any thread; meanwhile the connection is suspended.
/// After `ServerLimits.answerSpan` it is too late: the client has already got a 503.
package enum Step<Value: Sendable>: Sendable {
  case ready(Value)
  case pending(@Sendable (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void)
}

extension Step {
  /// The step that follows when this one is done; if either is refused, so are both.
  package func then<Next: Sendable>(
    _ next: @escaping @Sendable (Value) throws -> Step<Next>
  ) throws -> Step<Next> {
    try then { (result: Result<Value, any Error>) in try next(result.get()) }
  }

  /// The step that follows when this one is done, with its value or its error.
  package func then<Next: Sendable>(
    _ next: @escaping @Sendable (Result<Value, any Error>) throws -> Step<Next>
  ) throws -> Step<Next> {
    switch self {
    case .ready(let value): return try next(.success(value))
    case .pending(let start):
      return .pending { done in
        start { result in
          do {
            switch try next(result) {
            case .ready(let value): done(.success(value))
            case .pending(let start): start(done)
            }
          } catch {
            done(.failure(error))
          }
        }
      }
    }
  }
}
