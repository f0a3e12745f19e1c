package import Base

/// A write that waits for its transaction.
package struct WriteRequest: Sendable {
  package typealias Finish = @Sendable () -> Void

  /// The account in whose lane the write waits. Nil is the lane of all writes without an account.
  package let account: Identifier?
  /// After this moment the write is not run; its answer is `.busy`.
  package let deadline: MonotonicTime
  /// Runs the body. The function that it returns reports success, and is called only after the commit.
  package let attempt: @Sendable (Transaction) throws -> Finish
  package let fail: @Sendable (any Error) -> Void

  package init<Value: Sendable>(
    account: Identifier?, deadline: MonotonicTime,
    body: @escaping @Sendable (Transaction) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    self.account = account
    self.deadline = deadline
    attempt = { transaction in
      let value = try body(transaction)
      return { completion(.success(value)) }
    }
    fail = { completion(.failure($0)) }
  }
}
