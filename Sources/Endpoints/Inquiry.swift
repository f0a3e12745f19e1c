internal import HTTPServer
package import Storage

/// What the database is asked of a request before its body is read; throws to refuse it.
package typealias Inquiry = @Sendable (Reader) throws -> Void

extension Database {
  /// Makes the inquiry, if there is one, and goes on where it refuses nothing: on the calling thread
  /// where reads cannot block, else with the connection suspended.
  func step<Value: Sendable>(
    after inquiry: Inquiry?, _ next: @escaping @Sendable () throws -> Step<Value>
  ) throws -> Step<Value> {
    guard let inquiry else { return try next() }
    if readsInline {
      try read(inquiry)
      return try next()
    }
    return .pending { done in
      // Strangers' share one turn: nobody is known before the answer.
      self.submitRead(for: nil, inquiry) { result in
        switch result.flatMap({ Result { try next() } }) {
        case .success(.ready(let value)): done(.success(value))
        case .success(.pending(let start)): start(done)
        case .failure(let error): done(.failure(error))
        }
      }
    }
  }
}
