package import HTTPServer
package import Storage

/// A check of a request in the database before its body is read; it throws to refuse the request.
package typealias Inquiry = @Sendable (Reader) throws -> Void

extension Database {
  /// Makes the inquiry and continues: on the calling thread if reads cannot block, else with the connection
  /// suspended.
  package func step<Value: Sendable>(
    after inquiry: Inquiry?, _ next: @escaping @Sendable () throws -> Step<Value>
  ) throws -> Step<Value> {
    guard let inquiry else { return try next() }
    if readsInline {
      try read(inquiry)
      return try next()
    }
    return .pending { done in
      // Inquiries share one turn, because no caller is known before the answer.
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
